// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"fmt"
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
			wait, err := s.BeginLogin(t.Context(), "Ada@example.com", "network/192.0.2.1")
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
			c.Set(now)
			if wait := attempt(); wait != 0 {
				t.Errorf("after %s: wait %s", delay, wait)
			}
		}
		for attempt() < 8*time.Minute {
			now = now.Add(attempt())
			c.Set(now)
			attempt()
		}
		c.Set(now.Add(15 * time.Minute))
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
			if wait, err := s.BeginLogin(t.Context(), "ada@example.com", "network/192.0.2.1"); wait != 0 || err != nil {
				t.Fatalf("wait %s (%v)", wait, err)
			}
			if err := s.EndLogin(t.Context(), "ADA@example.com", "network/192.0.2.1"); err != nil {
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
				wait, err := s.BeginLogin(t.Context(), "ada@example.com", "network/192.0.2.1")
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

	t.Run("AStrangerDoesNotKeepTheOwnerOut", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		attempt := func(origin string) time.Duration {
			t.Helper()
			wait, err := s.BeginLogin(t.Context(), "ada@example.com", origin)
			if err != nil {
				t.Fatal(err)
			}
			return wait
		}
		for range 20 {
			attempt("network/192.0.2.1")
		}
		if attempt("network/192.0.2.1") == 0 {
			t.Fatal("the stranger may go on")
		}
		if wait := attempt("network/198.51.100.1"); wait != 0 {
			t.Errorf("the owner waits %s in another network", wait)
		}
		// Many networks together are held back, and a browser that the owner has used is not.
		for n := range 100 {
			attempt(fmt.Sprintf("network/203.0.113.%d", n))
		}
		if attempt("network/198.51.100.2") == 0 {
			t.Error("any number of networks may go on")
		}
		for range 10 {
			if wait := attempt("browser/1"); wait != 0 {
				t.Fatalf("a known browser waits %s", wait)
			}
		}
		if attempt("browser/1") == 0 {
			t.Error("a known browser may go on for ever")
		}
		if wait := attempt("browser/2"); wait != 0 {
			t.Errorf("another known browser waits %s", wait)
		}
	})
}
