package reconcile

import (
	"context"
	"time"

	"github.com/google/uuid"

	"vigil"
)

const (
	// stopGrace is how long a loop may take to stop before it is terminated.
	stopGrace = 30 * time.Second
	// terminateTimeout bounds the termination of a loop: adding its region again
	// waits for it.
	terminateTimeout = 2 * time.Second
	// purgeTime bounds how long a pass deletes results.
	purgeTime = 2 * time.Second
)

// tombstoneStore keeps the tombstones of loops, and the results behind them.
type tombstoneStore interface {
	Tombstones(ctx context.Context, limit int) ([]vigil.Tombstone, error)
	HoldTombstone(ctx context.Context, stone vigil.Tombstone, do func(context.Context) error) error
	PurgeLoop(ctx context.Context, stone vigil.Tombstone) (done bool, err error)
}

// tombstones ends the loops that have a tombstone, and purges their results.
type tombstones struct {
	store     tombstoneStore
	loops     loops
	incidents incidents // nil: incidents are left out
	now       func() time.Time

	ended []vigil.Tombstone // of loops that have ended and whose results are not all purged
}

// tombstoneKey identifies a tombstone by what never changes, so that two readings of
// it are equal.
type tombstoneKey struct {
	check  uuid.UUID
	region string
	at     int64
}

func keyOf(stone vigil.Tombstone) tombstoneKey {
	return tombstoneKey{stone.CheckID, stone.Region, stone.CreatedAt.UnixMicro()}
}

// process is one pass: it ends the loops that have a tombstone, first by a signal,
// then by termination. Then it purges results for a bounded time: those of a large
// check must not keep other loops from ending.
func (t *tombstones) process(ctx context.Context) error {
	ended := make(map[tombstoneKey]bool, len(t.ended))
	for _, stone := range t.ended {
		ended[keyOf(stone)] = true
	}
	stones, err := t.store.Tombstones(ctx, passLimit+len(t.ended))
	if err != nil {
		return err
	}
	for _, stone := range stones {
		if ended[keyOf(stone)] {
			continue
		}
		over, err := t.end(ctx, stone)
		if err != nil {
			return err
		}
		if over {
			t.ended = append(t.ended, stone)
		}
	}
	return t.purge(ctx)
}

// end stops the loop of a tombstone and reports whether it has ended.
func (t *tombstones) end(ctx context.Context, stone vigil.Tombstone) (over bool, err error) {
	running, err := t.loops.Running(ctx, stone)
	if err != nil {
		return false, err
	}
	if running {
		if t.now().Sub(stone.CreatedAt) <= stopGrace {
			return false, nil
		}
		if err := t.terminate(ctx, stone); err != nil {
			return false, err
		}
	}
	if t.incidents != nil { // one region less has a vote, or the check is gone
		if err := t.incidents.Refresh(ctx, stone.CheckID); err != nil {
			return false, err
		}
	}
	return true, nil
}

// terminate kills a loop while holding its tombstone, so that its region cannot be
// added again meanwhile: the workflow with that ID is the old one.
func (t *tombstones) terminate(ctx context.Context, stone vigil.Tombstone) error {
	ctx, cancel := context.WithTimeout(ctx, terminateTimeout)
	defer cancel()
	return t.store.HoldTombstone(ctx, stone, func(ctx context.Context) error {
		return t.loops.Terminate(ctx, stone.CheckID, stone.Region)
	})
}

// purge deletes the results behind each tombstone in turn, in small portions, until
// all are gone or the time is up.
func (t *tombstones) purge(ctx context.Context) error {
	for began := t.now(); len(t.ended) > 0 && t.now().Sub(began) < purgeTime; {
		stone := t.ended[0]
		done, err := t.store.PurgeLoop(ctx, stone)
		if err != nil {
			return err
		}
		if t.ended = t.ended[1:]; !done {
			t.ended = append(t.ended, stone)
		}
	}
	return nil
}
