package storage_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestBeginLogin(t *testing.T) {
	t.Parallel()

	t.Run("TenFailuresAreFreeThenTheDelayGrows", func(t *testing.T) {
		t.Parallel()
		s, c := newStore(t)
		now := epoch()
		attempt := func() time.Duration {
			t.Helper()
			wait, err := s.BeginLogin(t.Context(), "Ada@example.com")
			if err != nil {
				t.Fatal(err)
			}
			return wait
		}
		for i := range 10 {
			if wait := attempt(); wait != 0 {
				t.Fatalf("attempt %d must wait %s", i, wait)
			}
		}
		for _, delay := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second} {
			if wait := attempt(); wait != delay {
				t.Errorf("wait %s, want %s", wait, delay)
			}
			if wait := attempt(); wait != delay {
				t.Errorf("a refused attempt counts: wait %s, want %s", wait, delay)
			}
			now = now.Add(delay)
			c.set(now)
			if wait := attempt(); wait != 0 {
				t.Errorf("after %s: wait %s", delay, wait)
			}
		}
		for attempt() < 8*time.Minute {
			now = now.Add(attempt())
			c.set(now)
			attempt()
		}
		c.set(now.Add(15 * time.Minute))
		if wait := attempt(); wait != 0 {
			t.Errorf("wait %s after a quiet quarter of an hour", wait)
		}
		if wait := attempt(); wait != 0 {
			t.Errorf("the count was not reset: wait %s", wait)
		}
	})

	t.Run("SuccessResetsTheCount", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		for range 30 {
			if wait, err := s.BeginLogin(t.Context(), "ada@example.com"); wait != 0 || err != nil {
				t.Fatalf("wait %s (%v)", wait, err)
			}
			if err := s.EndLogin(t.Context(), "ADA@example.com"); err != nil {
				t.Fatal(err)
			}
		}
	})

	t.Run("ConcurrentAttemptsDoNotExceedTheLimit", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		var free atomic.Int64
		var group sync.WaitGroup
		for range 50 {
			group.Go(func() {
				wait, err := s.BeginLogin(t.Context(), "ada@example.com")
				if err != nil {
					t.Error(err)
				}
				if wait == 0 {
					free.Add(1)
				}
			})
		}
		group.Wait()
		if n := free.Load(); n != 10 {
			t.Errorf("%d attempts went on, want 10", n)
		}
	})
}
