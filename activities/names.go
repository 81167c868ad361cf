// SPDX-License-Identifier: Apache-2.0

package activities

// The names of activities whose methods have another name in Go. Running workflows
// and recorded histories know an activity by its registered name, so that name
// stays when the method is renamed.
const (
	// NameReportVote is the registered name of Watcher.ReportVote.
	NameReportVote = "Tell"
	// NameReadContext is the registered name of Incidents.ReadContext.
	NameReadContext = "Survey"
)
