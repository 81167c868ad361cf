// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/storage"
)

func summaryOf(t *testing.T, s *storage.Store, c vigil.Check) overview.CheckSummary {
	t.Helper()
	sums, err := s.Summaries(t.Context(), c.OrgID, []uuid.UUID{c.ID, uuid.New()})
	if err != nil || len(sums) != 1 {
		t.Fatalf("%d summaries, %v", len(sums), err)
	}
	return sums[c.ID]
}

func TestSummary(t *testing.T) {
	t.Parallel()

	t.Run("SlotsOfAllRegionsAddUp", func(t *testing.T) {
		t.Parallel()
		s, clk := newStore(t)
		org, _ := newOrg(t, s)
		other, _ := newOrg(t, s)
		c := draft(org.ID, newark, frankfurt)
		c.Simultaneous = false // frankfurt is 5 s behind
		c = newCheck(t, s, c)
		w := newWriter(t, s, storage.WriterOptions{})
		near, far := scheduleOf(t, s, c, newark), scheduleOf(t, s, c, frankfurt)
		at, late := near.Next(epoch()), far.Next(near.Next(epoch()))
		slot := func(n int) time.Duration { return time.Duration(n) * c.Interval }
		write(t, w, ok(c, newark, at), ok(c, frankfurt, late))
		write(t, w, failed(c, newark, at.Add(slot(1))), ok(c, frankfurt, late.Add(slot(1))))
		write(t, w, ok(c, newark, at.Add(slot(3)))) // slot 2 is missed everywhere, 3 in frankfurt
		clk.Set(late.Add(slot(3)).Add(time.Minute)) // the deadline of the last slot is over, not that of later ones

		sum := summaryOf(t, s, c)
		var got []int
		for i, one := range sum.Slots {
			if one.Results > 0 {
				got = append(got, i)
			}
		}
		first := got[0]
		equal(t, got, []int{first, first + 1, first + 3})
		equal(t, sum.Slots[first], overview.SlotSummary{Results: 2, SumMS: 40})
		equal(t, sum.Slots[first+1], overview.SlotSummary{Results: 2, Failures: 1, SumMS: 20})
		equal(t, sum.Start.Add(time.Duration(first)*sum.Interval), at)
		if sum.Results != 5 || sum.Successes != 4 || sum.P95MS == nil || *sum.P95MS != 20 {
			t.Errorf("got %+v", sum)
		}
		if sums, err := s.Summaries(t.Context(), other.ID, []uuid.UUID{c.ID}); err != nil || len(sums) != 0 {
			t.Errorf("another organization reads %v, %v", sums, err)
		}
	})

	t.Run("TheNewestSixtySlots", func(t *testing.T) {
		t.Parallel()
		s, clk := newStore(t)
		org, _ := newOrg(t, s)
		c := newCheck(t, s, draft(org.ID, newark))
		w := newWriter(t, s, storage.WriterOptions{})
		schedule := scheduleOf(t, s, c, newark)
		slot := schedule.First()
		for range 70 {
			slot = schedule.Next(slot)
			write(t, w, ok(c, newark, slot))
		}
		clk.Set(slot.Add(time.Second))
		sum := summaryOf(t, s, c)
		if len(sum.Slots) != overview.SummarySlots || sum.Slots[59].Results != 1 || sum.Slots[0].Results != 1 {
			t.Errorf("%d slots, the first %+v and the last %+v", len(sum.Slots), sum.Slots[0], sum.Slots[len(sum.Slots)-1])
		}
		equal(t, sum.Start.Add(59*c.Interval), slot)
	})

	t.Run("SlotsOfALongIntervalComeFromRollups", func(t *testing.T) {
		t.Parallel()
		s, clk := newStore(t)
		org, _ := newOrg(t, s)
		c := draft(org.ID, newark, frankfurt)
		c.Interval, c.Simultaneous = 4*time.Hour, false // frankfurt is two hours behind
		c = newCheck(t, s, c)
		w := newWriter(t, s, storage.WriterOptions{})
		for _, region := range []string{newark, frankfurt} {
			schedule := scheduleOf(t, s, c, region)
			slot := schedule.First()
			for i := range 20 {
				slot = schedule.Next(slot)
				if i == 7 {
					write(t, w, failed(c, region, slot))
					continue
				}
				write(t, w, ok(c, region, slot))
			}
			clk.Set(slot.Add(time.Second))
		}
		sum := summaryOf(t, s, c)
		full, failures := 0, 0
		for _, one := range sum.Slots {
			if one.Results == 2 {
				full++
			}
			failures += one.Failures
		}
		if full < 18 || failures != 2 || sum.P95MS == nil || *sum.P95MS < 19 || *sum.P95MS > 21 {
			t.Errorf("%d slots have both regions, %d failures: %+v", full, failures, sum)
		}
	})
}

func TestUptimeDays(t *testing.T) {
	t.Parallel()
	s, clk := newStore(t)
	org, _ := newOrg(t, s)
	other, _ := newOrg(t, s)
	c := draft(org.ID, newark)
	c.Interval = time.Hour
	c = newCheck(t, s, c)
	w := newWriter(t, s, storage.WriterOptions{})
	schedule := scheduleOf(t, s, c, newark)
	slot := schedule.First()
	for range 60 { // two days and a half; some are missed
		slot = schedule.Next(slot)
		if n := slot.Hour(); n != 3 && n != 4 {
			write(t, w, ok(c, newark, slot))
		}
	}
	clk.Set(slot.Add(5 * time.Minute))
	days, err := s.UptimeDays(t.Context(), org.ID, c.ID, 90)
	if err != nil || len(days) != 90 {
		t.Fatalf("%d days, %v", len(days), err)
	}
	var sum overview.UptimeDay
	for i, one := range days {
		sum.Total, sum.Successful, sum.Missed = sum.Total+one.Total, sum.Successful+one.Successful, sum.Missed+one.Missed
		if i > 0 && !one.Day.Equal(days[i-1].Day.AddDate(0, 0, -1)) {
			t.Errorf("day %d is %v, after %v", i, one.Day, days[i-1].Day)
		}
	}
	whole, err := s.Uptime(t.Context(), org.ID, c.ID, 90*24*time.Hour, false)
	if err != nil {
		t.Fatal(err)
	}
	if sum.Total != whole.Total || sum.Successful != whole.Successful || sum.Missed != whole.Missed || whole.Missed < 4 {
		t.Errorf("the days add up to %+v, want %+v", sum.Uptime, whole)
	}
	if yesterday := days[1]; yesterday.Total != 22 || yesterday.Missed != 2 {
		t.Errorf("a whole day has %+v", yesterday)
	}
	_, err = s.UptimeDays(t.Context(), other.ID, c.ID, 90)
	wantCode(t, err, vigil.CodeNotFound)
}
