package vigil

import (
	"context"
	"time"
)

// A worker renews its lease every LeaseRenewal, and counts as gone when it has not
// renewed for LeaseTimeout.
const (
	LeaseRenewal = time.Second
	LeaseTimeout = 3 * time.Second
)

// Lease is a worker's word that it serves a region. It renews it every second
// for as long as it lives, and gives it back when it stops.
type Lease struct {
	Worker string // name of the process
	Region string // region key
}

// Leadership is a name that one process holds at a time. It is lost with the
// connection that holds it, without a notice to the holder: ask Held.
type Leadership interface {
	// Held returns nil when the name is still held.
	Held(ctx context.Context) error
	// Release gives the name up; it may be called again.
	Release()
}
