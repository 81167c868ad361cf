// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// TestProbingWhileTheDatabaseIsBusy tests that results and leases are stored while other
// callers use every connection of the pool.
func TestProbingWhileTheDatabaseIsBusy(t *testing.T) {
	t.Parallel()
	const conns = 4
	s := storagetest.New(t, func(o *storage.Options) { o.MaxConns = conns })
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark))
	w := newWriter(t, s, storage.WriterOptions{})
	for range conns {
		conn, err := s.DB().Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := w.Write(ctx, vigil.ResultRow{Result: ok(c, newark, c.CreatedAt)}); err != nil {
		t.Errorf("a result is not stored: %v", err)
	}
	if _, err := s.RenewLease(ctx, fleet.Renewal{Worker: "w1", Regions: []string{newark}}); err != nil {
		t.Errorf("a lease is not renewed: %v", err)
	}
}
