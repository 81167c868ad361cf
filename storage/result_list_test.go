// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/storage"
)

// walk reads all results of a check by cursor and returns their ids, in order, and the
// total of the first page.
func walk(t *testing.T, s *storage.Store, c vigil.Check, f listing.ResultFilter) (ids []uuid.UUID, total int) {
	t.Helper()
	for pages := 0; ; pages++ {
		results, extent, err := s.Results(t.Context(), c.OrgID, c.ID, f)
		if err != nil || pages > 1000 {
			t.Fatalf("page %d: %v", pages, err)
		}
		if pages == 0 {
			total = extent.Total
		}
		for i, r := range results {
			ids = append(ids, r.ID)
			if i > 0 && r.Time.After(results[i-1].Time) {
				t.Errorf("result %d of a page is newer than the one before", i)
			}
		}
		if extent.Next == nil {
			return ids, total
		}
		if len(results) == 0 {
			t.Fatal("an empty page says that the list goes on")
		}
		f.After = extent.Next
	}
}

// TestResultsByCursor proves that a walk visits every result once, also with gaps between
// them: days without results, partitions and the default one, and results of late slots.
func TestResultsByCursor(t *testing.T) {
	t.Parallel()
	s, clk := newStore(t)
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark, frankfurt))
	w := newWriter(t, s, storage.WriterOptions{})
	now := epoch().AddDate(0, 0, 100)
	for _, at := range []time.Time{epoch().AddDate(0, 0, 60), epoch().AddDate(0, 0, 80), now} {
		if err := s.EnsurePartitions(t.Context(), at); err != nil {
			t.Fatal(err)
		}
	}
	clk.Set(now)
	want := map[uuid.UUID]bool{}
	add := func(r vigil.Result, late time.Duration) {
		r.Time = r.Slot.Add(late)
		r.Success = len(want)%3 > 0
		want[r.ID] = true
		write(t, w, r)
	}
	for _, days := range []int{0, 1, 2, 7, 30, 60, 61, 62, 79, 80, 98, 99, 100} {
		for i := range 9 {
			slot := epoch().AddDate(0, 0, days).Add(time.Duration(i-9) * 10 * time.Second)
			add(ok(c, newark, slot), time.Duration(i%3)*time.Millisecond)
			add(ok(c, frankfurt, slot), time.Duration(i%2)*time.Millisecond)
		}
	}
	// A slot of the evening whose result was taken the next day.
	evening := now.Truncate(24 * time.Hour).Add(-time.Second)
	add(ok(c, newark, evening), 2*time.Hour)
	add(ok(c, frankfurt, evening), 26*time.Hour)
	add(ok(c, newark, now.AddDate(0, 0, 3)), 0) // of a clock that is ahead

	for _, limit := range []int{1, 2, 7, 50, 1000} {
		got, total := walk(t, s, c, listing.ResultFilter{Page: listing.Page{Limit: limit}})
		seen := map[uuid.UUID]bool{}
		for _, id := range got {
			if seen[id] || !want[id] {
				t.Errorf("limit %d: %s repeats or is unknown", limit, id)
			}
			seen[id] = true
		}
		if len(got) != len(want) || total != len(want) {
			t.Errorf("limit %d: %d results, total %d, want %d", limit, len(got), total, len(want))
		}
	}
	from, to, failures := now.AddDate(0, 0, -45), now.AddDate(0, 0, -5), false
	for name, f := range map[string]listing.ResultFilter{
		"Times":    {From: &from, To: &to},
		"Region":   {Region: frankfurt},
		"Failures": {Success: &failures},
		"All":      {From: &from, To: &to, Region: newark, Success: &failures},
		"Nothing":  {To: &from, From: &from},
	} {
		f.Limit = 4
		got, total := walk(t, s, c, f)
		f.Limit, f.Offset = 1000, 0
		count := int(count(t, s, `SELECT count(*) FROM results WHERE check_id = ?0
			AND (?1::timestamptz IS NULL OR time >= ?1) AND (?2::timestamptz IS NULL OR time < ?2)
			AND (?3 = '' OR region = ?3) AND (?4::bool IS NULL OR success = ?4)`, c.ID, f.From, f.To, f.Region, f.Success))
		if len(got) != count || total != count {
			t.Errorf("%s: %d results, total %d, want %d", name, len(got), total, count)
		}
	}
}

// TestTotalOfResultsIsCapped adds up rollups instead of results.
func TestTotalOfResultsIsCapped(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark))
	for _, fill := range []string{
		`INSERT INTO result_rollups SELECT ?0, 'na-east-ewr', date_trunc('hour', ?1::timestamptz), 10000, 9000, 1, '{}', '{}'`,
		`INSERT INTO results SELECT ?0, 'na-east-ewr', ?1::timestamptz + n * interval '10 ms', gen_random_uuid(), ?1, false, true, 1
			FROM generate_series(1, 3) AS n`,
	} {
		if _, err := s.DB().NewRaw(fill, c.ID, epoch()).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	yes, no := true, false
	for want, success := range map[int]*bool{10_000: nil, 9000: &yes, 1000: &no} {
		_, extent, err := s.Results(t.Context(), org.ID, c.ID, listing.ResultFilter{Success: success, Page: listing.Page{Limit: 1}})
		if err != nil || extent.Total != want {
			t.Errorf("total %d, want %d, %v", extent.Total, want, err)
		}
	}
	if _, err := s.DB().NewRaw("UPDATE result_rollups SET total = 10001").Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, extent, err := s.Results(t.Context(), org.ID, c.ID, listing.ResultFilter{Page: listing.Page{Limit: 1}})
	if err != nil || extent.Total != listing.MaxTotal+1 {
		t.Errorf("total %d, %v", extent.Total, err)
	}
}
