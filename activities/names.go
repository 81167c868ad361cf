// SPDX-License-Identifier: Apache-2.0

package activities

// The registered names of activities that workflows execute by name and not by their method:
// a local activity that is given as a method would run on the nil receiver that it was taken of.
const (
	// NameReportVote is the registered name of Watcher.ReportVote.
	NameReportVote = "ReportVote"
	// NameReadContext is the registered name of Incidents.ReadContext.
	NameReadContext = "ReadContext"
)
