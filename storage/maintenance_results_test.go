// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/storage"
)

// writeExcluded stores results, some of them in maintenance.
func writeExcluded(ctx context.Context, tb rapid.TB, w *storage.ResultWriter, excluded bool, results ...vigil.Result) {
	tb.Helper()
	for _, r := range results {
		if _, err := w.Write(ctx, vigil.ResultRow{Result: r, Worker: "w1", Deadline: 5 * time.Second, Excluded: excluded}); err != nil {
			tb.Fatal(err)
		}
	}
}

func uptimeOf(t *testing.T, s *storage.Store, c vigil.Check, period time.Duration, withExcluded bool) vigil.Uptime {
	t.Helper()
	up, err := s.Uptime(t.Context(), c.OrgID, c.ID, period, withExcluded)
	if err != nil {
		t.Fatal(err)
	}
	up.ByRegion = nil
	return up
}

func TestUptimeLeavesMaintenanceOut(t *testing.T) {
	t.Parallel()
	s, clock := newMaintenanceStore(t)
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark))
	w := newWriter(t, s, storage.WriterOptions{})
	slots := firstSlots(t, s, c, 6)
	slow := ok(c, newark, slots[3])
	slow.ResponseTime = time.Second
	writeExcluded(t.Context(), t, w, false, ok(c, newark, slots[0]), failed(c, newark, slots[1]))
	writeExcluded(t.Context(), t, w, true, failed(c, newark, slots[2]), slow, failed(c, newark, slots[4]))
	writeExcluded(t.Context(), t, w, false, ok(c, newark, slots[5]))
	clock.Set(slots[5].Add(time.Second))

	for _, period := range []time.Duration{time.Hour, 7 * 24 * time.Hour} {
		omitted, counted := uptimeOf(t, s, c, period, false), uptimeOf(t, s, c, period, true)
		if omitted.Total != 3 || omitted.Successful != 2 || omitted.Failed != 1 || omitted.Excluded != 3 || omitted.Missed != 0 {
			t.Errorf("%v: without them %+v", period, omitted)
		}
		if counted.Total != 6 || counted.Successful != 3 || counted.Failed != 3 || counted.Excluded != 3 {
			t.Errorf("%v: with them %+v", period, counted)
		}
		if omitted.P99MS > 25 || counted.P99MS != omitted.P99MS || counted.AvgMS != omitted.AvgMS {
			t.Errorf("%v: response times %v and %v of results in maintenance", period, omitted.P99MS, counted.P99MS)
		}
	}
	days, err := s.UptimeDays(t.Context(), org.ID, c.ID, 1)
	if err != nil || days[0].Total != 3 || days[0].Failed != 1 || days[0].Excluded != 3 {
		t.Errorf("day %+v, %v", days, err)
	}
	for _, period := range []time.Duration{24 * time.Hour, 30 * 24 * time.Hour} {
		series, err := s.Series(t.Context(), org.ID, c.ID, overview.SeriesQuery{Period: period})
		if err != nil {
			t.Fatal(err)
		}
		var sum overview.SlotSummary
		for _, one := range series.Regions[0].Steps {
			sum.Results, sum.Failures = sum.Results+one.Results, sum.Failures+one.Failures
		}
		if sum.Results != 3 || sum.Failures != 1 {
			t.Errorf("series of %v: %+v", period, sum)
		}
	}
	sums, err := s.Summaries(t.Context(), org.ID, []uuid.UUID{c.ID})
	if err != nil {
		t.Fatal(err)
	}
	if sum := sums[c.ID]; sum.Results != 3 || sum.Successes != 2 || *sum.P95MS > 25 {
		t.Errorf("summary %d of %d, p95 %v", sum.Successes, sum.Results, *sum.P95MS)
	}
	_, extent, err := s.Results(t.Context(), org.ID, c.ID, listing.ResultFilter{Page: listing.Page{Limit: 1}})
	if err != nil || extent.Total != 6 {
		t.Errorf("a list of %d results, %v", extent.Total, err)
	}
}

// firstSlots returns the first slots of a check.
func firstSlots(tb testing.TB, s *storage.Store, c vigil.Check, n int) []time.Time {
	tb.Helper()
	schedule := scheduleOf(tb, s, c, newark)
	slots := []time.Time{schedule.First()}
	for len(slots) < n {
		slots = append(slots, schedule.Next(slots[len(slots)-1]))
	}
	return slots
}

