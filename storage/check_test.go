// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/storage"
)

func TestCreateCheck(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)

	t.Run("InsertsALoopInEveryRegionThatStartsNow", func(t *testing.T) {
		t.Parallel()
		c := newCheck(t, s, draft(org.ID, frankfurt, newark))
		if c.ID == uuid.Nil || c.Revision != 1 || c.Health != vigil.Unknown || !c.CreatedAt.Equal(epoch()) {
			t.Errorf("check %+v", c)
		}
		loops, err := s.Loops(t.Context(), org.ID, c.ID)
		if err != nil || len(loops) != 2 {
			t.Fatalf("%d loops, %v", len(loops), err)
		}
		for i, region := range []string{frankfurt, newark} {
			equal(t, loops[i], vigil.Loop{
				CheckID: c.ID, OrgID: org.ID, Region: region, Name: c.Name, Target: c.Target, Desired: 1, Active: true,
				Start: epoch(), NextDue: epoch(), Health: vigil.Unknown,
			})
		}
		got, err := s.Check(t.Context(), org.ID, c.ID)
		if err != nil {
			t.Fatal(err)
		}
		got.Config, c.Config = nil, nil
		equal(t, got, c)
	})

	t.Run("StaggeredRegionsStartOneAfterTheOther", func(t *testing.T) {
		t.Parallel()
		c := draft(org.ID, newark, frankfurt)
		c.Simultaneous = false
		c = newCheck(t, s, c)
		if due := loopOf(t, s, c, frankfurt).NextDue; !due.Equal(epoch().Add(5 * time.Second)) {
			t.Errorf("second region is due at %v", due)
		}
	})

	t.Run("DisabledCheckIsNeverDue", func(t *testing.T) {
		t.Parallel()
		c := draft(org.ID, newark)
		c.Enabled = false
		loop := loopOf(t, s, newCheck(t, s, c), newark)
		if loop.Active || !loop.NextDue.IsZero() {
			t.Errorf("loop %+v", loop)
		}
	})

	t.Run("ValueThatPostgresCannotStoreIsInvalid", func(t *testing.T) {
		t.Parallel()
		for _, config := range []string{`{"url": "a\u0000b"}`, `{"n": 1e400000}`, `{`} {
			c := draft(org.ID, newark)
			c.Config = json.RawMessage(config)
			if _, err := s.CreateCheck(t.Context(), c, unlimited(), account.Allowance{}); config != `{` {
				wantCode(t, err, vigil.CodeInvalid)
			} else if err == nil {
				t.Error("a broken config was stored")
			}
		}
	})

	t.Run("ExpiresAtItsTime", func(t *testing.T) {
		t.Parallel()
		c := draft(org.ID, newark)
		at := epoch().Add(14 * 24 * time.Hour)
		c.ExpiresAt = &at
		c = newCheck(t, s, c)
		if n, err := s.ExpireChecks(t.Context(), at.Add(-time.Second)); n != 0 || err != nil {
			t.Errorf("%d expired too early, %v", n, err)
		}
		if n, err := s.ExpireChecks(t.Context(), at); n != 1 || err != nil {
			t.Errorf("%d expired, %v", n, err)
		}
		_, err := s.Check(t.Context(), org.ID, c.ID)
		wantCode(t, err, vigil.CodeNotFound)
		if n := count(t, s, "SELECT count(*) FROM loop_tombstones WHERE check_id = ?", c.ID); n != 1 {
			t.Errorf("%d tombstones", n)
		}
	})
}

