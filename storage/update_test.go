// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage"
)

func TestUpdateCheck(t *testing.T) {
	t.Parallel()
	later := epoch().Add(95 * time.Second)

	// begin stores a check at epoch with results of slot 0, and sets the clock to later,
	// nine slots after it.
	begin := func(t *testing.T, c vigil.Check) (*storage.Store, *clock, vigil.Check) {
		t.Helper()
		s, clk := newStore(t)
		org, _ := newOrg(t, s)
		c.OrgID = org.ID
		c = newCheck(t, s, c)
		w := newWriter(t, s, storage.WriterOptions{})
		for _, region := range c.Regions {
			write(t, w, ok(c, region, scheduleOf(t, s, c, region).First()))
			if err := s.MarkApplied(t.Context(), vigil.Loop{CheckID: c.ID, Region: region, Desired: 1}); err != nil {
				t.Fatal(err)
			}
		}
		clk.Set(later)
		return s, clk, c
	}
	three := func() vigil.Check { return draft([16]byte{}, newark, frankfurt, singapore) }

	t.Run("EqualDefinitionIsNoChange", func(t *testing.T) {
		t.Parallel()
		s, _, c := begin(t, three())
		after := update(t, s, c, func(c *vigil.Check) { c.Config = json.RawMessage(`{ "url":"https://example.com/" }`) })
		if after.Revision != 1 || !after.UpdatedAt.Equal(epoch()) {
			t.Errorf("revision %d at %v", after.Revision, after.UpdatedAt)
		}
	})

	t.Run("NewNameOrConfigKeepsTheSchedule", func(t *testing.T) {
		t.Parallel()
		s, _, c := begin(t, three())
		before := loopOf(t, s, c, newark)
		after := update(t, s, c, func(c *vigil.Check) { c.Name, c.Config = "n", json.RawMessage(`{"url": "https://example.org/"}`) })
		if after.Revision != 2 || !after.Anchor.Equal(c.Anchor) || !after.UpdatedAt.Equal(later) || after.Health != vigil.Unknown {
			t.Errorf("%+v", after)
		}
		before.Desired, before.Name = 2, "n"
		equal(t, loopOf(t, s, c, newark), before)
		lagging, err := s.Lagging(t.Context(), fleet.EverySweepShard(), 10)
		if err != nil || len(lagging) != 3 {
			t.Errorf("%d loops lag, %v", len(lagging), err)
		}
	})

	t.Run("OnlyTheDefinitionCanBeChanged", func(t *testing.T) {
		t.Parallel()
		s, _, c := begin(t, three())
		after := update(t, s, c, func(c *vigil.Check) {
			c.Name, c.Revision, c.Anchor, c.Health, c.ExpiresAt = "n", 99, later, vigil.Unhealthy, &later
			c.ID, c.OrgID = [16]byte{1}, [16]byte{2}
		})
		if after.ID != c.ID || after.OrgID != c.OrgID || after.Revision != 2 || !after.Anchor.Equal(c.Anchor) ||
			after.Health != vigil.Unknown || after.ExpiresAt != nil { // the result is too old
			t.Errorf("%+v", after)
		}
	})

	t.Run("ErrorOfTheChangeIsReturnedAndNothingIsStored", func(t *testing.T) {
		t.Parallel()
		s, _, c := begin(t, three())
		refusal := errors.New("no")
		_, err := s.UpdateCheck(t.Context(), c.OrgID, c.ID, unlimited(), func(c *vigil.Check) error { c.Name = "x"; return refusal })
		if !errors.Is(err, refusal) {
			t.Errorf("%v", err)
		}
		if got, err := s.Check(t.Context(), c.OrgID, c.ID); err != nil || got.Name != c.Name {
			t.Errorf("%+v, %v", got, err)
		}
	})

	t.Run("NewIntervalRestartsAndCountsTheMissedSlotsOfTheOldOne", func(t *testing.T) {
		t.Parallel()
		s, _, c := begin(t, three())
		old := scheduleOf(t, s, c, newark)
		after := update(t, s, c, func(c *vigil.Check) { c.Interval = 30 * time.Second })
		loop := loopOf(t, s, c, newark)
		if !loop.Start.Equal(later) || !loop.NextDue.Equal(later) || loop.Desired != 2 {
			t.Errorf("loop %+v", loop)
		}
		equal(t, after.Anchor, vigil.NewAnchor(c.ID, later, 30*time.Second))
		if want := old.Count(epoch(), later) - 1; loop.Missed != want || want < 8 {
			t.Errorf("%d missed, want %d", loop.Missed, want)
		}
	})

	t.Run("SlotProbedDuringTheChangeIsNotMissed", func(t *testing.T) {
		t.Parallel()
		s, _, c := begin(t, three())
		old := scheduleOf(t, s, c, newark)
		update(t, s, c, func(c *vigil.Check) { c.Interval = 30 * time.Second })
		missed := loopOf(t, s, c, newark).Missed
		inFlight, _ := old.Newest(later)
		write(t, newWriter(t, s, storage.WriterOptions{}), ok(c, newark, inFlight))
		loop := loopOf(t, s, c, newark)
		if loop.Missed != missed-1 || !loop.NextDue.Equal(later) {
			t.Errorf("%d missed of %d, next due %v", loop.Missed, missed, loop.NextDue)
		}
	})

	t.Run("DisabledIsNeverDueAndEnabledRestarts", func(t *testing.T) {
		t.Parallel()
		s, clk, c := begin(t, three())
		update(t, s, c, func(c *vigil.Check) { c.Enabled = false })
		off := loopOf(t, s, c, newark)
		if off.Active || !off.NextDue.IsZero() || off.Health != vigil.Healthy || off.Desired != 2 || off.Missed < 8 {
			t.Errorf("disabled: %+v", off)
		}
		clk.Set(later.Add(time.Hour))
		update(t, s, c, func(c *vigil.Check) { c.Name = "still off" })
		update(t, s, c, func(c *vigil.Check) { c.Enabled = true })
		on := loopOf(t, s, c, newark)
		if !on.Active || !on.Start.Equal(later.Add(time.Hour)) || !on.NextDue.Equal(on.Start) {
			t.Errorf("enabled: %+v", on)
		}
		if on.Missed != off.Missed {
			t.Errorf("%d slots were missed while it was disabled", on.Missed-off.Missed)
		}
	})

	t.Run("AddedRegionStartsAloneAndRemovedRegionLeavesATombstone", func(t *testing.T) {
		t.Parallel()
		s, clk, c := begin(t, draft([16]byte{}, newark, frankfurt))
		after := update(t, s, c, func(c *vigil.Check) { c.Regions = []string{newark, singapore} })
		if !after.Anchor.Equal(c.Anchor) {
			t.Error("the grid changed")
		}
		if kept := loopOf(t, s, c, newark); !kept.Start.Equal(epoch()) {
			t.Errorf("the unchanged region starts at %v", kept.Start)
		}
		if came := loopOf(t, s, c, singapore); !came.Start.Equal(later) || came.Desired != 2 || came.Applied != 0 {
			t.Errorf("the added region: %+v", came)
		}
		tombstones, err := s.Tombstones(t.Context(), fleet.EverySweepShard(), 10)
		if err != nil || len(tombstones) != 1 || tombstones[0].Region != frankfurt || tombstones[0].CheckID != c.ID {
			t.Fatalf("tombstones %+v, %v", tombstones, err)
		}
		up, err := s.Uptime(t.Context(), c.OrgID, c.ID, time.Hour, false)
		if err != nil || up.ByRegion[frankfurt].Total != 1 || up.ByRegion[frankfurt].Missed < 8 {
			t.Errorf("the removed region is in the uptime as %+v, %v", up.ByRegion[frankfurt], err)
		}

		clk.Set(later.Add(time.Minute))
		update(t, s, c, func(c *vigil.Check) { c.Regions = []string{newark, singapore, frankfurt} })
		if tombstones, err := s.Tombstones(t.Context(), fleet.EverySweepShard(), 10); err != nil || len(tombstones) != 0 {
			t.Errorf("a region that was added again has a tombstone: %+v, %v", tombstones, err)
		}
		if back := loopOf(t, s, c, frankfurt); !back.Start.Equal(later.Add(time.Minute)) || back.Applied != 0 {
			t.Errorf("the region that was added again: %+v", back)
		}
	})

	t.Run("StaggeredRegionsAllRestartWhenOneChanges", func(t *testing.T) {
		t.Parallel()
		c := three()
		c.Simultaneous, c.Interval = false, 30*time.Second
		s, _, c := begin(t, c)
		update(t, s, c, func(c *vigil.Check) { c.Regions = []string{frankfurt, newark, singapore} })
		for i, region := range []string{frankfurt, newark, singapore} {
			loop := loopOf(t, s, c, region)
			if !loop.Start.Equal(later) || !loop.NextDue.Equal(later.Add(time.Duration(i)*10*time.Second)) {
				t.Errorf("%s starts at %v, next due %v", region, loop.Start, loop.NextDue)
			}
		}
	})

	t.Run("SimultaneousToStaggeredRestarts", func(t *testing.T) {
		t.Parallel()
		s, _, c := begin(t, three())
		update(t, s, c, func(c *vigil.Check) { c.Simultaneous = false })
		if loop := loopOf(t, s, c, newark); !loop.Start.Equal(later) {
			t.Errorf("starts at %v", loop.Start)
		}
	})
}
