// SPDX-License-Identifier: Apache-2.0

package results

import "time"

// How a ResultWriter makes transactions of rows, unless WriterOptions say otherwise.
const (
	// GroupsInFlight is how many transactions can be in flight.
	GroupsInFlight = resultWriters
	// GroupRows is how many rows one has at most, and GroupDelay how long a row waits at least for more rows of its group.
	GroupRows  = 256
	GroupDelay = 20 * time.Millisecond
)

// Groups returns into how many transactions so many rows are divided that must be stored, at least 1 of each, when so many
// transactions are idle.
func Groups(rows, idle int) int { return min(idle, 1+(rows-1)/rowsPerWriter) }
