package storage

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"
)

// How failed logins are held back: so many within the window are free, then
// each one makes the next wait, twice as long as the one before.
const (
	loginWindow   = 15 * time.Minute
	freeFailures  = 10
	minLoginDelay = 2 * time.Second
)

// loginAttempts are the failures of an address, of which only the count and
// both ends are kept.
type loginAttempts struct {
	Failures int       `bun:"failures"`
	FirstAt  time.Time `bun:"first_at"`
	LastAt   time.Time `bun:"last_at"`
}

// BeginLogin counts an attempt to log in as a failure until EndLogin takes it
// back, so that attempts at the same time cannot outrun the count. It returns
// how long the caller must wait instead, zero when the attempt may go on. An
// address that no account has is counted like any other.
func (s *Store) BeginLogin(ctx context.Context, email string) (wait time.Duration, err error) {
	now, address := s.instant(), strings.ToLower(email)
	err = s.inTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewRaw("INSERT INTO login_attempts (address, failures, first_at, last_at) VALUES (?, 0, ?, ?) ON CONFLICT DO NOTHING",
			address, now, now).Exec(ctx)
		if err != nil {
			return fmt.Errorf("begin the count: %w", err)
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

// attempt counts one more failure, or says how long to wait before one may be
// made.
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

// EndLogin forgets the failures of an address whose password was right.
func (s *Store) EndLogin(ctx context.Context, email string) error {
	_, err := s.db.NewRaw("DELETE FROM login_attempts WHERE address = ?", strings.ToLower(email)).Exec(ctx)
	return wrap("forget failed logins", err)
}
