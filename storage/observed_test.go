// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/storage"
)

// faces are what the reads of a store say of a check.
type faces struct {
	Health           vigil.Health // of the check
	State            listing.CheckState
	Listed           vigil.Health // the filter that finds it
	Counts           listing.CheckCounts
	Regions, Figures map[string]vigil.Health
	Public, Loops    map[string]vigil.Health
	Unobserved       map[string]bool
}

func facesOf(t *testing.T, s *storage.Store, c vigil.Check, slug string) faces {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	f := faces{
		Regions: map[string]vigil.Health{}, Figures: map[string]vigil.Health{}, Public: map[string]vigil.Health{},
		Loops: map[string]vigil.Health{}, Unobserved: map[string]bool{},
	}
	stored, err := s.Check(t.Context(), c.OrgID, c.ID)
	must(err)
	f.Health = stored.Health
	sum := summaryOf(t, s, c)
	f.State = sum.State
	for _, region := range sum.Regions {
		f.Regions[region.Region] = region.Health
	}
	for _, health := range []vigil.Health{vigil.Healthy, vigil.Unhealthy, vigil.Unknown} {
		list, _, err := s.Checks(
			t.Context(),
			c.OrgID,
			listing.CheckList{CheckFilter: listing.CheckFilter{Health: health}, Page: listing.Page{Limit: 10}},
		)
		must(err)
		if len(list) == 1 {
			f.Listed = health
			if list[0].Health != health {
				t.Errorf("the filter %s finds a check that is %s", health, list[0].Health)
			}
		}
	}
	byState, _, err := s.Checks(
		t.Context(),
		c.OrgID,
		listing.CheckList{CheckFilter: listing.CheckFilter{State: f.State}, Page: listing.Page{Limit: 10}},
	)
	must(err)
	if len(byState) != 1 {
		t.Errorf("the filter by the state %s finds %d checks", f.State, len(byState))
	}
	f.Counts, err = s.CheckCounts(t.Context(), c.OrgID, listing.CheckFilter{})
	must(err)
	figures, err := s.CheckFigures(t.Context(), c.OrgID, nil, 10)
	must(err)
	for _, region := range figures[0].Regions {
		f.Figures[region.Region] = region.Health
	}
	report, err := s.StatusReport(t.Context(), slug, epoch())
	must(err)
	for _, region := range report.Checks[c.ID].Regions {
		f.Public[region.Region] = region.Health
	}
	loops, err := s.Loops(t.Context(), c.OrgID, c.ID)
	must(err)
	for _, loop := range loops {
		f.Loops[loop.Region], f.Unobserved[loop.Region] = loop.Health, loop.Unobserved
	}
	return f
}

