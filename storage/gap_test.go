// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage"
)

// jsonNumber returns a number that may be too large for Postgres.
func jsonNumber(s string) json.Number { return json.Number(s) }

// slotsOf returns the slots of a schedule in [from, to), found by Next alone.
func slotsOf(s vigil.Schedule, from, to time.Time) []time.Time {
	var slots []time.Time
	for at := s.First(); at.Before(to); at = s.Next(at) {
		if !at.Before(from) {
			slots = append(slots, at)
		}
	}
	return slots
}

// gapSlots returns every slot that is stored as missed.
func gapSlots(tb testing.TB, s *storage.Store, c vigil.Check, region string) []time.Time {
	tb.Helper()
	var gaps []struct {
		FirstSlot time.Time
		LastSlot  time.Time
		StepMS    int64 `bun:"step_ms"`
		Count     int64
	}
	err := s.DB().NewRaw("SELECT first_slot, last_slot, step_ms, count FROM result_gaps WHERE check_id = ? AND region = ?",
		c.ID, region).Scan(tb.Context(), &gaps)
	if err != nil {
		tb.Fatal(err)
	}
	var slots []time.Time
	for _, g := range gaps {
		at := g.FirstSlot
		for range g.Count {
			slots = append(slots, at)
			at = at.Add(time.Duration(g.StepMS) * time.Millisecond)
		}
		if last := slots[len(slots)-1]; !last.Equal(g.LastSlot) {
			tb.Errorf("gap of %d from %v ends at %v, not %v", g.Count, g.FirstSlot, last, g.LastSlot)
		}
	}
	slices.SortFunc(slots, time.Time.Compare)
	return slots
}

