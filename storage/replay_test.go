// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/backtest"
	"github.com/vigil-monitor/vigil/storage"
)

func TestReplayResults(t *testing.T) {
	t.Parallel()
	s, clk := newStore(t)
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark, frankfurt))
	w := newWriter(t, s, storage.WriterOptions{})
	schedule := scheduleOf(t, s, c, newark)
	first := schedule.Next(epoch())
	slot := func(n int) time.Time { return first.Add(time.Duration(n) * 10 * time.Hour) } // over several days
	var stored []time.Time
	for n := range 10 {
		clk.Set(slot(n).Add(time.Second))
		one := ok(c, newark, slot(n))
		one.Metadata = map[string]any{vigil.MetadataFingerprint: "q:a", vigil.MetadataDays: 30 - n, "body": "not read"}
		write(t, w, one, failed(c, frankfurt, slot(n)))
		stored = append(stored, slot(n))
	}
	read := func(t *testing.T, regions []string, from, to time.Time, warm int) (rows []backtest.Row) {
		t.Helper()
		for row, err := range s.ReplayResults(t.Context(), c.ID, regions, from, to, warm) {
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, row)
		}
		return rows
	}

	t.Run("AreInTheOrderOfTheirSlots", func(t *testing.T) {
		t.Parallel()
		rows := read(t, []string{newark, frankfurt}, stored[3], stored[8], 2)
		if len(rows) != 2*7 {
			t.Fatalf("%d rows, want those of 5 slots and 2 before, of 2 regions", len(rows))
		}
		for i, row := range rows {
			region := []string{frankfurt, newark}[i%2]
			if row.Region != region || !row.Result.Slot.Equal(stored[1+i/2]) || row.Result.Success != (region == newark) {
				t.Errorf("row %d is %+v", i, row)
			}
		}
		days := rows[len(rows)-1].Result.Metadata
		equal(t, len(days), 2)
		state, _ := vigil.Evaluate(nil, vigil.State{}, rows[len(rows)-1].Result)
		if state.DNS != "q:a" || state.Days == nil || *state.Days != 23 {
			t.Errorf("the state is %+v", state)
		}
	})

	t.Run("AreThoseOfTheRegions", func(t *testing.T) {
		t.Parallel()
		if rows := read(t, []string{frankfurt}, stored[0], stored[9].Add(time.Second), 5); len(rows) != 10 {
			t.Errorf("%d rows", len(rows))
		}
	})

	t.Run("EndWhenTheReaderEnds", func(t *testing.T) {
		t.Parallel()
		for row, err := range s.ReplayResults(t.Context(), c.ID, []string{newark}, stored[0], stored[9], 0) {
			if err != nil || !row.Result.Slot.Equal(stored[0]) {
				t.Errorf("%+v, %v", row, err)
			}
			break
		}
	})

	t.Run("AreMeasuredFirst", func(t *testing.T) {
		t.Parallel()
		extent, err := s.ReplayExtent(t.Context(), org.ID, c.ID, stored[2], stored[5])
		// To the hour: the slots 2, 3, 4 and 5 in two regions.
		if err != nil || extent.Results != 8 || !extent.Oldest.Equal(stored[0]) || extent.Missed == 0 {
			t.Errorf("%+v, %v", extent, err)
		}
		other, _ := newOrg(t, s)
		_, err = s.ReplayExtent(t.Context(), other.ID, c.ID, stored[2], stored[5])
		wantCode(t, err, vigil.CodeNotFound)
		_, err = s.ReplayExtent(t.Context(), org.ID, uuid.New(), stored[2], stored[5])
		wantCode(t, err, vigil.CodeNotFound)
	})
}
