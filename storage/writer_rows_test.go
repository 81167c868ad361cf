// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"sync"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage"
)

func TestRowsOfAWriter(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)

	t.Run("ThatFillAGroupDoNotWait", func(t *testing.T) {
		t.Parallel()
		const rows = 8
		c := newCheck(t, s, draft(org.ID, newark))
		w := newWriter(t, s, storage.WriterOptions{MaxRows: rows})
		var waiting sync.WaitGroup
		for i := range rows {
			waiting.Go(func() {
				row := vigil.ResultRow{Result: ok(c, newark, epoch().Add(time.Duration(i)*time.Minute)), MaxDelay: time.Hour}
				if _, err := w.Write(t.Context(), row); err != nil {
					t.Error(err)
				}
			})
		}
		waiting.Wait()
	})

	t.Run("HaveTheMetadataThatReadersGet", func(t *testing.T) {
		t.Parallel()
		c := newCheck(t, s, draft(org.ID, newark))
		w := newWriter(t, s, storage.WriterOptions{})
		for i, tree := range []any{
			nil, true, 1.5, "text", []any{}, map[string]any{}, // as decoded JSON has them
			"a\x00b", "a\xffb", []any{map[string]any{"deep": "a\x00"}}, map[string]any{"a\xff": 1.0}, // not clean
			7, []string{"a"}, []any(nil), map[string]any(nil), struct{ A int }{1}, jsonNumber("2"), // of other types
		} {
			r := ok(c, newark, epoch().Add(time.Duration(i)*time.Minute))
			r.Metadata = map[string]any{"tree": tree}
			got, err := w.Write(t.Context(), vigil.ResultRow{Result: r})
			if err != nil {
				t.Fatal(err)
			}
			stored, err := s.LatestResults(t.Context(), c.ID, newark, 1)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, got.Result.Metadata, stored[0].Metadata)
		}
	})
}
