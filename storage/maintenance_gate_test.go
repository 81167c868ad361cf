// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/maintenance"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// newMaintenanceStore returns a store whose clock also begins and ends maintenance.
func newMaintenanceStore(tb testing.TB) (*storage.Store, *clock) {
	tb.Helper()
	c := timingtest.NewClock(epoch())
	return storagetest.New(tb, func(o *storage.Options) { o.Now, o.Maintenance = c.Now, c.Now }), c
}

// maintenanceDraft is a window with one occurrence, to be stored as it is.
type maintenanceDraft struct {
	org             uuid.UUID
	all             bool
	checks          []uuid.UUID
	labels          []string
	starts, ends    time.Time
	probing, uptime string // continue and exclude by default
}

// maintain stores a window and returns its id.
func maintain(tb testing.TB, s *storage.Store, d maintenanceDraft) uuid.UUID {
	tb.Helper()
	if d.probing == "" {
		d.probing = "continue"
	}
	if d.uptime == "" {
		d.uptime = "exclude"
	}
	id := uuid.New()
	execute(tb, s, `INSERT INTO maintenance_windows (id, org_id, name, all_checks, check_ids, labels, starts_at, timezone, duration_seconds,
			rrule, cron, probing, uptime, enabled, created_at, updated_at)
		VALUES (?, ?, 'DB upgrade', ?, ?, ?, ?, 'UTC', 60, '', '', ?, ?, true, now(), now())`,
		id, d.org, d.all, pgdialect.Array(append([]uuid.UUID{}, d.checks...)), pgdialect.Array(append([]string{}, d.labels...)), d.starts,
		d.probing, d.uptime)
	occur(tb, s, id, d.org, d.starts, d.ends)
	return id
}

// occur stores one more occurrence of a window.
func occur(tb testing.TB, s *storage.Store, window, org uuid.UUID, starts, ends time.Time) {
	tb.Helper()
	execute(tb, s, "INSERT INTO maintenance_occurrences (window_id, org_id, starts_at, ends_at, changed_at) VALUES (?, ?, ?, ?, 'epoch')",
		window, org, starts, ends)
}

