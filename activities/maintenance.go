// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/maintenance"
)

// A catalogue knows the occurrences of maintenance windows that end after now less
// maintenanceBack and start before now plus maintenanceAhead. The latter is longer than the
// time between two full loads, and bridges a database that is away. Results that arrive may be of
// older slots, for which the store is asked: those of an agent that was cut off, and of a job whose
// slot is a day long.
const (
	maintenanceBack  = 2 * time.Hour
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
	// CheckMaintenance returns the occurrences that cover checks of an organization and run at an instant, by the check.
	CheckMaintenance(ctx context.Context, orgID uuid.UUID, at time.Time, checks ...uuid.UUID) (map[uuid.UUID][]maintenance.Span, error)
}

// maintenance is what a worker knows of maintenance. Changes of windows reach it by a query
// each second, so that they change no revision of a check: one window may cover thousands.
type windows struct {
	store maintenanceStore // nil: there is none
	known atomic.Pointer[knownWindows]
	// cursor is of what was read last; empty: everything must be read. The goroutine of
	// Catalogue.Run has it after the first load.
	cursor string
}

// knownWindows are the occurrences that end after an instant, by their organization.
type knownWindows struct {
	since time.Time
	spans map[uuid.UUID][]maintenance.Span
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
	m.replace(spans, at.Add(-maintenanceBack))
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
	since := at.Add(-maintenanceBack)
	if known := m.known.Load(); known != nil {
		since = known.since
		for _, list := range known.spans {
			spans = append(spans, list...)
		}
	}
	spans = slices.DeleteFunc(spans, func(span maintenance.Span) bool {
		return slices.ContainsFunc(changed, func(c maintenance.Span) bool {
			return c.WindowID == span.WindowID && c.StartsAt.Equal(span.StartsAt)
		})
	})
	m.replace(append(spans, changed...), since)
	return nil
}

// replace makes spans all that is known since an instant.
func (m *windows) replace(spans []maintenance.Span, since time.Time) {
	known := make(map[uuid.UUID][]maintenance.Span)
	for _, span := range spans {
		if !span.Removed {
			known[span.OrgID] = append(known[span.OrgID], span)
		}
	}
	m.known.Store(&knownWindows{since, known})
}

// at reports what the maintenance of a check does at a slot, as far as it is known without a question to the store.
func (m *windows) at(check *vigil.Check, slot time.Time) (paused, excluded bool) {
	known := m.known.Load()
	if known == nil {
		return false, false
	}
	return effect(known.spans[check.OrgID], func(span *maintenance.Span) bool {
		return span.Holds(slot) && span.Scope.Covers(check.ID, check.Labels)
	})
}

// of is at, also for a slot from before what is known.
func (m *windows) of(ctx context.Context, check *vigil.Check, slot time.Time) (paused, excluded bool, err error) {
	if known := m.known.Load(); known == nil || !slot.Before(known.since) {
		paused, excluded = m.at(check, slot)
		return paused, excluded, nil
	}
	spans, err := m.store.CheckMaintenance(ctx, check.OrgID, slot, check.ID)
	if err != nil {
		return false, false, fmt.Errorf("read the maintenance of a slot: %w", err)
	}
	paused, excluded = effect(spans[check.ID], func(*maintenance.Span) bool { return true })
	return paused, excluded, nil
}

// effect reports what those of some occurrences do that count: pause the probing of a check, leave its result out of uptime. Of
// several each adds what it does.
func effect(spans []maintenance.Span, counts func(*maintenance.Span) bool) (paused, excluded bool) {
	for i := range spans {
		if span := &spans[i]; counts(span) {
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
func (t *turnRun) passOver(ctx context.Context, e *entry, slot time.Time) (bool, error) {
	paused, _, err := t.Catalogue.maintenance.of(ctx, &e.Check, slot)
	if paused && err == nil {
		t.pass(e, slot)
	}
	return paused, err
}

// pass is passOver for a slot that is known to be in such a maintenance.
func (t *turnRun) pass(e *entry, slot time.Time) {
	if t.state.Slot.Before(e.StateFrom(t.turn.Region)) {
		t.state = t.state.Restart()
	}
	t.state.Slot, t.state.Unstored = slot, true
	t.covered++
}

// excluded reports whether a result does not count for uptime.
func (w *Watcher) excluded(ctx context.Context, e *entry, slot time.Time) (bool, error) {
	_, excluded, err := w.Catalogue.maintenance.of(ctx, &e.Check, slot)
	return excluded, err
}