func TestPausedSlotsAreNotMissed(t *testing.T) {
	t.Parallel()
	setUp := func(t *testing.T) (*storage.Store, *clock, vigil.Check, []time.Time) {
		t.Helper()
		s, clock := newMaintenanceStore(t)
		org, _ := newOrg(t, s)
		c := newCheck(t, s, draft(org.ID, newark))
		return s, clock, c, firstSlots(t, s, c, 40)
	}

	t.Run("InAGapThatTheNextResultFinds", func(t *testing.T) {
		t.Parallel()
		s, clock, c, slots := setUp(t)
		w := newWriter(t, s, storage.WriterOptions{})
		// Slots 3 to 9 are paused: the first at its start, the last 1 µs before its end.
		maintain(t, s, maintenanceDraft{
			org: c.OrgID, checks: []uuid.UUID{c.ID}, starts: slots[3], ends: slots[9].Add(time.Microsecond), probing: "pause",
		})
		maintain(t, s, maintenanceDraft{org: c.OrgID, all: true, starts: slots[5], ends: slots[8], probing: "pause"})
		maintain(t, s, maintenanceDraft{org: c.OrgID, all: true, starts: slots[11], ends: slots[13]}) // goes on probing
		write(t, w, ok(c, newark, slots[0]), ok(c, newark, slots[14]))
		clock.Set(slots[14].Add(time.Second))
		up := uptimeOf(t, s, c, time.Hour, false)
		if up.Total != 2 || up.Missed != 6 { // 1, 2, 10, 11, 12, 13
			t.Errorf("%d results, %d missed, want 2 and 6", up.Total, up.Missed)
		}
		if missed := loopOf(t, s, c, newark).Missed; missed != 6 {
			t.Errorf("the loop missed %d", missed)
		}
		days, err := s.UptimeDays(t.Context(), c.OrgID, c.ID, 1)
		if err != nil || days[0].Missed != 6 {
			t.Errorf("days %+v, %v", days, err)
		}
	})

	t.Run("SinceTheNewestResult", func(t *testing.T) {
		t.Parallel()
		s, clock, c, slots := setUp(t)
		maintain(t, s, maintenanceDraft{org: c.OrgID, all: true, starts: slots[3], ends: slots[9], probing: "pause"})
		write(t, newWriter(t, s, storage.WriterOptions{}), ok(c, newark, slots[0]))
		for at, want := range map[int]int64{3: 2, 8: 2, 9: 2, 12: 5} { // slots before the instant that are over
			clock.Set(slots[at].Add(5 * time.Second)) // the deadline
			if up := uptimeOf(t, s, c, time.Hour, false); up.Missed != want {
				t.Errorf("at slot %d: missed %d, want %d", at, up.Missed, want)
			}
		}
	})

	t.Run("WhenTheCheckIsDisabledInside", func(t *testing.T) {
		t.Parallel()
		s, clock, c, slots := setUp(t)
		maintain(t, s, maintenanceDraft{org: c.OrgID, all: true, starts: slots[3], ends: slots[30], probing: "pause"})
		write(t, newWriter(t, s, storage.WriterOptions{}), ok(c, newark, slots[0]))
		clock.Set(slots[20])
		update(t, s, c, func(c *vigil.Check) { c.Enabled = false })
		if up := uptimeOf(t, s, c, time.Hour, false); up.Missed != 2 {
			t.Errorf("missed %d, want 2", up.Missed)
		}
	})

	t.Run("AndItsLoopIsNotOverdueUntilItHadTimeToGoOn", func(t *testing.T) {
		t.Parallel()
		s, _, c, slots := setUp(t)
		ends := slots[30]
		maintain(t, s, maintenanceDraft{org: c.OrgID, all: true, starts: slots[3], ends: ends, probing: "pause"})
		started(t, s, c, newark)
		write(t, newWriter(t, s, storage.WriterOptions{}), ok(c, newark, slots[0]), ok(c, newark, slots[1]), ok(c, newark, slots[2]))
		overdue := func(at time.Time) bool {
			t.Helper()
			loops, err := s.Overdue(t.Context(), at, time.Second, []string{newark}, fleet.EverySweepShard(), 10)
			if err != nil {
				t.Fatal(err)
			}
			return len(loops) > 0
		}
		grace := 2*c.Interval + 5*time.Second + time.Second
		for at, want := range map[time.Time]bool{
			ends.Add(-time.Microsecond): false, ends: false, ends.Add(grace): false, ends.Add(grace + time.Microsecond): true,
		} {
			if got := overdue(at); got != want {
				t.Errorf("at the end and %v: overdue %v, want %v", at.Sub(ends), got, want)
			}
		}
	})

	t.Run("AndItsRegionIsNotSilentUntilItHadTimeToGoOn", func(t *testing.T) {
		t.Parallel()
		s, c := newMaintenanceStore(t)
		a := newAlertsOn(t, s, c, vigil.NotifyBoth, vigil.ChannelWebhook)
		a.open(a.fails(newark))
		ends := epoch().Add(time.Hour)
		maintain(t, s, maintenanceDraft{org: a.org.ID, all: true, starts: a.slot.Add(time.Second), ends: ends, probing: "pause"})
		grace := 2*a.check.Interval + time.Minute // the deadline of a loop that has stored none
		for at, want := range map[time.Time]bool{
			ends.Add(-time.Microsecond): false, ends.Add(grace): false, ends.Add(grace + time.Microsecond): true,
		} {
			silent, err := s.Silences(t.Context(), at, epoch(), fleet.EverySweepShard(), 10)
			if err != nil || slices.ContainsFunc(silent, func(r vigil.RegionSilence) bool { return r.Region == newark }) != want {
				t.Errorf("at the end and %v: %+v, %v, want silent %v", at.Sub(ends), silent, err, want)
			}
		}
	})
}