func TestBudget(t *testing.T) {
	t.Parallel()

	t.Run("ConcurrentCreationsStayWithinTheBudget", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		plan := account.Plan{Tier: account.TierFree, ExecutionsPerHour: 360 * 5} // five checks every 10 s
		var org account.Organization
		for range 10 {
			org, _ = newOrg(t, s)
			var wg sync.WaitGroup
			errs := make([]error, 12)
			for i := range errs {
				wg.Go(func() { _, errs[i] = s.CreateCheck(t.Context(), draft(org.ID, newark), plan, account.Allowance{}) })
			}
			wg.Wait()
			stored := 0
			for _, err := range errs {
				if err == nil {
					stored++
					continue
				}
				wantCode(t, err, vigil.CodePlanLimit)
			}
			if stored != 5 {
				t.Fatalf("%d were stored, want 5", stored)
			}
		}
		usage, err := s.Usage(t.Context(), org.ID)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, usage, account.Usage{ExecutionsPerHour: 1800, Counts: map[account.Limited]int64{
			account.LimitChecks: 5, account.LimitChannels: 0, account.LimitRulesPerCheck: 0, account.LimitAPIKeys: 0, account.LimitMembers: 1,
			account.LimitStatusPages: 0, account.LimitMaintenanceWindows: 0, account.LimitSubscriptions: 0, account.LimitLocations: 0,
			account.LimitSubscribers: 0,
		}})
		_, err = s.CreateCheck(t.Context(), draft(org.ID, newark), plan, account.Allowance{})
		refused, isRefusal := errors.AsType[*vigil.Error](err)
		if !isRefusal {
			t.Fatal(err)
		}
		equal(t, refused.Details, map[string]any{"limit": int64(1800), "current": 1800.0, "requested": 360.0, "tier": "free"})
	})

	t.Run("LimitsEnablingAndFasterIntervalsButNotCheaperChanges", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		org, _ := newOrg(t, s)
		plan := account.Plan{Tier: account.TierFree, ExecutionsPerHour: 400}
		c := newCheck(t, s, draft(org.ID, newark))
		off := draft(org.ID, newark)
		off.Enabled = false
		disabled, err := s.CreateCheck(t.Context(), off, plan, account.Allowance{})
		if err != nil {
			t.Fatalf("a disabled check costs: %v", err)
		}
		change := func(c vigil.Check, plan account.Plan, change func(*vigil.Check)) error {
			_, err := s.UpdateCheck(t.Context(), org.ID, c.ID, plan, func(c *vigil.Check) error { change(c); return nil })
			return err
		}
		wantCode(t, change(disabled, plan, func(c *vigil.Check) { c.Enabled = true }), vigil.CodePlanLimit)
		wantCode(t, change(c, plan, func(c *vigil.Check) { c.Interval = 5 * time.Second }), vigil.CodePlanLimit)
		wantCode(t, change(c, plan, func(c *vigil.Check) { c.Regions = []string{newark, frankfurt} }), vigil.CodePlanLimit)
		smaller := account.Plan{Tier: account.TierFree, ExecutionsPerHour: 1}
		if err := change(c, smaller, func(c *vigil.Check) { c.Interval = 20 * time.Second }); err != nil {
			t.Errorf("a cheaper check was refused: %v", err)
		}
	})

	t.Run("CreationsOfTheLastHourCountEvenWhenDeleted", func(t *testing.T) {
		t.Parallel()
		s, clk := newStore(t)
		org, _ := newOrg(t, s)
		allow := account.Allowance{CreationsPerHour: 2}
		for range 2 {
			c, err := s.CreateCheck(t.Context(), draft(org.ID, newark), unlimited(), allow)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.DeleteCheck(t.Context(), org.ID, c.ID, nil); err != nil {
				t.Fatal(err)
			}
		}
		_, err := s.CreateCheck(t.Context(), draft(org.ID, newark), unlimited(), allow)
		wantCode(t, err, vigil.CodePlanLimit)
		clk.Set(epoch().Add(time.Hour))
		if _, err := s.CreateCheck(t.Context(), draft(org.ID, newark), unlimited(), allow); err != nil {
			t.Error(err)
		}
	})
}

func TestChecks(t *testing.T) {
	t.Parallel()
	s, clk := newStore(t)
	org, _ := newOrg(t, s)
	other, _ := newOrg(t, s)
	newCheck(t, s, draft(other.ID, newark))
	var ids []uuid.UUID
	for i := range 5 {
		clk.Set(epoch().Add(time.Duration(i/2) * time.Second)) // pairs have the same time
		ids = append(ids, newCheck(t, s, draft(org.ID, newark, frankfurt)).ID)
	}

	t.Run("AreListedNewestFirstWithTiesById", func(t *testing.T) {
		t.Parallel()
		var listed []vigil.Check
		for offset := 0; offset < 6; offset += 2 {
			page, extent, err := s.Checks(t.Context(), org.ID, listing.CheckList{Page: listing.Page{Limit: 2, Offset: offset}})
			if err != nil || extent.Total != 5 {
				t.Fatalf("%d in all, %v", extent.Total, err)
			}
			listed = append(listed, page...)
		}
		if len(listed) != 5 || listed[0].ID != ids[4] {
			t.Fatalf("%d listed", len(listed))
		}
		for i := range listed[1:] {
			a, b := listed[i], listed[i+1]
			if a.CreatedAt.Before(b.CreatedAt) || a.CreatedAt.Equal(b.CreatedAt) && a.ID.String() < b.ID.String() {
				t.Errorf("%v %s before %v %s", a.CreatedAt, a.ID, b.CreatedAt, b.ID)
			}
		}
	})

	t.Run("PageBeyondTheEndStillCounts", func(t *testing.T) {
		t.Parallel()
		page, extent, err := s.Checks(t.Context(), org.ID, listing.CheckList{Page: listing.Page{Limit: 2, Offset: 50}})
		if err != nil || extent.Total != 5 || len(page) != 0 {
			t.Errorf("%d of %d, %v", len(page), extent.Total, err)
		}
	})
}

