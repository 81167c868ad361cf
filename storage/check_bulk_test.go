// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/audit"
	"github.com/vigil-monitor/vigil/internal/listing"
)

// TestBulkIsAllOrNothing changes many checks while others edit, create and delete some of
// them: every change takes all of them or fails, and an error leaves none changed.
func TestBulkIsAllOrNothing(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	const checks = 30
	ids := make([]uuid.UUID, checks)
	for i := range ids {
		c := draft(org.ID, newark)
		c.Labels = vigil.Labels{"team": "web"}
		ids[i] = newCheck(t, s, c).ID
	}
	filter := listing.CheckFilter{Labels: []vigil.LabelSelector{{Key: "team"}}}
	stop := make(chan struct{})
	var editors sync.WaitGroup
	for range 2 {
		editors.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				_, err := s.UpdateCheck(t.Context(), org.ID, ids[n%checks], unlimited(), func(c *vigil.Check) error {
					c.Name = fmt.Sprintf("edit %d", n)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for round := range 6 {
		interval := time.Duration(10+round) * time.Second
		seen := 0
		_, err := s.UpdateChecks(t.Context(), org.ID, filter, unlimited(), false, func(c *vigil.Check) error {
			if seen++; round%2 == 1 && seen == checks/2 {
				return vigil.Invalid("interval_seconds", "is refused by the test")
			}
			c.Interval = interval
			return nil
		})
		if round%2 == 1 {
			wantCode(t, err, vigil.CodeInvalid)
			interval -= time.Second // of the round before
		} else if err != nil {
			t.Fatal(err)
		}
		n := count(t, s, `SELECT count(*) FROM checks AS c JOIN check_regions AS r ON r.check_id = c.id
			WHERE c.interval_ms = ?0 AND r.interval_ms = ?0 AND r.desired = c.revision`, interval.Milliseconds())
		if n != checks {
			t.Errorf("round %d: %d of %d checks have the interval and loops of the same revision", round, n, checks)
		}
	}
	close(stop)
	editors.Wait()
}

func TestBulkChanges(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, user := newOrg(t, s)
	other, _ := newOrg(t, s)
	one := newCheck(t, s, draft(org.ID, newark, frankfurt))
	two, three := newCheck(t, s, draft(org.ID, newark)), newCheck(t, s, draft(org.ID, newark))
	foreign := newCheck(t, s, draft(other.ID, newark))
	off := update(t, s, three, func(c *vigil.Check) { c.Enabled = false })
	disable := func(c *vigil.Check) error { c.Enabled = false; return nil }
	all := listing.CheckFilter{Query: "home"}
	entry := func() *audit.Entry {
		return &audit.Entry{OrgID: org.ID, UserID: user.ID, Action: "check.bulk", Members: []string{"action", "selector"}}
	}

	t.Run("MistakesChangeNothing", func(t *testing.T) { //nolint:paralleltest // in this order
		_, err := s.UpdateChecks(t.Context(), org.ID, listing.CheckFilter{}, unlimited(), false, disable)
		wantCode(t, err, vigil.CodeInvalid)
		for _, id := range []uuid.UUID{foreign.ID, uuid.New()} {
			f := listing.CheckFilter{IDs: []uuid.UUID{one.ID, id}}
			_, err = s.UpdateChecks(t.Context(), org.ID, f, unlimited(), false, disable)
			wantCode(t, err, vigil.CodeNotFound)
			_, err = s.DeleteChecks(t.Context(), org.ID, f, false)
			wantCode(t, err, vigil.CodeNotFound)
		}
		plan := unlimited()
		plan.ExecutionsPerHour = 1440 + 360 // of the three regions that run: 360 each at 10 s
		_, err = s.UpdateChecks(t.Context(), org.ID, all, plan, false, func(c *vigil.Check) error { c.Interval = 2 * time.Second; return nil })
		wantCode(t, err, vigil.CodePlanLimit)
		if n := count(t, s, "SELECT count(*) FROM checks WHERE interval_ms = 10000"); n != 4 {
			t.Errorf("%d checks are unchanged, want 4", n)
		}
	})

	t.Run("DryRunStoresNothing", func(t *testing.T) { //nolint:paralleltest // in this order
		edits, err := s.UpdateChecks(audit.NewContext(t.Context(), entry()), org.ID, all, unlimited(), true, disable)
		if err != nil || len(edits) != 3 {
			t.Fatalf("%d edits, %v", len(edits), err)
		}
		deleted, err := s.DeleteChecks(audit.NewContext(t.Context(), entry()), org.ID, all, true)
		if err != nil || len(deleted) != 3 {
			t.Fatalf("%d deleted, %v", len(deleted), err)
		}
		if n := count(t, s, "SELECT count(*) FROM checks WHERE enabled"); n != 3 {
			t.Errorf("%d checks are enabled, want 3", n)
		}
		if n := count(t, s, "SELECT count(*) FROM audit_log"); n != 0 {
			t.Errorf("%d audit entries", n)
		}
	})

	t.Run("EachChangeIsThatOfASingleEdit", func(t *testing.T) { //nolint:paralleltest // in this order
		edits, err := s.UpdateChecks(audit.NewContext(t.Context(), entry()), org.ID, all, unlimited(), false, disable)
		if err != nil {
			t.Fatal(err)
		}
		changed := map[uuid.UUID]bool{}
		for _, e := range edits {
			changed[e.Before.ID] = e.Changed
			if e.Changed && (e.After.Revision != e.Before.Revision+1 || e.After.Enabled) {
				t.Errorf("edit %+v", e)
			}
		}
		equal(t, changed, map[uuid.UUID]bool{one.ID: true, two.ID: true, three.ID: false})
		after, err := s.Check(t.Context(), org.ID, three.ID)
		if err != nil || after.Revision != off.Revision {
			t.Errorf("a check that was disabled has revision %d, want %d, %v", after.Revision, off.Revision, err)
		}
		if loopOf(t, s, one, frankfurt).Active {
			t.Error("a loop still runs")
		}
		entries, _, err := s.AuditLog(t.Context(), org.ID, listing.AuditFilter{Page: listing.Page{Limit: 10}})
		if err != nil {
			t.Fatal(err)
		}
		audited := map[uuid.UUID]string{}
		for _, e := range entries {
			audited[e.ResourceID] = e.Action
		}
		equal(t, audited, map[uuid.UUID]string{one.ID: "check.update", two.ID: "check.update"})
	})

	t.Run("DeletesTheSelectedOnly", func(t *testing.T) { //nolint:paralleltest // in this order
		edits, err := s.DeleteChecks(t.Context(), org.ID, listing.CheckFilter{IDs: []uuid.UUID{one.ID, two.ID}}, false)
		if err != nil || len(edits) != 2 {
			t.Fatalf("%d edits, %v", len(edits), err)
		}
		left := map[uuid.UUID]bool{}
		for _, id := range []uuid.UUID{one.ID, two.ID, three.ID} {
			_, err := s.Check(t.Context(), org.ID, id)
			left[id] = err == nil
		}
		equal(t, left, map[uuid.UUID]bool{one.ID: false, two.ID: false, three.ID: true})
		if n := count(t, s, "SELECT count(*) FROM loop_tombstones"); n != 3 {
			t.Errorf("%d tombstones, want one for each loop", n)
		}
	})
}

func TestBulkIsBounded(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	template := newCheck(t, s, draft(org.ID, newark))
	_, err := s.DB().NewRaw(`INSERT INTO checks
			(id, org_id, name, type, config, target, interval_ms, regions, enabled, simultaneous, anchor, revision, created_at, updated_at)
		SELECT gen_random_uuid(), org_id, name, type, config, target, interval_ms, regions, enabled, simultaneous, anchor, 1, created_at,
			updated_at
		FROM checks, generate_series(1, 1000) WHERE id = ?`, template.ID).Exec(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.DeleteChecks(t.Context(), org.ID, listing.CheckFilter{Query: "home"}, false)
	wantCode(t, err, vigil.CodeInvalid)
	if n := count(t, s, "SELECT count(*) FROM checks"); n != 1001 {
		t.Errorf("%d checks are left", n)
	}
}
