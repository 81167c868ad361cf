// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// A worker renews its lease every LeaseRenewal. Its lease has expired when it was not
// renewed for LeaseTimeout: the sweep then gives its loops to other workers, so it
// starts no probe and takes no turn from then on until it has renewed the lease.
const (
	LeaseRenewal = time.Second
	LeaseTimeout = 3 * time.Second
)

// How far the clock of a worker may be from that of the database, in either direction.
// Beyond ClockTolerance the worker warns. Beyond ClockLimit its lease does not count as
// live: its results would be stored under slots of another time.
const (
	ClockTolerance = 2 * time.Second
	ClockLimit     = 30 * time.Second
)

// Lease says that a worker serves a region. The worker renews it while it lives, and
// releases it when it stops.
type Lease struct {
	Worker string // name of the process
	Region string // region key
}

// Renewal is the request of a worker to renew its leases.
type Renewal struct {
	Worker  string
	Regions []string // region keys; leases of other regions are deleted
	// Unavailable are the check types that the worker's machine cannot run.
	Unavailable []vigil.CheckType
	// BlindSince is since when the worker has no line to the internet; zero: it has one.
	BlindSince time.Time
	// ClockDifference is by how much the worker's clock was ahead of the database's
	// when it was last measured, negative when it was behind, in milliseconds.
	ClockDifference time.Duration
	// Build is the version of the Worker Deployment that the worker polls as, empty for an
	// unversioned one.
	Build string
}

// Grant is the answer to a Renewal.
type Grant struct {
	// Fences has the fence of the lease for each region. It changes only when the lease
	// was revoked or deleted since the renewal before: the worker's loops may then have
	// been given to other workers.
	Fences map[string]int64
	// Revoked has the regions where leases of other workers are revoked, which may have open
	// turns to adopt, each with the builds of these workers, sorted.
	Revoked map[string][]string
	Clock   time.Time // the time of the database
}

// Adoption is the request of a worker to make the open turns of workers that died its own.
type Adoption struct {
	Lease  Lease     // of the worker that adopts
	Builds []string  // whose turns it may adopt
	ID     uuid.UUID // of this request, never used twice
	// Unanswered are earlier requests of the worker whose answers were lost. What they adopted
	// is in the answer of this one.
	Unanswered []uuid.UUID
	Limit      int // of turns
}
