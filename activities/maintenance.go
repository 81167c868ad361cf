package activities

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"vigil"
)

// A catalogue knows the occurrences of maintenance windows that end after now less
// maintenanceBack and start before now plus maintenanceAhead. The latter is longer than the
// time between two full loads, and bridges a database that is away.
const (
	maintenanceBack  = 10 * time.Minute
	maintenanceAhead = 6 * time.Hour
)

// maintenanceStore reads occurrences of maintenance windows.
type maintenanceStore interface {
	// MaintenanceSpans returns the occurrences of all organizations between two instants:
	// those in force when since is zero, else those that changed at or after since, removed
	// ones included.
	MaintenanceSpans(ctx context.Context, endAfter, startBefore, since time.Time) ([]vigil.MaintenanceSpan, error)
}

// maintenance is what a worker knows of maintenance. Changes of windows reach it by a query
// each second, so that they change no revision of a check: one window may cover thousands.
type maintenance struct {
	store maintenanceStore // nil: there is none
	known atomic.Pointer[map[uuid.UUID][]vigil.MaintenanceSpan]
}

// load reads every occurrence around an instant.
func (m *maintenance) load(ctx context.Context, at time.Time) error {
	if m.store == nil {
		return nil
	}
	spans, err := m.store.MaintenanceSpans(ctx, at.Add(-maintenanceBack), at.Add(maintenanceAhead), time.Time{})
	if err != nil {
		return err
	}
	m.replace(spans)
	return nil
}

// refresh reads the occurrences around an instant that changed since another one of the
// database's clock.
func (m *maintenance) refresh(ctx context.Context, at, since time.Time) error {
	if m.store == nil {
		return nil
	}
	changed, err := m.store.MaintenanceSpans(ctx, at.Add(-maintenanceBack), at.Add(maintenanceAhead), since)
	if err != nil || len(changed) == 0 {
		return err
	}
	var spans []vigil.MaintenanceSpan
	if known := m.known.Load(); known != nil {
		for _, list := range *known {
			spans = append(spans, list...)
		}
	}
	spans = slices.DeleteFunc(spans, func(span vigil.MaintenanceSpan) bool {
		return slices.ContainsFunc(changed, func(c vigil.MaintenanceSpan) bool {
			return c.WindowID == span.WindowID && c.StartsAt.Equal(span.StartsAt)
		})
	})
	m.replace(append(spans, changed...))
	return nil
}

// replace makes spans all that is known.
func (m *maintenance) replace(spans []vigil.MaintenanceSpan) {
	known := make(map[uuid.UUID][]vigil.MaintenanceSpan)
	for _, span := range spans {
		if !span.Removed {
			known[span.OrgID] = append(known[span.OrgID], span)
		}
	}
	m.known.Store(&known)
}

// at reports what the maintenance of a check does at a slot: pause its probing, leave its
// result out of uptime. Of several windows each adds what it does.
func (m *maintenance) at(check *vigil.Check, slot time.Time) (paused, excluded bool) {
	known := m.known.Load()
	if known == nil {
		return false, false
	}
	for _, span := range (*known)[check.OrgID] {
		if span.Holds(slot) && span.Scope.Covers(check.ID, check.Labels) {
			paused = paused || span.Probing == vigil.ProbingPause
			excluded = excluded || span.Uptime == vigil.UptimeExclude
		}
	}
	return paused, excluded
}

// passOver moves the state past a slot in maintenance that pauses probing: it is neither a
// result nor missed. The turn waits for such slots like for others, so that it goes on as
// soon as the maintenance is over, also before its planned end.
//
// What fired before the check was enabled does not count, as with a first result.
func (t *turnRun) passOver(e *entry, schedule vigil.Schedule, slot time.Time) bool {
	paused, _ := t.Catalogue.maintenance.at(&e.Check, slot)
	if !paused {
		return false
	}
	if t.state.Slot.Before(e.StateFrom(t.turn.Region)) {
		t.state = t.state.Restart()
	}
	t.state.Slot, t.state.Unstored = slot, true
	t.covered, t.passed = t.covered+1, true
	return true
}

// excluded reports whether a result does not count for uptime.
func (w *Watcher) excluded(e *entry, slot time.Time) bool {
	_, excluded := w.Catalogue.maintenance.at(&e.Check, slot)
	return excluded
}
