// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

func TestConnectionLimits(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	for name, want := range map[string]string{
		"statement_timeout": "20s", "lock_timeout": "5s", "idle_in_transaction_session_timeout": "5s",
		"client_connection_check_interval": "5s", "application_name": "vigil", "TimeZone": "GMT",
	} {
		var got string
		if err := s.DB().NewRaw("SELECT current_setting(?)", name).Scan(t.Context(), &got); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if s.Pooled() {
		t.Error("a direct connection is taken for a proxy")
	}

	t.Run("OfTheAddressStay", func(t *testing.T) {
		t.Parallel()
		other := storagetest.Open(t, storagetest.DSN(t)+"&lock_timeout=1234")
		var got string
		if err := other.DB().NewRaw("SELECT current_setting('lock_timeout')").Scan(t.Context(), &got); err != nil || got != "1234ms" {
			t.Errorf("lock_timeout is %q, %v", got, err)
		}
	})
}

// TestServerThatDoesNotAnswer tests a network that swallows everything.
func TestServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	link, dsn := newLink(t, storagetest.DSN(t), 0)
	const conns = 3
	s := storagetest.Open(t, dsn, func(o *storage.Options) { o.MaxConns = conns })
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark))
	w := newWriter(t, s, storage.WriterOptions{})
	write(t, w, ok(c, newark, c.CreatedAt))

	link.swallowing.Store(true)
	began := time.Now()
	var wg sync.WaitGroup
	for range 2 * conns { // more than the pool has
		wg.Go(func() {
			_, err := s.Clock(context.WithoutCancel(t.Context()))
			wantCode(t, err, vigil.CodeUnavailable)
		})
	}
	stored := make(chan error, 1)
	go func() {
		_, err := w.Write(t.Context(), vigil.ResultRow{Result: ok(c, newark, c.CreatedAt.Add(time.Minute))})
		stored <- err
	}()
	wg.Wait()
	if took := time.Since(began); took > 25*time.Second {
		t.Errorf("calls without a deadline ended after %v", took)
	}
	link.swallowing.Store(false)
	began = time.Now()
	eventually(t, "the database is reached again", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := s.Clock(ctx)
		return err == nil
	})
	if err := <-stored; err != nil {
		t.Errorf("a result that waited: %v", err)
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it worked again after %v", took)
	}
}

func TestServerThatRefuses(t *testing.T) {
	t.Parallel()
	began := time.Now()
	if _, err := storage.Open(t.Context(), "postgres://user@127.0.0.1:1/db", storage.Options{}); err == nil {
		t.Error("it opened")
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("a refusal took %v", took)
	}
}

// TestLocksOfALostHost tests that the server ends the transaction of a host that it does
// not hear from, so that its locks do not last.
func TestLocksOfALostHost(t *testing.T) {
	t.Parallel()
	dsn := storagetest.DSN(t)
	s := storagetest.Open(t, dsn)
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark))
	link, through := newLink(t, dsn, 0)
	locker{t, storagetest.Open(t, through), true}.lock("SELECT FROM check_regions WHERE check_id IN (?) FOR UPDATE", c)
	link.swallowing.Store(true)

	began := time.Now()
	w := newWriter(t, s, storage.WriterOptions{})
	if _, err := w.Write(t.Context(), vigil.ResultRow{Result: ok(c, newark, c.CreatedAt)}); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the lock of a lost host lasted %v", took)
	} else {
		t.Logf("the lock of a lost host lasted %v", took)
	}
}

// lock locks the loops of checks until the returned function is called.
func lock(tb testing.TB, s *storage.Store, checks ...vigil.Check) (unlock func()) {
	tb.Helper()
	return locker{tb: tb, s: s}.lock("SELECT FROM check_regions WHERE check_id IN (?) FOR UPDATE", checks...)
}

// locker opens transactions that hold locks.
type locker struct {
	tb testing.TB
	s  *storage.Store
	// limited: the server ends them when they are idle.
	limited bool
}

// lock runs a statement with the ids of checks in a transaction that stays open until the
// returned function is called.
func (l locker) lock(sql string, checks ...vigil.Check) (unlock func()) {
	l.tb.Helper()
	tx, err := l.s.DB().BeginTx(l.tb.Context(), nil)
	if err != nil {
		l.tb.Fatal(err)
	}
	var args []any
	if len(checks) > 0 {
		ids := make([]string, len(checks))
		for i, c := range checks {
			ids[i] = c.ID.String()
		}
		args = append(args, bun.List(ids))
	}
	unlock = sync.OnceFunc(func() { _ = tx.Rollback() })
	l.tb.Cleanup(unlock)
	if !l.limited {
		if _, err := tx.ExecContext(l.tb.Context(), "SET LOCAL idle_in_transaction_session_timeout = 0"); err != nil {
			l.tb.Fatal(err)
		}
	}
	if _, err := tx.NewRaw(sql, args...).Exec(l.tb.Context()); err != nil {
		l.tb.Fatal(err)
	}
	return unlock
}
