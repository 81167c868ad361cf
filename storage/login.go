package storage

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"
)

// The limit of failed logins for one email address: freeFailures within loginWindow cost
// nothing. After that each failure delays the next attempt, by minLoginDelay at first
// and then by twice the delay before, up to loginWindow.
const (
	loginWindow   = 15 * time.Minute
	freeFailures  = 10
	minLoginDelay = 2 * time.Second
)

// loginAttempts are the failed logins of an address: their number and the times of the
// first and the last.
type loginAttempts struct {
	Failures int       `bun:"failures"`
	FirstAt  time.Time `bun:"first_at"`
	LastAt   time.Time `bun:"last_at"`
}

// BeginLogin counts a login attempt as a failure in advance, so that concurrent attempts
// cannot exceed the limit; EndLogin resets the count after a correct password. It
// returns how long the client must wait before it may try, zero when it may try now. An
// address without an account is counted in the same way, so that the answer does not
// reveal which addresses have one.
func (s *Store) BeginLogin(ctx context.Context, email string) (wait time.Duration, err error) {
	now, address := s.instant(), strings.ToLower(email)
	err = s.inTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewRaw("INSERT INTO login_attempts (address, failures, first_at, last_at) VALUES (?, 0, ?, ?) ON CONFLICT DO NOTHING",
			address, now, now).Exec(ctx)
		if err != nil {
			return fmt.Errorf("insert the count: %w", err)
		}
		var counted loginAttempts
		err = tx.NewRaw("SELECT failures, first_at, last_at FROM login_attempts WHERE address = ? FOR UPDATE", address).Scan(ctx, &counted)
		if err != nil {
			return fmt.Errorf("read the count: %w", err)
		}
		if counted, wait = counted.attempt(now); wait > 0 {
			return nil
		}
		_, err = tx.NewRaw("UPDATE login_attempts SET failures = ?, first_at = ?, last_at = ? WHERE address = ?",
			counted.Failures, counted.FirstAt, counted.LastAt, address).Exec(ctx)
		return err
	})
	return wait, wrap("count a login", err)
}

// attempt counts one more failure, or returns how long to wait before the next attempt.
func (a loginAttempts) attempt(now time.Time) (loginAttempts, time.Duration) {
	since := a.FirstAt
	if a.Failures >= freeFailures {
		since = a.LastAt
	}
	if a.Failures == 0 || !now.Before(since.Add(loginWindow)) {
		return loginAttempts{Failures: 1, FirstAt: now, LastAt: now}, 0
	}
	if a.Failures >= freeFailures {
		delay := loginWindow
		if doublings := a.Failures - freeFailures; doublings < 10 {
			delay = min(delay, minLoginDelay<<doublings)
		}
		if wait := a.LastAt.Add(delay).Sub(now); wait > 0 {
			return a, wait
		}
	}
	a.Failures++
	a.LastAt = now
	return a, 0
}

// EndLogin resets the failures of an address after a login with the correct password.
func (s *Store) EndLogin(ctx context.Context, email string) error {
	_, err := s.db.NewRaw("DELETE FROM login_attempts WHERE address = ?", strings.ToLower(email)).Exec(ctx)
	return wrap("reset failed logins", err)
}
