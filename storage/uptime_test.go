// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"math"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/storage"
)

const hour = time.Hour

func TestUptime(t *testing.T) {
	t.Parallel()

	// A check with an interval of 10 min and known results in two regions: Newark has all
	// but the third, and every sixth one failed; Frankfurt has only that of slot 0.
	s, clk := newStore(t)
	org, _ := newOrg(t, s)
	c := draft(org.ID, newark, frankfurt)
	c.Interval = 10 * time.Minute
	c = newCheck(t, s, c)
	w := newWriter(t, s, storage.WriterOptions{})
	schedule := scheduleOf(t, s, c, newark)
	end := epoch().Add(50*hour + 20*time.Minute)
	slots := slotsOf(schedule, epoch(), end)
	write(t, w, ok(c, frankfurt, slots[0]))
	for i, slot := range slots {
		r := ok(c, newark, slot)
		if i%6 == 5 {
			r = failed(c, newark, slot)
			r.ResponseTime = time.Hour // response times of failures do not count
		} else {
			r.ResponseTime = time.Duration(i%6+1) * 100 * time.Millisecond // 100 to 500 ms
		}
		if i != 2 {
			write(t, w, r)
		}
	}
	clk.Set(end)

	// expect sums a window slot by slot.
	expect := func(from time.Time) (newarkWant, frankfurtWant vigil.Uptime) {
		due := end.Add(-5 * time.Second) // the deadline
		for i, slot := range slots {
			if slot.Before(from) {
				continue
			}
			switch {
			case i == 2:
				newarkWant.Missed++
			case i%6 == 5:
				newarkWant.Total++
				newarkWant.Failed++
			default:
				newarkWant.Total++
				newarkWant.Successful++
				newarkWant.AvgMS += float64(i%6+1) * 100
			}
			if i == 0 {
				frankfurtWant = vigil.Uptime{Total: 1, Successful: 1, AvgMS: 20}
			} else if slot.Before(due) {
				frankfurtWant.Missed++
			}
		}
		newarkWant.AvgMS /= float64(newarkWant.Successful)
		return newarkWant, frankfurtWant
	}

	for _, tt := range []struct {
		name   string
		period time.Duration
		from   time.Time
	}{
		{"HourFromResults", hour, end.Add(-hour)},
		{"DayFromResults", 24 * hour, end.Add(-24 * hour)},
		{"LongerThanADayBeginsWithItsFirstHour", 49 * hour, end.Add(-49 * hour).Truncate(hour)},
		{"WeekFromRollups", 7 * 24 * hour, epoch()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			up, err := s.Uptime(t.Context(), org.ID, c.ID, tt.period, false)
			if err != nil {
				t.Fatal(err)
			}
			wantNewark, wantFrankfurt := expect(tt.from)
			for region, want := range map[string]vigil.Uptime{newark: wantNewark, frankfurt: wantFrankfurt} {
				got := up.ByRegion[region]
				if got.Total != want.Total || got.Successful != want.Successful || got.Failed != want.Failed ||
					got.Missed != want.Missed || math.Abs(got.AvgMS-want.AvgMS) > 1e-6 {
					t.Errorf("%s\ngot  %+v\nwant %+v", region, got, want)
				}
			}
			if up.Total != wantNewark.Total+wantFrankfurt.Total || up.Missed != wantNewark.Missed+wantFrankfurt.Missed ||
				up.Successful+up.Failed != up.Total || len(up.ByRegion) != 2 {
				t.Errorf("sum %+v", up)
			}
			for _, p := range []struct{ got, want float64 }{{up.ByRegion[newark].P50MS, 300}, {up.ByRegion[newark].P95MS, 500}, {up.P99MS, 500}} {
				if tolerance := 0.02 * p.want; math.Abs(p.got-p.want) > tolerance {
					t.Errorf("percentile %v, want %v within 2 %%", p.got, p.want)
				}
			}
		})
	}

	t.Run("IsZeroWithoutResults", func(t *testing.T) {
		t.Parallel()
		fresh := newCheck(t, s, draft(org.ID, newark))
		for _, period := range []time.Duration{hour, 7 * 24 * hour} {
			up, err := s.Uptime(t.Context(), org.ID, fresh.ID, period, false)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, up, vigil.Uptime{ByRegion: map[string]vigil.Uptime{newark: {}}})
		}
	})
}