func TestGaps(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	w := newWriter(t, s, storage.WriterOptions{})

	t.Run("SlotsBetweenTwoResultsAreMissed", func(t *testing.T) {
		t.Parallel()
		c := newCheck(t, s, draft(org.ID, newark))
		slots := slotsOf(scheduleOf(t, s, c, newark), epoch(), epoch().Add(5*time.Minute))
		write(t, w, ok(c, newark, slots[0]))
		for _, missed := range []int64{8, 0} { // the second time the row exists
			recorded, err := w.Write(t.Context(), vigil.ResultRow{Result: ok(c, newark, slots[9])})
			if err != nil || recorded.Missed != missed {
				t.Errorf("the insert found %d missed, %v; want %d", recorded.Missed, err, missed)
			}
		}
		equal(t, gapSlots(t, s, c, newark), slots[1:9])
		loop := loopOf(t, s, c, newark)
		if loop.Missed != 8 || !loop.NextDue.Equal(slots[10]) {
			t.Errorf("loop %+v", loop)
		}
	})

	t.Run("NoSlotIsCountedTwiceWhenTheClockGoesBack", func(t *testing.T) {
		t.Parallel()
		c := newCheck(t, s, draft(org.ID, newark))
		slots := slotsOf(scheduleOf(t, s, c, newark), epoch(), epoch().Add(5*time.Minute))
		write(t, w, ok(c, newark, slots[0]), ok(c, newark, slots[9]))
		// The schedule restarts while the clock is behind the newest slot.
		update(t, s, c, func(c *vigil.Check) { c.Enabled = false })
		update(t, s, c, func(c *vigil.Check) { c.Enabled = true })
		write(t, w, ok(c, newark, slots[12]))
		equal(t, gapSlots(t, s, c, newark), slices.Concat(slots[1:9], slots[10:12]))
		if loop := loopOf(t, s, c, newark); loop.Missed != 10 {
			t.Errorf("loop %+v", loop)
		}
	})

	t.Run("SlotZeroCanBeMissed", func(t *testing.T) {
		t.Parallel()
		c := newCheck(t, s, draft(org.ID, newark))
		slots := slotsOf(scheduleOf(t, s, c, newark), epoch(), epoch().Add(5*time.Minute))
		write(t, w, ok(c, newark, slots[2]))
		equal(t, gapSlots(t, s, c, newark), slots[:2])
	})

	t.Run("SlotZeroCanBeTheOnlyMissedSlot", func(t *testing.T) {
		t.Parallel()
		c := newCheck(t, s, draft(org.ID, newark))
		slots := slotsOf(scheduleOf(t, s, c, newark), epoch(), epoch().Add(5*time.Minute))
		write(t, w, ok(c, newark, slots[1]))
		equal(t, gapSlots(t, s, c, newark), slots[:1])
	})

	t.Run("LateResultRemovesItsSlotFromTheGap", func(t *testing.T) {
		t.Parallel()
		c := newCheck(t, s, draft(org.ID, newark))
		slots := slotsOf(scheduleOf(t, s, c, newark), epoch(), epoch().Add(5*time.Minute))
		write(t, w, ok(c, newark, slots[0]), ok(c, newark, slots[9]))
		write(t, w, ok(c, newark, slots[5]), ok(c, newark, slots[1]), ok(c, newark, slots[8]), failed(c, newark, slots[5]))
		equal(t, gapSlots(t, s, c, newark), slices.Concat(slots[2:5], slots[6:8]))
		loop := loopOf(t, s, c, newark)
		if loop.Missed != 5 || !loop.LastSlot.Equal(slots[9]) || !loop.NextDue.Equal(slots[10]) {
			t.Errorf("loop %+v", loop)
		}
	})

	t.Run("LateResultsOfOneGroupFillTheirOwnGaps", func(t *testing.T) {
		t.Parallel()
		c := newCheck(t, s, draft(org.ID, newark))
		slots := slotsOf(scheduleOf(t, s, c, newark), epoch(), epoch().Add(5*time.Minute))
		grouping := newWriter(t, s, storage.WriterOptions{Delay: 200 * time.Millisecond})
		write(t, grouping, ok(c, newark, slots[0]), ok(c, newark, slots[5]), ok(c, newark, slots[9]))
		var late sync.WaitGroup
		for _, slot := range []time.Time{slots[2], slots[7]} {
			late.Go(func() {
				if _, err := grouping.Write(t.Context(), vigil.ResultRow{Result: ok(c, newark, slot), Worker: "w1"}); err != nil {
					t.Error(err)
				}
			})
		}
		late.Wait()
		equal(t, gapSlots(t, s, c, newark), []time.Time{slots[1], slots[3], slots[4], slots[6], slots[8]})
		if missed := loopOf(t, s, c, newark).Missed; missed != 5 {
			t.Errorf("%d missed, want 5", missed)
		}
	})

	t.Run("ResultOffTheGridFillsNoGap", func(t *testing.T) {
		t.Parallel()
		c := newCheck(t, s, draft(org.ID, newark))
		slots := slotsOf(scheduleOf(t, s, c, newark), epoch(), epoch().Add(5*time.Minute))
		write(t, w, ok(c, newark, slots[0]), ok(c, newark, slots[9]), ok(c, newark, slots[4].Add(3*time.Second)))
		equal(t, gapSlots(t, s, c, newark), slots[1:9])
		if missed := loopOf(t, s, c, newark).Missed; missed != 8 {
			t.Errorf("%d missed, want 8", missed)
		}
	})

	t.Run("SlotAtWhichTheCheckIsDisabledIsNotMissed", func(t *testing.T) {
		t.Parallel()
		s, clk := newStore(t)
		org, _ := newOrg(t, s)
		c := newCheck(t, s, fixed(draft(org.ID, newark), 1))
		slots := slotsOf(scheduleOf(t, s, c, newark), epoch(), epoch().Add(5*time.Minute))
		clk.Set(slots[3])
		update(t, s, c, func(c *vigil.Check) { c.Enabled = false })
		equal(t, gapSlots(t, s, c, newark), slots[:3])
	})

	t.Run("RegionThatIsAddedAgainKeepsItsMissedSlots", func(t *testing.T) {
		t.Parallel()
		s, clk := newStore(t)
		org, _ := newOrg(t, s)
		w := newWriter(t, s, storage.WriterOptions{})
		c := newCheck(t, s, draft(org.ID, newark, frankfurt))
		slots := slotsOf(scheduleOf(t, s, c, frankfurt), epoch(), epoch().Add(time.Minute))
		write(t, w, ok(c, frankfurt, slots[0]))
		clk.Set(slots[3].Add(time.Second))
		update(t, s, c, func(c *vigil.Check) { c.Regions = []string{newark} })
		clk.Set(slots[3].Add(2 * time.Second))
		update(t, s, c, func(c *vigil.Check) { c.Regions = []string{newark, frankfurt} })
		if missed := loopOf(t, s, c, frankfurt).Missed; missed != 3 {
			t.Errorf("%d missed, want 3", missed)
		}
		write(t, w, ok(c, frankfurt, slots[3])) // was being stored all the time
		equal(t, gapSlots(t, s, c, frankfurt), slots[1:3])
		if missed := loopOf(t, s, c, frankfurt).Missed; missed != 2 {
			t.Errorf("%d missed, want 2", missed)
		}
	})

	t.Run("ManualResultChangesHealthButNeitherGapsNorTheDueTime", func(t *testing.T) {
		t.Parallel()
		c := newCheck(t, s, draft(org.ID, newark))
		slots := slotsOf(scheduleOf(t, s, c, newark), epoch(), epoch().Add(5*time.Minute))
		write(t, w, ok(c, newark, slots[0]))
		manual := failed(c, newark, slots[4].Add(time.Second))
		manual.Manual = true
		write(t, w, manual)
		loop := loopOf(t, s, c, newark)
		if loop.Missed != 0 || !loop.NextDue.Equal(slots[1]) || !loop.LastScheduled.Equal(slots[0]) {
			t.Errorf("schedule changed: %+v", loop)
		}
		if !loop.LastSlot.Equal(manual.Slot) || loop.Health != vigil.Unhealthy {
			t.Errorf("health did not change: %+v", loop)
		}
		write(t, w, ok(c, newark, slots[5]))
		equal(t, gapSlots(t, s, c, newark), slots[1:5])
	})

	t.Run("NothingIsMissedWhileDisabled", func(t *testing.T) {
		t.Parallel()
		c := newCheck(t, s, draft(org.ID, newark))
		slots := slotsOf(scheduleOf(t, s, c, newark), epoch(), epoch().Add(5*time.Minute))
		write(t, w, ok(c, newark, slots[0]))
		update(t, s, c, func(c *vigil.Check) { c.Enabled = false })
		write(t, w, ok(c, newark, slots[3])) // was already being stored
		if loop := loopOf(t, s, c, newark); loop.Missed != 0 || !loop.NextDue.IsZero() {
			t.Errorf("loop %+v", loop)
		}
	})
}

