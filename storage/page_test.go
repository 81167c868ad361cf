// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/storage"
)

// TestPageIsBoundedInBytes proves that a page of large rows ends early, and that going on
// behind its last row reads every row once.
func TestPageIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark))
	for _, fill := range []string{
		`INSERT INTO results SELECT ?0, 'na-east-ewr', ?2::timestamptz + n * interval '1 s', gen_random_uuid(),
			?2::timestamptz + n % 300 * interval '1 s', false, true, 1, NULL, NULL, jsonb_build_object('body', repeat('x', 16000))
			FROM generate_series(1, 1000) AS n`,
		`INSERT INTO channels SELECT gen_random_uuid(), ?1, 'c', 'webhook', jsonb_build_object('url', repeat('x', 900000)),
			true, '', ?2::timestamptz, ?2::timestamptz FROM generate_series(1, 20) AS n`,
		// One channel is larger than a page.
		`INSERT INTO channels SELECT gen_random_uuid(), ?1, 'c', 'webhook', jsonb_build_object('url', repeat('x', 9000000)), true, '',
			?2::timestamptz + interval '1 s', ?2::timestamptz`,
	} {
		if _, err := s.DB().NewRaw(fill, c.ID, org.ID, epoch()).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	small := newCheck(t, s, draft(org.ID, newark))
	w := newWriter(t, s, storage.WriterOptions{})
	for i := range 12 {
		write(t, w, ok(small, newark, epoch().AddDate(0, 0, i)))
	}
	read := func(limit int, page func(listing.Page) ([]uuid.UUID, int, error)) (pages, rows, total int) {
		t.Helper()
		seen := map[uuid.UUID]bool{}
		for pages, total = 0, 1; len(seen) < total; pages++ {
			ids, n, err := page(listing.Page{Limit: limit, Offset: len(seen)})
			if err != nil || len(ids) == 0 {
				t.Fatalf("%d rows after %d of %d, %v", len(ids), len(seen), n, err)
			}
			total = n
			for _, id := range ids {
				if seen[id] {
					t.Fatalf("%s is on two pages", id)
				}
				seen[id] = true
			}
		}
		return pages, len(seen), total
	}
	results := func(check uuid.UUID) func(listing.Page) ([]uuid.UUID, int, error) {
		return func(page listing.Page) (ids []uuid.UUID, total int, err error) {
			rows, extent, err := s.Results(t.Context(), org.ID, check, listing.ResultFilter{Page: page})
			bytes := 0
			for i, r := range rows {
				ids = append(ids, r.ID)
				body, _ := r.Metadata["body"].(string)
				bytes += len(body)
				if i > 0 && r.Time.After(rows[i-1].Time) {
					t.Errorf("result %d is newer than the one before", i)
				}
			}
			if bytes > 8<<20 {
				t.Errorf("a page has %d bytes", bytes)
			}
			return ids, extent.Total, err
		}
	}
	if pages, rows, _ := read(1000, results(c.ID)); pages != 2 || rows != 1000 {
		t.Errorf("%d large results on %d pages, want 1000 on 2", rows, pages)
	}
	if pages, rows, _ := read(5, results(small.ID)); pages != 3 || rows != 12 {
		t.Errorf("%d small results on %d pages, want 12 on 3", rows, pages)
	}
	channels := func(page listing.Page) (ids []uuid.UUID, total int, err error) {
		rows, extent, err := s.Channels(t.Context(), org.ID, listing.ChannelFilter{Page: page})
		for _, one := range rows {
			ids = append(ids, one.ID)
		}
		return ids, extent.Total, err
	}
	if pages, rows, _ := read(100, channels); pages != 4 || rows != 21 {
		t.Errorf("%d channels on %d pages, want 21 on 4", rows, pages)
	}
}
