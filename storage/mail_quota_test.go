// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/storage"
)

func TestTakeMail(t *testing.T) {
	t.Parallel()
	s, c := newStore(t)
	hourly := func(name string, limit int64) account.MailQuota {
		return account.MailQuota{Name: name, Limit: limit, Window: time.Hour}
	}
	take := func(t *testing.T, quotas ...account.MailQuota) time.Duration {
		t.Helper()
		wait, err := s.TakeMail(t.Context(), quotas...)
		if err != nil {
			t.Fatal(err)
		}
		return wait
	}

	var admitted atomic.Int64
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			quotas := []account.MailQuota{hourly("a", 100), hourly("b", 7)}
			if i%2 == 0 { // in any order
				quotas[0], quotas[1] = quotas[1], quotas[0]
			}
			wait, err := s.TakeMail(t.Context(), quotas...)
			if err != nil {
				t.Error(err)
			}
			if wait == 0 {
				admitted.Add(1)
			}
		})
	}
	group.Wait()
	if n := admitted.Load(); n != 7 {
		t.Errorf("%d mails admitted at once, want 7", n)
	}
	c.Set(epoch().Add(20 * time.Minute))
	if wait := take(t, hourly("a", 100), hourly("b", 7)); wait != 40*time.Minute {
		t.Errorf("wait %s", wait)
	}
	for range 93 { // refused mails count nowhere
		if wait := take(t, hourly("a", 100)); wait != 0 {
			t.Fatalf("wait %s", wait)
		}
	}
	if wait := take(t, hourly("a", 100)); wait == 0 {
		t.Error("the 101st mail is admitted")
	}
	c.Set(epoch().Add(time.Hour))
	if wait := take(t, hourly("a", 100), hourly("b", 7)); wait != 0 {
		t.Errorf("in the next window: wait %s", wait)
	}
	keep := storage.DefaultRetention()
	c.Set(epoch().Add(26 * time.Hour))
	if err := s.DropExpired(t.Context(), epoch().Add(26*time.Hour), keep); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := s.DB().NewRaw("SELECT count(*) FROM mail_quotas").Scan(t.Context(), &left); err != nil || left != 0 {
		t.Errorf("%d quotas are left (%v)", left, err)
	}
}