// fixed gives a check a fixed id, which determines the phase of its grid.
func fixed(c vigil.Check, n byte) vigil.Check {
	c.ID = uuid.UUID{15: n}
	return c
}

func TestUptimeCountsTheMissedSlotsOfItsWindow(t *testing.T) {
	t.Parallel()
	for n := byte(1); n <= 3; n++ {
		s, clk := newStore(t)
		org, _ := newOrg(t, s)
		c := newCheck(t, s, fixed(draft(org.ID, newark), n))
		slots := slotsOf(scheduleOf(t, s, c, newark), epoch(), epoch().Add(5*time.Minute))
		write(t, newWriter(t, s, storage.WriterOptions{}), ok(c, newark, slots[0]), ok(c, newark, slots[9])) // 1 to 8 are missed
		const ms = time.Millisecond
		for _, test := range []struct {
			name     string
			from, to time.Time
			want     int64
		}{
			{"WholeGap", slots[0], slots[9], 8},
			{"ExactlyTheGap", slots[1], slots[8].Add(ms), 8},
			{"EndIsNotIncluded", slots[1], slots[8], 7},
			{"BeginIsIncluded", slots[3], slots[6], 3},
			{"BeginsAndEndsAfterASlot", slots[3].Add(ms), slots[6].Add(ms), 3},
			{"BeginsAndEndsBeforeASlot", slots[3].Add(-ms), slots[6].Add(-ms), 3},
			{"BeginsAfterAndEndsBeforeASlot", slots[3].Add(ms), slots[6].Add(-ms), 2},
			{"BetweenTwoSlots", slots[3].Add(ms), slots[4].Add(-ms), 0},
			{"OneSlot", slots[3].Add(-ms), slots[3].Add(ms), 1},
			{"BeforeTheGap", slots[0], slots[1], 0},
			{"AfterTheGap", slots[8].Add(ms), slots[9].Add(ms), 0},
			{"BeginsBeforeTheGap", slots[0].Add(-time.Hour), slots[2].Add(ms), 2},
			{"EndsAfterTheGap", slots[7], slots[9].Add(5 * ms), 2},
		} {
			clk.Set(test.to)
			up, err := s.Uptime(t.Context(), org.ID, c.ID, test.to.Sub(test.from), false)
			if err != nil {
				t.Fatal(err)
			}
			if up.Missed != test.want || up.ByRegion[newark].Missed != test.want {
				t.Errorf("check %d, %s: %d missed, want %d", n, test.name, up.Missed, test.want)
			}
		}
	}
}

