// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/maintenance"
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
	// those in force when the cursor is empty, else those that changed since, removed ones
	// included. Next is the cursor of the call after it; when it is empty, everything must be
	// read again.
	MaintenanceSpans(ctx context.Context, endAfter, startBefore time.Time, cursor string) (
		spans []maintenance.Span, next string, err error)
}

// maintenance is what a worker knows of maintenance. Changes of windows reach it by a query
// each second, so that they change no revision of a check: one window may cover thousands.
type windows struct {
	store maintenanceStore // nil: there is none
	known atomic.Pointer[map[uuid.UUID][]maintenance.Span]
	// cursor is of what was read last; empty: everything must be read. The goroutine of
	// Catalogue.Run has it after the first load.
	cursor string
}

// load reads every occurrence around an instant.
func (m *windows) load(ctx context.Context, at time.Time) error {
	if m.store == nil {
		return nil
	}
	spans, next, err := m.store.MaintenanceSpans(ctx, at.Add(-maintenanceBack), at.Add(maintenanceAhead), "")
	if err != nil {
		return err
	}
	m.replace(spans)
	m.cursor = next
	return nil
}

// refresh reads the occurrences around an instant that changed since the last read.
func (m *windows) refresh(ctx context.Context, at time.Time) error {
	if m.store == nil {
		return nil
	}
	if m.cursor == "" {
		return m.load(ctx, at)
	}
	changed, next, err := m.store.MaintenanceSpans(ctx, at.Add(-maintenanceBack), at.Add(maintenanceAhead), m.cursor)
	if err != nil {
		return err
	}
	m.cursor = next
	if len(changed) == 0 {
		return nil
	}
	var spans []maintenance.Span
	if known := m.known.Load(); known != nil {
		for _, list := range *known {
			spans = append(spans, list...)
		}
	}
	spans = slices.DeleteFunc(spans, func(span maintenance.Span) bool {
		return slices.ContainsFunc(changed, func(c maintenance.Span) bool {
			return c.WindowID == span.WindowID && c.StartsAt.Equal(span.StartsAt)
		})
	})
	m.replace(append(spans, changed...))
	return nil
}

// replace makes spans all that is known.
func (m *windows) replace(spans []maintenance.Span) {
	known := make(map[uuid.UUID][]maintenance.Span)
	for _, span := range spans {
		if !span.Removed {
			known[span.OrgID] = append(known[span.OrgID], span)
		}
	}
	m.known.Store(&known)
}

// at reports what the maintenance of a check does at a slot: pause its probing, leave its
// result out of uptime. Of several windows each adds what it does.
func (m *windows) at(check *vigil.Check, slot time.Time) (paused, excluded bool) {
	known := m.known.Load()
	if known == nil {
		return false, false
	}
	for _, span := range (*known)[check.OrgID] {
		if span.Holds(slot) && span.Scope.Covers(check.ID, check.Labels) {
			paused = paused || span.Probing == maintenance.ProbingPause
			excluded = excluded || span.Uptime == maintenance.UptimeExclude
		}
	}
	return paused, excluded
}

// passOver moves the state past a slot in maintenance that pauses probing: it is neither a
// result nor missed. The turn waits for such slots like for others, so that it goes on as
// soon as the maintenance is over, also before its planned end.
//
// What fired before the check was enabled does not count, as with a first result.
func (t *turnRun) passOver(e *entry, slot time.Time) bool {
	paused, _ := t.Catalogue.maintenance.at(&e.Check, slot)
	if !paused {
		return false
	}
	if t.state.Slot.Before(e.StateFrom(t.turn.Region)) {
		t.state = t.state.Restart()
	}
	t.state.Slot, t.state.Unstored = slot, true
	t.covered++
	return true
}

// excluded reports whether a result does not count for uptime.
func (w *Watcher) excluded(e *entry, slot time.Time) bool {
	_, excluded := w.Catalogue.maintenance.at(&e.Check, slot)
	return excluded
}
