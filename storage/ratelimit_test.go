// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/storage"
)

func lease(tb testing.TB, s *storage.Store, org uuid.UUID, want, limit int64) account.RateLease {
	tb.Helper()
	l, err := s.LeaseRate(tb.Context(), org, want, limit)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func TestLeaseRate(t *testing.T) {
	t.Parallel()

	t.Run("WindowAllowsItsLimitAndNoMore", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		org := uuid.New()
		l := lease(t, s, org, 16, 20)
		if l.Granted != 16 || l.Left != 4 || l.Ends <= 0 || l.Ends > account.RateWindow {
			t.Errorf("first %+v", l)
		}
		if l = lease(t, s, org, 16, 20); l.Granted != 4 || l.Left != 0 {
			t.Errorf("second %+v", l)
		}
		if l = lease(t, s, org, 16, 20); l.Granted != 0 || l.Left != 0 || l.Ends <= 0 {
			t.Errorf("third %+v", l)
		}
		if l = lease(t, s, uuid.New(), 1, 20); l.Granted != 1 {
			t.Errorf("another organization %+v", l)
		}
	})

	t.Run("LowerLimitGrantsNothing", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		org := uuid.New()
		lease(t, s, org, 16, 20)
		if l := lease(t, s, org, 16, 10); l.Granted != 0 || l.Left != 0 {
			t.Errorf("lease %+v", l)
		}
	})

	t.Run("NewWindowStartsAfterTheOld", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		org := uuid.New()
		lease(t, s, org, 20, 20)
		_, err := s.DB().NewRaw("UPDATE rate_windows SET started = started - interval '1 minute' WHERE org_id = ?", org).Exec(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if l := lease(t, s, org, 5, 20); l.Granted != 5 || l.Left != 15 || l.Ends < account.RateWindow-10*time.Second {
			t.Errorf("lease %+v", l)
		}
	})

	t.Run("ConcurrentLeasesAddUpToTheLimit", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		org := uuid.New()
		var granted atomic.Int64
		var group sync.WaitGroup
		for range 40 {
			group.Go(func() {
				l, err := s.LeaseRate(t.Context(), org, 7, 100)
				if err != nil {
					t.Error(err)
				}
				granted.Add(l.Granted)
			})
		}
		group.Wait()
		if n := granted.Load(); n != 100 {
			t.Errorf("%d granted, want 100", n)
		}
	})
}