// TestEverySlotIsAResultOrMissed tests that each slot up to the newest result has a result
// or is stored as missed, for any order and grouping of results.
func TestEverySlotIsAResultOrMissed(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	w := newWriter(t, s, storage.WriterOptions{Delay: 2 * time.Millisecond})
	rapid.Check(t, func(rt *rapid.T) {
		c := draft(org.ID, newark, frankfurt)
		c.Simultaneous = rapid.Bool().Draw(rt, "simultaneous")
		c = newCheck(t, s, c)
		schedule := scheduleOf(t, s, c, frankfurt)
		slots := slotsOf(schedule, epoch(), epoch().Add(4*time.Minute))
		n := len(slots)
		arrivals := rapid.SliceOfN(rapid.IntRange(0, n-1), 1, 2*n).Draw(rt, "arrivals") // a repeated number is a row that is sent again
		manual := rapid.SliceOfN(rapid.Int64Range(0, 240_000), 0, 3).Draw(rt, "manual")
		groups := rapid.IntRange(1, 12).Draw(rt, "group size")

		var rows []vigil.Result
		for _, i := range arrivals {
			rows = append(rows, ok(c, frankfurt, slots[i]))
		}
		for _, ms := range manual {
			r := ok(c, frankfurt, epoch().Add(time.Duration(ms)*time.Millisecond+500*time.Microsecond))
			r.Manual = true
			rows = append(rows, r)
		}
		for group := range slices.Chunk(rows, groups) {
			var wg sync.WaitGroup
			for _, r := range group {
				wg.Go(func() {
					if _, err := w.Write(t.Context(), vigil.ResultRow{Result: r}); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
		}

		newest := slots[slices.Max(arrivals)]
		var want []time.Time
		for i, slot := range slots {
			if !slot.After(newest) && !slices.Contains(arrivals, i) {
				want = append(want, slot)
			}
		}
		got := gapSlots(t, s, c, frankfurt)
		if !slices.EqualFunc(got, want, time.Time.Equal) {
			rt.Fatalf("missed %v\nwant   %v", got, want)
		}
		loop := loopOf(t, s, c, frankfurt)
		stored := count(t, s, "SELECT count(*) FROM results WHERE check_id = ? AND NOT manual", c.ID)
		if loop.Missed != int64(len(want)) || stored+loop.Missed != schedule.Count(epoch(), newest.Add(1)) {
			rt.Fatalf("%d results and %d missed of %d slots", stored, loop.Missed, schedule.Count(epoch(), newest.Add(1)))
		}
		if !loop.NextDue.Equal(schedule.Next(newest)) {
			rt.Fatalf("next due %v after %v", loop.NextDue, newest)
		}
	})
}
