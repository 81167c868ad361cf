// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/vigil-monitor/vigil/internal/fleet"
)

// sentinel is a workflow that stays open for good and does nothing, one for each generation of
// Temporal's store: where it is not known, the store is another one. Epochs are written to it.
type sentinel interface {
	// Find returns what Temporal knows of the sentinel of a generation.
	Find(ctx context.Context, generation int64) (fleet.Sentinel, error)
	// FindWritten is Find after a write to the sentinel: an error where what was found is from before it.
	FindWritten(ctx context.Context, generation int64) (fleet.Sentinel, error)
	// Start starts the sentinel of a generation; it is not an error when it is open.
	Start(ctx context.Context, generation int64) error
	// Close ends one run of it; it is not an error when that has ended.
	Close(ctx context.Context, generation int64, runID string) error
	// Write writes an epoch to the open sentinel.
	Write(ctx context.Context, generation, epoch int64) error
}

// epochStore keeps the generation of Temporal's store and the epoch. Each change is made unless
// the epoch has changed meanwhile or the lease is of an older fence; changed is false then.
type epochStore interface {
	Epoch(ctx context.Context) (fleet.Epoch, error)
	AdvanceTemporalGeneration(ctx context.Context, lease fleet.SweepLease, to int64) (changed bool, err error)
	// AnnounceEpoch begins the next epoch, which is written to Temporal next. Temporal may have
	// an older one, down to floor.
	AnnounceEpoch(ctx context.Context, lease fleet.SweepLease, from fleet.Epoch, floor int64) (changed bool, err error)
	// ConfirmEpoch records that Temporal has the epoch.
	ConfirmEpoch(ctx context.Context, lease fleet.SweepLease, number int64) error
	// FoundRestore prepares the platform for a restored store, and begins an epoch that is newer
	// than known, which Temporal has.
	FoundRestore(ctx context.Context, lease fleet.SweepLease, from fleet.Epoch, known int64, why fleet.RestoreSign) (changed bool, err error)
}

// temporalStore finds out that one of the stores is not the one that it was.
//
// Temporal's store has lost its workflows when it does not know the sentinel: it was created
// again, or restored from before the last loss. All are then started from their rows at once;
// without it each would wait until it is overdue.
//
// One of the stores was restored from an older backup when their epochs differ. Every few
// seconds the next epoch is announced in Postgres, written to the sentinel and confirmed in
// Postgres, by the one process that has the lease, and before that the two are compared. A
// process that dies in between leaves an epoch that is announced: the next pass writes it.
//
// A history host of Temporal that was cut off answers reads from what it had then, until it writes and finds that its shard is
// another one's by now. So a difference counts once it is found after a write.
type temporalStore struct {
	sentinel sentinel
	store    epochStore
	log      *slog.Logger
}

// check is one pass.
func (t *temporalStore) check(ctx context.Context, w work) error {
	lease, held := w.lease(fleet.CommonShard)
	if !held {
		return nil
	}
	epoch, err := t.store.Epoch(ctx)
	if err != nil {
		return err
	}
	var known fleet.Sentinel
	if epoch.Generation > 0 {
		if known, err = t.sentinel.Find(ctx, epoch.Generation); err != nil {
			return fmt.Errorf("find the sentinel: %w", err)
		}
	}
	if !known.Found {
		return t.replace(ctx, lease, epoch)
	}
	if epoch.Compare(known.Epoch) != "" {
		if known, err = t.sentinel.FindWritten(ctx, epoch.Generation); err != nil {
			return fmt.Errorf("find the sentinel again: %w", err)
		}
	}
	if why := epoch.Compare(known.Epoch); why != "" {
		_, err := t.store.FoundRestore(ctx, lease, epoch, known.Epoch, why)
		return err // the next pass writes the epoch that begins with it
	}
	return t.advance(ctx, lease, epoch, known)
}

// advance begins the next epoch when it is due, and writes what Temporal does not have yet. A
// run of the sentinel that somebody has closed, or whose history is long, gets a successor;
// until that has an epoch none is expected of it.
func (t *temporalStore) advance(ctx context.Context, lease fleet.SweepLease, epoch fleet.Epoch, known fleet.Sentinel) error {
	again, confirmed := !known.Open || known.Full, epoch.Floor == epoch.Number
	if confirmed && !again && !epoch.Due {
		return nil
	}
	if floor := epoch.Number; again || confirmed {
		if again {
			floor = 0
		}
		changed, err := t.store.AnnounceEpoch(ctx, lease, epoch, floor)
		if err != nil || !changed {
			return err
		}
		epoch.Number++
	}
	if known.Open && known.Full {
		if err := t.sentinel.Close(ctx, epoch.Generation, known.RunID); err != nil {
			return err
		}
	}
	if again {
		if err := t.sentinel.Start(ctx, epoch.Generation); err != nil {
			return err
		}
	}
	if known.Epoch < epoch.Number {
		if err := t.sentinel.Write(ctx, epoch.Generation, epoch.Number); err != nil {
			return err
		}
	}
	return t.store.ConfirmEpoch(ctx, lease, epoch.Number)
}

// replace begins the next generation. Its sentinel is started and has an epoch before the
// generation is stored: if this process dies in between, the next pass finds it and goes on; the
// other way about, a store that is lost in between would not be noticed.
func (t *temporalStore) replace(ctx context.Context, lease fleet.SweepLease, epoch fleet.Epoch) error {
	older, err := t.olderKnown(ctx, epoch.Generation)
	if err != nil {
		return err
	}
	var changed bool
	if older && epoch.Floor > 0 {
		changed, err = t.store.FoundRestore(ctx, lease, epoch, 0, fleet.TemporalOlder)
	} else {
		changed, err = t.store.AnnounceEpoch(ctx, lease, epoch, 0)
	}
	if err != nil || !changed {
		return err
	}
	next, number := epoch.Generation+1, epoch.Number+1
	if err := t.sentinel.Start(ctx, next); err != nil {
		return fmt.Errorf("start the sentinel: %w", err)
	}
	if err := t.sentinel.Write(ctx, next, number); err != nil {
		return err
	}
	advanced, err := t.store.AdvanceTemporalGeneration(ctx, lease, next)
	if err == nil && advanced && epoch.Generation > 0 {
		t.log.WarnContext(ctx, "Temporal has lost its workflows, all are started again", "generation", next)
	}
	return err // the next pass confirms the epoch
}

// olderKnown reports whether Temporal knows the sentinel of an earlier generation than one that
// it does not know: its store was restored from before the last loss, with the workflows of then.
func (t *temporalStore) olderKnown(ctx context.Context, generation int64) (bool, error) {
	const most = 10
	for earlier := generation - 1; earlier > max(0, generation-1-most); earlier-- {
		known, err := t.sentinel.Find(ctx, earlier)
		if err != nil || known.Found {
			return known.Found, err
		}
	}
	return false, nil
}
