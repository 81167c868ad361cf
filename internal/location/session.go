// SPDX-License-Identifier: Apache-2.0

package location

import (
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/agentlink"
)

// Access is what the token of a location opens: its checks, and nothing else. OrgID is zero for a public
// region, which agents serve for all organizations.
type Access struct {
	ID, OrgID uuid.UUID
	Key, Name string
}

// Session is an agent that has said who it is.
type Session struct {
	ID       uuid.UUID
	Location Access
	Key      []byte // public, to seal to
}

// Begun is a session that was opened.
type Begun struct {
	Session  uuid.UUID
	Location Access
	Time     time.Time // of the database
	Epoch    int64     // changes when the database was restored from a backup
}

// Seen is a report that came.
type Seen struct {
	Session Session
	Report  *agentlink.Report
	Refused int // of its results
}

// Lives is what a report is answered with, besides what became of its results.
type Lives struct {
	Agents []uuid.UUID // sessions of the location that report, sorted
	Time   time.Time   // of the database
	Epoch  int64
}

// Runs is how a check runs in a location.
type Runs struct {
	Revision int64
	Schedule vigil.Schedule
}

// Wanted is a probe that somebody waits for.
type Wanted struct {
	ID, OrgID, CheckID uuid.UUID
	Region             string
	Revision           int64 // of the check, or a newer one
	Once               bool
	Within             time.Duration // from now
}

// Task is a probe that no agent of a location has taken yet.
type Task struct {
	ID, LocationID, CheckID uuid.UUID
	Revision                int64
	Once                    bool
	Deadline                time.Time
}

// Sent is a result that an agent has sent, and that waits to be stored in its slot.
type Sent struct {
	vigil.Result

	Number   int64     // among those that wait
	Received time.Time // by the clock of the database
}
