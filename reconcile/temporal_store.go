package reconcile

import (
	"context"
	"fmt"
	"log/slog"

	"vigil"
)

// sentinel is a workflow that stays open for good and does nothing, one for each
// generation of Temporal's store: where it is not known, the store is another one.
type sentinel interface {
	// Find looks for the sentinel of a generation. found is false when Temporal answers and
	// does not know it; open is false when somebody closed it.
	Find(ctx context.Context, generation int64) (found, open bool, err error)
	// Start starts the sentinel of a generation; it is not an error when it is open.
	Start(ctx context.Context, generation int64) error
}

// generationStore keeps the generation of Temporal's store.
type generationStore interface {
	TemporalGeneration(ctx context.Context) (int64, error)
	AdvanceTemporalGeneration(ctx context.Context, lease vigil.SweepLease, to int64) (changed bool, err error)
}

// temporalStore finds out that Temporal's store has lost its workflows: it was created
// again, or restored from before the last loss. All are then started from their rows at
// once; without it each would wait until it is overdue.
type temporalStore struct {
	sentinel sentinel
	store    generationStore
	log      *slog.Logger
}

// check is one pass. The sentinel of the next generation is started before that
// generation is stored: if this process dies in between, the next pass finds the open
// sentinel and goes on; the other way about, a store that is lost in between would not be
// noticed.
func (t *temporalStore) check(ctx context.Context, w work) error {
	generation, err := t.store.TemporalGeneration(ctx)
	if err != nil {
		return err
	}
	if generation > 0 {
		found, open, err := t.sentinel.Find(ctx, generation)
		switch {
		case err != nil:
			return fmt.Errorf("find the sentinel: %w", err)
		case open:
			return nil
		case found: // somebody closed it; nothing else is lost
			return t.sentinel.Start(ctx, generation)
		}
	}
	lease, held := w.lease(vigil.CommonShard)
	if !held {
		return nil
	}
	next := generation + 1
	if err := t.sentinel.Start(ctx, next); err != nil {
		return fmt.Errorf("start the sentinel: %w", err)
	}
	advanced, err := t.store.AdvanceTemporalGeneration(ctx, lease, next)
	if err == nil && advanced && generation > 0 {
		t.log.WarnContext(ctx, "Temporal has lost its workflows, all are started again", "generation", next)
	}
	return err
}
