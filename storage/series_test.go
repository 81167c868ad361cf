// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/storage"
)

// TestSeries reads a short span in single results, gaps as gaps, percentiles of larger steps, and what is past its
// retention in hours.
func TestSeries(t *testing.T) {
	t.Parallel()
	s, clock := newMaintenanceStore(t)
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark))
	w := newWriter(t, s, storage.WriterOptions{})
	slots := firstSlots(t, s, c, 1000)[1:] // the first one is off the grid
	var first []vigil.Result
	for i, slot := range slots[:400] {
		one := ok(c, newark, slot)
		one.ResponseTime = time.Duration(i%100+1) * time.Millisecond
		if i == 7 {
			continue // missed
		}
		if i == 8 {
			one = failed(c, newark, slot)
		}
		first = append(first, one)
	}
	writeExcluded(t.Context(), t, w, false, first...)
	clock.Set(slots[400])
	read := func(from, to time.Time, statistic overview.Statistic) overview.Series {
		t.Helper()
		series, err := s.Series(t.Context(), org.ID, c.ID, overview.SeriesQuery{Span: overview.Span{From: from, To: to}, Statistic: statistic})
		if err != nil {
			t.Fatal(err)
		}
		return series
	}
	single := read(slots[0], slots[20], overview.Mean)
	steps := single.Regions[0].Steps
	if single.Resolution != overview.ByResult || single.Step != c.Interval || !single.Start.Equal(slots[0]) || len(steps) != 20 {
		t.Fatalf("%d steps of %v from %v by %s, not %v", len(steps), single.Step, single.Start, single.Resolution, slots[0])
	}
	for i, step := range steps {
		switch {
		case i == 7 && (step.Results != 0 || step.MS != nil), i == 8 && (step.Failures != 1 || step.MS != nil),
			i != 7 && step.Results != 1, i < 7 && *step.MS != float64(i+1):
			t.Errorf("step %d is %+v", i, step)
		}
	}
	whole := read(slots[0], slots[400], overview.P95)
	if whole.Resolution != overview.ByStep || whole.Step != 15*time.Second {
		t.Errorf("%d steps of %v by %s", len(whole.Regions[0].Steps), whole.Step, whole.Resolution)
	}
	results := 0
	for _, step := range whole.Regions[0].Steps {
		results += step.Results
	}
	if results != 399 {
		t.Errorf("the steps have %d results", results)
	}

	// Percentiles of hours, of all results and after those are gone.
	clock.Set(slots[0].Add(40 * 24 * time.Hour))
	changeResults(t, s, "DELETE FROM results WHERE check_id = ?", c.ID)
	old := read(slots[0], slots[20], overview.P95)
	if old.Resolution != overview.ByWholeHour || old.Step != time.Hour {
		t.Errorf("past the retention there are steps of %v by %s", old.Step, old.Resolution)
	}
	if ms := old.Regions[0].Steps[0].MS; ms == nil || *ms < 87 || *ms > 93 {
		t.Errorf("p95 of an hour is %v", steps)
	}
	if hour := slots[0].Truncate(time.Hour); !old.KeptFrom.Equal(hour) || !old.Start.Equal(hour) {
		t.Errorf("kept from %v, starts at %v, the first slot was at %v", old.KeptFrom, old.Start, slots[0])
	}
}