func execute(tb testing.TB, s *storage.Store, query string, args ...any) {
	tb.Helper()
	if _, err := s.DB().NewRaw(query, args...).Exec(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// edges are the instants around a span: before it, its first and last one, and after it.
func edges(starts, ends time.Time) map[time.Time]bool {
	return map[time.Time]bool{
		starts.Add(-time.Microsecond): false, starts: true, ends.Add(-time.Microsecond): true, ends: false,
	}
}

func TestOpenIncidentInMaintenance(t *testing.T) {
	t.Parallel()
	starts, ends := epoch().Add(time.Minute), epoch().Add(time.Hour)

	t.Run("IsRefusedFromItsStartToBeforeItsEnd", func(t *testing.T) {
		t.Parallel()
		for at, inside := range edges(starts, ends) {
			s, c := newMaintenanceStore(t)
			a := newAlertsOn(t, s, c, vigil.NotifyBoth, vigil.ChannelWebhook)
			maintain(t, s, maintenanceDraft{org: a.org.ID, checks: []uuid.UUID{a.check.ID}, starts: starts, ends: ends})
			vote := a.fails(newark)
			c.Set(at)
			out := a.open(vote)
			if refused := out.Incident.ID == uuid.Nil; refused != inside || (out.MaintenanceLeft > 0) != inside {
				t.Errorf("at %v: opened %+v, want refused %v", at, out, inside)
			}
			if inside && out.MaintenanceLeft != ends.Sub(at) {
				t.Errorf("at %v: held for %v, want %v", at, out.MaintenanceLeft, ends.Sub(at))
			}
			if stored := count(t, s, "SELECT count(*) FROM incidents") + count(t, s, "SELECT count(*) FROM events"); (stored > 0) == inside {
				t.Errorf("at %v: %d rows of incidents and events", at, stored)
			}
		}
	})

	t.Run("ConcernsTheChecksOfItsScopeOnly", func(t *testing.T) {
		t.Parallel()
		s, c := newMaintenanceStore(t)
		a := newAlertsOn(t, s, c, vigil.NotifyBoth, vigil.ChannelWebhook)
		a.check = update(t, s, a.check, func(c *vigil.Check) { c.Labels = vigil.Labels{"team": "a=b", "env": "prod"} })
		other, _ := newOrg(t, s)
		vote := a.fails(newark)
		c.Set(starts)
		for _, test := range []struct {
			what    string
			draft   maintenanceDraft
			refused bool
		}{
			{"another organization's", maintenanceDraft{org: other.ID, all: true}, false},
			{"another organization's with its id", maintenanceDraft{org: other.ID, checks: []uuid.UUID{a.check.ID}}, false},
			{"another check", maintenanceDraft{org: a.org.ID, checks: []uuid.UUID{uuid.New()}}, false},
			{"another value of a label", maintenanceDraft{org: a.org.ID, labels: []string{"env=test", "team=a"}}, false},
			{"one of its labels", maintenanceDraft{org: a.org.ID, labels: []string{"env=test", "team=a=b"}}, true},
			{"its id", maintenanceDraft{org: a.org.ID, checks: []uuid.UUID{uuid.New(), a.check.ID}}, true},
			{"all", maintenanceDraft{org: a.org.ID, all: true}, true},
		} {
			execute(t, s, "DELETE FROM maintenance_windows")
			test.draft.starts, test.draft.ends = starts, ends
			maintain(t, s, test.draft)
			if in := a.context().Maintenance != nil; in != test.refused {
				t.Errorf("%s: in maintenance %v, want %v", test.what, in, test.refused)
			}
			if out := a.open(vote); (out.MaintenanceLeft > 0) != test.refused {
				t.Errorf("%s: %+v, want refused %v", test.what, out, test.refused)
			}
			execute(t, s, "DELETE FROM incidents")
		}
	})

	t.Run("OpensAtItsEndAndSaysSinceWhenItFails", func(t *testing.T) {
		t.Parallel()
		s, c := newMaintenanceStore(t)
		a := newAlertsOn(t, s, c, vigil.NotifyBoth, vigil.ChannelWebhook)
		maintain(t, s, maintenanceDraft{org: a.org.ID, all: true, starts: epoch(), ends: ends})
		vote := a.fails(newark)
		c.Set(ends.Add(time.Second))
		incident := a.incident(a.open(vote).Incident.ID)
		want := "Failing since 2026-03-10T12:30:10Z; the maintenance window \"DB upgrade\" ended at 2026-03-10T13:30:00Z."
		if !incident.StartedAt.Equal(ends) || !strings.HasSuffix(incident.Description, want) {
			t.Errorf("started %v, %q", incident.StartedAt, incident.Description)
		}
		a.resolve(incident.ID, vigil.ResolvedAutomatically)
		a.slot = ends
		vote = a.fails(newark)
		c.Set(ends.Add(time.Minute))
		if later := a.incident(a.open(vote).Incident.ID); !later.StartedAt.Equal(vote.Slot) || strings.Contains(later.Description, "DB upgrade") {
			t.Errorf("a failure after the maintenance: started %v, %q", later.StartedAt, later.Description)
		}
	})

	t.Run("AnIncidentThatWasOpenIsRestored", func(t *testing.T) {
		t.Parallel()
		s, c := newMaintenanceStore(t)
		a := newAlertsOn(t, s, c, vigil.NotifyBoth, vigil.ChannelWebhook)
		maintain(t, s, maintenanceDraft{org: a.org.ID, all: true, starts: epoch(), ends: ends})
		request := vigil.OpenRequest{
			ID: uuid.New(), CheckID: a.check.ID, Rules: []uuid.UUID{a.rule.ID}, Votes: []vigil.Vote{a.fails(newark)}, Restored: true,
		}
		if out, err := s.OpenIncident(t.Context(), request); err != nil || out.Incident.ID != request.ID {
			t.Errorf("%+v, %v", out, err)
		}
	})

	t.Run("AnOpenIncidentResolvesAndNotifies", func(t *testing.T) {
		t.Parallel()
		s, c := newMaintenanceStore(t)
		a := newAlertsOn(t, s, c, vigil.NotifyBoth, vigil.ChannelWebhook)
		maintain(t, s, maintenanceDraft{org: a.org.ID, all: true, starts: starts, ends: ends})
		id := a.open(a.fails(newark)).Incident.ID
		c.Set(starts)
		if in := a.context(); in.Maintenance == nil || in.Incident == nil || in.Incident.ID != id {
			t.Errorf("context %+v", in)
		}
		a.resolve(id, vigil.ResolvedAutomatically)
		if n := count(t, s, "SELECT count(*) FROM deliveries WHERE event_type = 'incident.resolved'"); n != 1 {
			t.Errorf("%d messages about the recovery", n)
		}
	})
}

// holds returns the checks whose maintenance is over.
func holds(t *testing.T, s *storage.Store) []maintenance.Hold {
	t.Helper()
	list, err := s.EndedHolds(t.Context(), fleet.EverySweepShard(), 10)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestHolds(t *testing.T) {
	t.Parallel()
	starts, ends := epoch().Add(time.Minute), epoch().Add(time.Hour)
	inside := func(t *testing.T) (*alerts, uuid.UUID, fleet.SweepLease) {
		t.Helper()
		s, c := newMaintenanceStore(t)
		a := newAlertsOn(t, s, c, vigil.NotifyBoth, vigil.ChannelWebhook)
		a.check = update(t, s, a.check, func(c *vigil.Check) { c.Labels = vigil.Labels{"env": "prod"} })
		window := maintain(t, s, maintenanceDraft{org: a.org.ID, labels: []string{"env=prod"}, starts: starts, ends: ends})
		leases := renewSweep(t, s, "test", time.Hour)
		return a, window, leases[fleet.SweepShard(a.check.ID)]
	}

	t.Run("AreForReadersOfTheContextInsideOnlyAndEndWithIt", func(t *testing.T) {
		t.Parallel()
		for at, in := range edges(starts, ends) {
			a, _, lease := inside(t)
			a.clock.Set(at)
			a.fails(newark)
			if context := a.context(); (context.Maintenance != nil) != in {
				t.Errorf("at %v: context %+v", at, context.Maintenance)
			}
			if before := holds(t, a.store); len(before) != 0 {
				t.Errorf("at %v: ended %+v", at, before)
			}
			a.clock.Set(ends.Add(-time.Microsecond))
			if before := holds(t, a.store); len(before) != 0 {
				t.Errorf("before the end: %+v", before)
			}
			a.clock.Set(ends)
			after := holds(t, a.store)
			if (len(after) == 1) != in {
				t.Fatalf("at %v: after the end %+v", at, after)
			}
			if !in {
				continue
			}
			if one := after[0]; one.CheckID != a.check.ID || one.OrgID != a.org.ID || !one.Firing || one.CheckName != a.check.Name {
				t.Errorf("ended %+v", one)
			}
			if err := a.store.ReleaseHold(t.Context(), lease, after[0]); err != nil || len(holds(t, a.store)) != 0 {
				t.Errorf("released: %v, %+v", err, holds(t, a.store))
			}
		}
	})

	t.Run("EndWhenTheCheckLeavesMaintenanceInAnyWay", func(t *testing.T) {
		t.Parallel()
		for what, change := range map[string]func(a *alerts, window uuid.UUID){
			"the window is ended": func(a *alerts, window uuid.UUID) {
				execute(a.T, a.store, "UPDATE maintenance_occurrences SET ends_at = ?, changed_at = now() WHERE window_id = ?",
					starts.Add(time.Second), window)
			},
			"its occurrence is removed": func(a *alerts, window uuid.UUID) {
				execute(a.T, a.store, "UPDATE maintenance_occurrences SET removed_at = now(), changed_at = now() WHERE window_id = ?", window)
			},
			"the label of the check is changed": func(a *alerts, _ uuid.UUID) {
				update(a.T, a.store, a.check, func(c *vigil.Check) { c.Labels = nil })
			},
		} {
			a, window, _ := inside(t)
			a.clock.Set(starts)
			a.fails(newark)
			a.context()
			a.clock.Set(starts.Add(time.Minute))
			if before := holds(t, a.store); len(before) != 0 {
				t.Errorf("%s: before %+v", what, before)
			}
			change(a, window)
			if after := holds(t, a.store); len(after) != 1 {
				t.Errorf("%s: after %+v", what, after)
			}
		}
	})

	t.Run("EndByAChangeThatIsCommittedAfterThem", func(t *testing.T) {
		t.Parallel()
		for what, change := range map[string]string{
			"the window is ended":               "UPDATE maintenance_occurrences SET ends_at = ?, changed_at = ?",
			"the label of the check is changed": "UPDATE checks SET labels = '{}', changed_at = ?1",
		} {
			a, _, _ := inside(t)
			execute(t, a.store, "UPDATE checks SET changed_at = 'epoch'") // by the clock of the database until now
			statement := starts.Add(30 * time.Second)
			a.clock.Set(statement.Add(time.Second))
			a.fails(newark)
			a.context() // reads what the change has not committed yet
			execute(t, a.store, change, starts.Add(time.Second), statement)
			if after := holds(t, a.store); len(after) != 1 {
				t.Errorf("%s: after %+v", what, after)
			}
		}
	})

	t.Run("StayWhenAnotherOccurrenceGoesOn", func(t *testing.T) {
		t.Parallel()
		a, window, lease := inside(t)
		occur(t, a.store, window, a.org.ID, ends, ends.Add(time.Hour))
		a.clock.Set(starts)
		a.fails(newark)
		a.context()
		a.clock.Set(ends)
		if ended := holds(t, a.store); len(ended) != 0 {
			t.Errorf("ended %+v", ended)
		}
		a.clock.Set(ends.Add(time.Hour))
		ended := holds(t, a.store)
		if len(ended) != 1 {
			t.Fatalf("ended %+v", ended)
		}
		// The workflow reads its context again, in maintenance that has begun meanwhile.
		occur(t, a.store, window, a.org.ID, ends.Add(time.Hour), ends.Add(2*time.Hour))
		a.context()
		if err := a.store.ReleaseHold(t.Context(), lease, ended[0]); err != nil {
			t.Fatal(err)
		}
		a.clock.Set(ends.Add(2 * time.Hour))
		if ended := holds(t, a.store); len(ended) != 1 {
			t.Errorf("a hold that is newer than its release: %+v", ended)
		}
	})

	t.Run("ArePutOffAndFenced", func(t *testing.T) {
		t.Parallel()
		a, _, lease := inside(t)
		a.clock.Set(starts)
		a.fails(newark)
		a.context()
		a.clock.Set(ends)
		ended := holds(t, a.store)
		old := lease
		old.Fence--
		if err := a.store.ReleaseHold(t.Context(), old, ended[0]); err != nil || len(holds(t, a.store)) != 1 {
			t.Errorf("released under an old fence: %v", err)
		}
		if err := a.store.PutOffHold(t.Context(), lease, ended[0]); err != nil || len(holds(t, a.store)) != 0 {
			t.Errorf("put off: %v", err)
		}
		a.clock.Set(ends.Add(time.Second))
		if len(holds(t, a.store)) != 1 {
			t.Error("not returned after its wait")
		}
	})
}