func TestHealth(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	w := newWriter(t, s, storage.WriterOptions{})
	healthOf := func(t *testing.T, c vigil.Check) vigil.Check {
		t.Helper()
		got, err := s.Check(t.Context(), org.ID, c.ID)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}

	t.Run("ComesFromTheLatestSlotAndUnhealthyWinsATie", func(t *testing.T) {
		t.Parallel()
		c := newCheck(t, s, draft(org.ID, newark, frankfurt, singapore))
		slot := epoch()
		write(t, w, failed(c, newark, slot))
		write(t, w, ok(c, frankfurt, slot.Add(time.Second)))
		if got := healthOf(t, c); got.Health != vigil.Healthy || !got.LastChecked.Equal(slot.Add(time.Second+time.Millisecond)) {
			t.Errorf("%s, last checked %v", got.Health, got.LastChecked)
		}
		write(t, w, failed(c, singapore, slot.Add(time.Second)))
		if got := healthOf(t, c); got.Health != vigil.Unhealthy {
			t.Errorf("%s at a tie", got.Health)
		}
		listed, _, err := s.Checks(t.Context(), org.ID, listing.CheckList{Page: listing.Page{Limit: 100}})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range listed {
			if l.ID == c.ID && l.Health != vigil.Unhealthy {
				t.Errorf("the list says %s", l.Health)
			}
		}
	})

	t.Run("LateResultDoesNotChangeIt", func(t *testing.T) {
		t.Parallel()
		c := newCheck(t, s, draft(org.ID, newark))
		schedule := scheduleOf(t, s, c, newark)
		second := schedule.Next(schedule.First())
		write(t, w, ok(c, newark, second), failed(c, newark, schedule.First()))
		if got := healthOf(t, c); got.Health != vigil.Healthy {
			t.Errorf("%s", got.Health)
		}
	})
}

func TestTenancy(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	other, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark))
	for name, id := range map[string]uuid.UUID{"another organization's check": c.ID, "no check": uuid.New()} {
		for method, call := range map[string]func() error{
			"Check": func() error { _, err := s.Check(t.Context(), other.ID, id); return err },
			"UpdateCheck": func() error {
				_, err := s.UpdateCheck(t.Context(), other.ID, id, unlimited(), func(c *vigil.Check) error { c.Name = "mine"; return nil })
				return err
			},
			"DeleteCheck": func() error { _, err := s.DeleteCheck(t.Context(), other.ID, id, nil); return err },
			"Loops":       func() error { _, err := s.Loops(t.Context(), other.ID, id); return err },
			"Results": func() error {
				_, _, err := s.Results(t.Context(), other.ID, id, listing.ResultFilter{Page: listing.Page{Limit: 1}})
				return err
			},
			"Uptime": func() error { _, err := s.Uptime(t.Context(), other.ID, id, time.Hour, false); return err },
			"UpdateCheck of no organization": func() error {
				_, err := s.UpdateCheck(t.Context(), uuid.New(), id, unlimited(), func(*vigil.Check) error { return nil })
				return err
			},
		} {
			if err := call(); vigil.ErrorCode(err) != vigil.CodeNotFound || vigil.ErrorMessage(err) != "check not found" {
				t.Errorf("%s of %s: %v", method, name, err)
			}
		}
	}
	got, err := s.Check(t.Context(), org.ID, c.ID)
	if err != nil || got.Name != c.Name {
		t.Errorf("the owner sees %+v, %v", got, err)
	}
	if usage, err := s.Usage(t.Context(), other.ID); err != nil || usage.ExecutionsPerHour != 0 || usage.Counts[account.LimitChecks] != 0 {
		t.Errorf("the other organization uses %+v, %v", usage, err)
	}
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	c := draft(org.ID, newark)
	c.Config = json.RawMessage(`{"url": "https://example.com/", "headers": {"Authorization": "Bearer tiger-1"},
		"basic_auth": {"username": "u", "password": "tiger-2"}, "steps": [{"config": {"password": "tiger-3"}}]}`)
	c = newCheck(t, s, c)
	update(t, s, c, func(c *vigil.Check) { c.Name = "renamed" })

	var tables []string
	if err := s.DB().NewRaw("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").Scan(t.Context(), &tables); err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, table := range tables {
		var rows []string
		if err := s.DB().NewRaw(fmt.Sprintf("SELECT x::text FROM %q AS x", table)).Scan(t.Context(), &rows); err != nil {
			t.Fatal(err)
		}
		looked += len(rows)
		if strings.Contains(strings.Join(rows, "\n"), "tiger") {
			t.Errorf("a secret is stored in clear text in %s", table)
		}
	}
	if looked < 5 {
		t.Errorf("only %d rows were read", looked)
	}
	got, err := s.Check(t.Context(), org.ID, c.ID)
	if err != nil {
		t.Fatal(err)
	}
	def, err := s.Definition(t.Context(), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, config := range []json.RawMessage{got.Config, def.Check.Config} {
		for _, secret := range []string{"Bearer tiger-1", "tiger-2", "tiger-3"} {
			if !strings.Contains(string(config), `"`+secret+`"`) {
				t.Errorf("%s is not in the config that is read: %s", secret, config)
			}
		}
	}
}