// TestReclassify changes maintenance over stored results again and again, and compares
// the results and rollups with those of a check whose results were stored so at once.
func TestReclassify(t *testing.T) {
	t.Parallel()
	s, clock := newMaintenanceStore(t)
	org, _ := newOrg(t, s)
	w := newWriter(t, s, storage.WriterOptions{})
	leases := renewSweep(t, s, "test", time.Hour)
	rapid.Check(t, func(rt *rapid.T) {
		clock.Set(epoch())
		c, twin := newCheck(t, s, draft(org.ID, newark)), newCheck(t, s, draft(org.ID, newark))
		n := rapid.IntRange(1, 40).Draw(rt, "results")
		type stored struct {
			slot    time.Time
			success bool
			ms      int
		}
		var rows []stored
		slot := epoch()
		for i := range n {
			slot = slot.Add(time.Duration(rapid.IntRange(1, 30*60*1000).Draw(rt, "after")) * time.Millisecond)
			rows = append(rows, stored{slot, rapid.Bool().Draw(rt, "success"), i + 1})
		}
		instant := func(what string) time.Time {
			if rapid.Bool().Draw(rt, what+" at a slot") {
				at := rows[rapid.IntRange(0, n-1).Draw(rt, what+" slot")].slot
				return at.Add(time.Duration(rapid.IntRange(-1, 1).Draw(rt, "µs")) * time.Microsecond)
			}
			return epoch().Add(time.Duration(rapid.IntRange(0, 1200).Draw(rt, what)) * time.Minute)
		}
		resultOf := func(c vigil.Check, row stored) vigil.Result {
			r := ok(c, newark, row.slot)
			r.Success, r.ResponseTime = row.success, time.Duration(row.ms)*time.Millisecond
			return r
		}
		for _, row := range rows {
			writeExcluded(t.Context(), rt, w, rapid.Bool().Draw(rt, "marked before"), resultOf(c, row))
		}
		var spans [][2]time.Time
		for range rapid.IntRange(0, 4).Draw(rt, "windows") {
			a, b := instant("start"), instant("end")
			if !a.Before(b) {
				continue
			}
			draft := maintenanceDraft{org: org.ID, checks: []uuid.UUID{c.ID, twin.ID}, starts: a, ends: b}
			if rapid.Bool().Draw(rt, "included") {
				draft.uptime = "include"
			} else {
				spans = append(spans, [2]time.Time{a, b})
			}
			maintain(t, s, draft)
		}
		span := vigil.ResultSpan{CheckID: c.ID, Region: newark, From: epoch(), To: slot.Add(time.Second), Due: epoch()}
		for range 2 { // repeated, it changes nothing
			if err := s.Reclassify(t.Context(), leases[fleet.SweepShard(c.ID)], span); err != nil {
				rt.Fatal(err)
			}
			for _, row := range rows {
				excluded := slices.ContainsFunc(spans, func(span [2]time.Time) bool { return !row.slot.Before(span[0]) && row.slot.Before(span[1]) })
				writeExcluded(t.Context(), rt, w, excluded, resultOf(twin, row))
			}
			for what, query := range map[string]string{
				"results": "SELECT slot, success, excluded FROM results WHERE check_id = ?",
				"rollups": `SELECT hour, total, successes, round(sum_ms::numeric, 3), buckets, counts, excluded, excluded_successes
					FROM result_rollups WHERE check_id = ?`,
			} {
				differ := count(t, s, "SELECT count(*) FROM (("+query+" EXCEPT "+query+") UNION ALL ("+query+" EXCEPT "+query+")) AS d",
					c.ID, twin.ID, twin.ID, c.ID)
				if differ != 0 {
					rt.Fatalf("%d rows of %s differ from those of a check that was stored so", differ, what)
				}
			}
			if n := count(t, s, "SELECT count(*) FROM result_reclassifications"); n != 0 {
				rt.Fatalf("%d spans are left", n)
			}
		}
	})
}