// watchedCheck is a check with a status page and results of its first slots.
func watchedCheck(t *testing.T, regions ...string) (*storage.Store, *clock, vigil.Check, string) {
	t.Helper()
	s, clk := newMaintenanceStore(t)
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, regions...))
	page, err := s.CreateStatusPage(t.Context(), overview.StatusPage{
		OrgID: org.ID, Slug: "p" + uuid.NewString(), Title: "Acme", Enabled: true,
		Groups: []overview.StatusGroup{{Checks: []overview.PublicCheck{{CheckID: c.ID, Name: "Shop"}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, clk, c, page.Slug
}

// TestHealthIsUnknownWithoutARecentResult: the newest result is older than three intervals and
// its deadline, which are 10 s and 5 s here.
func TestHealthIsUnknownWithoutARecentResult(t *testing.T) {
	t.Parallel()

	t.Run("OnEveryFace", func(t *testing.T) {
		t.Parallel()
		s, clk, c, slug := watchedCheck(t, newark)
		w := newWriter(t, s, storage.WriterOptions{})
		slots := firstSlots(t, s, c, 20)
		write(t, w, ok(c, newark, slots[0]), ok(c, newark, slots[1]))
		clk.Set(slots[4].Add(5 * time.Second)) // just three intervals and the deadline
		one := func(h vigil.Health) map[string]vigil.Health { return map[string]vigil.Health{newark: h} }
		equal(t, facesOf(t, s, c, slug), faces{
			Health: vigil.Healthy, State: listing.StatePassing, Listed: vigil.Healthy, Counts: listing.CheckCounts{Healthy: 1, Passing: 1},
			Regions: one(vigil.Healthy), Figures: one(vigil.Healthy), Public: one(vigil.Healthy), Loops: one(vigil.Healthy),
			Unobserved: map[string]bool{newark: false},
		})
		clk.Set(slots[4].Add(5*time.Second + time.Millisecond))
		stale := faces{
			Health: vigil.Unknown, State: listing.StateUnknown, Listed: vigil.Unknown, Counts: listing.CheckCounts{Unknown: 1},
			Regions: one(vigil.Unknown), Figures: one(vigil.Unknown), Public: one(vigil.Unknown), Loops: one(vigil.Unknown),
			Unobserved: map[string]bool{newark: true},
		}
		equal(t, facesOf(t, s, c, slug), stale)
		if stored, err := s.Check(t.Context(), c.OrgID, c.ID); err != nil || stored.LastChecked == nil {
			t.Errorf("it was checked at %v, %v", stored.LastChecked, err)
		}
		clk.Set(slots[12].Add(5 * time.Second))
		if missed := loopOf(t, s, c, newark).Missed; missed != 10 { // slots 2 to 11
			t.Errorf("%d slots are missed, want 10", missed)
		}
		write(t, w, failed(c, newark, slots[12]))
		got := facesOf(t, s, c, slug)
		if got.Health != vigil.Unhealthy || got.State != listing.StateFailing || got.Unobserved[newark] {
			t.Errorf("with a result again: %+v", got)
		}
		clk.Set(slots[19])
		equal(t, facesOf(t, s, c, slug), stale) // a failing check is not known to fail any more
	})

	t.Run("InOneOfTwoRegions", func(t *testing.T) {
		t.Parallel()
		s, clk, c, slug := watchedCheck(t, newark, frankfurt)
		w := newWriter(t, s, storage.WriterOptions{})
		slots := firstSlots(t, s, c, 10)
		write(t, w, failed(c, newark, slots[0]), ok(c, frankfurt, slots[0]))
		for _, slot := range slots[1:] {
			write(t, w, ok(c, frankfurt, slot))
		}
		clk.Set(slots[9].Add(time.Second))
		both := map[string]vigil.Health{newark: vigil.Unknown, frankfurt: vigil.Healthy}
		equal(t, facesOf(t, s, c, slug), faces{
			Health: vigil.Healthy, State: listing.StatePassing, Listed: vigil.Healthy, Counts: listing.CheckCounts{Healthy: 1, Passing: 1},
			Regions: both, Figures: both, Public: both, Loops: both, Unobserved: map[string]bool{newark: true, frankfurt: false},
		})
	})

	t.Run("AResultByHandCounts", func(t *testing.T) {
		t.Parallel()
		s, clk, c, _ := watchedCheck(t, newark)
		w := newWriter(t, s, storage.WriterOptions{})
		slots := firstSlots(t, s, c, 20)
		write(t, w, ok(c, newark, slots[0]))
		manual := ok(c, newark, slots[15].Add(time.Second))
		manual.Manual = true
		write(t, w, manual)
		clk.Set(slots[16])
		if loop := loopOf(t, s, c, newark); loop.Unobserved || loop.Health != vigil.Healthy {
			t.Errorf("got %+v", loop)
		}
	})
}

// TestWhatIsNotUnobserved: it need not be probed, or there was no time yet.
func TestWhatIsNotUnobserved(t *testing.T) {
	t.Parallel()
	unobserved := func(t *testing.T, s *storage.Store, c vigil.Check) bool {
		t.Helper()
		return loopOf(t, s, c, newark).Unobserved
	}
	wrote := func(t *testing.T) (*storage.Store, *clock, vigil.Check, []time.Time) {
		t.Helper()
		s, clk, c, _ := watchedCheck(t, newark)
		slots := firstSlots(t, s, c, 60)
		write(t, newWriter(t, s, storage.WriterOptions{}), ok(c, newark, slots[0]), ok(c, newark, slots[1]), ok(c, newark, slots[2]))
		return s, clk, c, slots
	}

	t.Run("JustCreated", func(t *testing.T) {
		t.Parallel()
		s, clk, c, _ := watchedCheck(t, newark)
		slots := firstSlots(t, s, c, 20)
		clk.Set(slots[2])
		if unobserved(t, s, c) {
			t.Error("a check without a result is unobserved after two intervals")
		}
		clk.Set(slots[19])
		if !unobserved(t, s, c) {
			t.Error("a check that never had a result is observed")
		}
	})

	t.Run("Disabled", func(t *testing.T) {
		t.Parallel()
		s, clk, c, slots := wrote(t)
		update(t, s, c, func(c *vigil.Check) { c.Enabled = false })
		clk.Set(slots[40])
		if stored, err := s.Check(t.Context(), c.OrgID, c.ID); err != nil || stored.Health != vigil.Healthy || unobserved(t, s, c) {
			t.Errorf("a disabled check is %s, %v", stored.Health, err)
		}
		update(t, s, c, func(c *vigil.Check) { c.Enabled = true })
		if unobserved(t, s, c) {
			t.Error("a check that was just enabled is unobserved")
		}
	})

	t.Run("ShorterInterval", func(t *testing.T) {
		t.Parallel()
		s, clk, c, _ := watchedCheck(t, newark)
		update(t, s, c, func(c *vigil.Check) { c.Interval = time.Hour })
		at := scheduleOf(t, s, c, newark).First()
		write(t, newWriter(t, s, storage.WriterOptions{}), ok(c, newark, at))
		clk.Set(at.Add(50 * time.Minute))
		update(t, s, c, func(c *vigil.Check) { c.Interval = 10 * time.Second })
		if unobserved(t, s, c) {
			t.Error("a check with a shorter interval is unobserved before its first slot is due")
		}
	})

	t.Run("InMaintenanceThatPauses", func(t *testing.T) {
		t.Parallel()
		s, clk, c, slots := wrote(t)
		maintain(t, s, maintenanceDraft{org: c.OrgID, all: true, starts: slots[3], ends: slots[30], probing: "pause"})
		for at, want := range map[int]bool{20: false, 31: false, 40: true} { // 31 has not had time to go on
			clk.Set(slots[at].Add(time.Second))
			if got := unobserved(t, s, c); got != want {
				t.Errorf("at slot %d: unobserved %v", at, got)
			}
		}
	})

	t.Run("InMaintenanceThatGoesOn", func(t *testing.T) {
		t.Parallel()
		s, clk, c, slots := wrote(t)
		maintain(t, s, maintenanceDraft{org: c.OrgID, all: true, starts: slots[3], ends: slots[30]})
		clk.Set(slots[20])
		if !unobserved(t, s, c) {
			t.Error("a check that should be probed in maintenance is observed without results")
		}
	})
}