func TestRollupsSplitAtTheHour(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark))
	border := epoch().Truncate(hour).Add(hour)
	write(t, newWriter(t, s, storage.WriterOptions{}),
		ok(c, newark, border.Add(-time.Microsecond)), failed(c, newark, border),
		ok(c, newark, border.Add(hour-time.Microsecond)), ok(c, newark, border.Add(hour)))
	var hours []struct {
		Hour             time.Time
		Total, Successes int64
	}
	err := s.DB().NewRaw("SELECT hour, total, successes FROM result_rollups WHERE check_id = ? ORDER BY hour", c.ID).
		Scan(t.Context(), &hours)
	if err != nil {
		t.Fatal(err)
	}
	if len(hours) != 3 {
		t.Fatalf("%+v", hours)
	}
	for i, want := range []struct{ total, successes int64 }{{1, 1}, {2, 1}, {1, 1}} {
		if got := hours[i]; !got.Hour.Equal(border.Add(time.Duration(i-1)*hour)) || got.Total != want.total || got.Successes != want.successes {
			t.Errorf("hour %d: %+v", i, got)
		}
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark, frankfurt))
	w := newWriter(t, s, storage.WriterOptions{})
	at := func(n int) time.Time { return epoch().Add(time.Duration(n) * 10 * time.Second) }
	for n := range 6 {
		write(t, w, ok(c, newark, at(n)), failed(c, frankfurt, at(n)))
	}
	list := func(t *testing.T, f listing.ResultFilter) ([]vigil.Result, int) {
		t.Helper()
		results, extent, err := s.Results(t.Context(), org.ID, c.ID, f)
		if err != nil {
			t.Fatal(err)
		}
		return results, extent.Total
	}

	t.Run("AreListedNewestFirstInPages", func(t *testing.T) {
		t.Parallel()
		var all []vigil.Result
		for offset := 0; offset < 12; offset += 5 {
			page, total := list(t, listing.ResultFilter{Page: listing.Page{Limit: 5, Offset: offset}})
			if total != 12 {
				t.Errorf("%d in all", total)
			}
			all = append(all, page...)
		}
		if len(all) != 12 {
			t.Fatalf("%d listed", len(all))
		}
		for i := range all[1:] {
			if a, b := all[i], all[i+1]; a.Time.Before(b.Time) || a.Time.Equal(b.Time) && a.ID.String() < b.ID.String() {
				t.Errorf("%v %s before %v %s", a.Time, a.ID, b.Time, b.ID)
			}
		}
		want := failed(c, frankfurt, at(5))
		if all[0].Region == newark {
			want = ok(c, newark, at(5))
		}
		equal(t, all[0], want)
	})

	t.Run("AreFiltered", func(t *testing.T) {
		t.Parallel()
		from, to, yes := at(2).Add(time.Millisecond), at(4).Add(time.Millisecond), true // begin of slots 2 and 4
		for name, tt := range map[string]struct {
			f    listing.ResultFilter
			want int
		}{
			"from is included":   {listing.ResultFilter{From: &from}, 8},
			"to is not":          {listing.ResultFilter{To: &to}, 8},
			"from and to":        {listing.ResultFilter{From: &from, To: &to}, 4},
			"region":             {listing.ResultFilter{Region: newark}, 6},
			"success":            {listing.ResultFilter{Success: &yes}, 6},
			"region and success": {listing.ResultFilter{Region: frankfurt, Success: &yes}, 0},
		} {
			tt.f.Limit = 100
			if results, total := list(t, tt.f); total != tt.want || len(results) != tt.want {
				t.Errorf("%s: %d of %d, want %d", name, len(results), total, tt.want)
			}
		}
	})

	t.Run("AfterASlotAreOldestFirst", func(t *testing.T) {
		t.Parallel()
		after, err := s.ResultsAfter(t.Context(), c.ID, newark, at(1), 3)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, after, []vigil.Result{ok(c, newark, at(2)), ok(c, newark, at(3)), ok(c, newark, at(4))})
		if all, err := s.ResultsAfter(t.Context(), c.ID, newark, time.Time{}, 100); err != nil || len(all) != 6 {
			t.Errorf("%d after the zero slot, %v", len(all), err)
		}
	})

	t.Run("LatestAreOldestFirst", func(t *testing.T) {
		t.Parallel()
		latest, err := s.LatestResults(t.Context(), c.ID, newark, 2)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, latest, []vigil.Result{ok(c, newark, at(4)), ok(c, newark, at(5))})
	})
}
