// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil/storage/pg"
)

// The limit of failed logins for one email address from one origin: freeFailures within
// LoginWindow cost nothing. After that each failure delays the next attempt, by minLoginDelay
// at first and then by twice the delay before, up to LoginWindow. From all networks together
// freeEverywhere cost nothing: a stranger needs many networks to keep out the owner of an
// address, and does not keep out a browser in which the owner has signed in before.
const (
	LoginWindow    = 15 * time.Minute
	freeFailures   = 10
	freeEverywhere = 100
	minLoginDelay  = 2 * time.Second
)

// loginAttempts are the failed logins of an address from an origin: their number and the
// times of the first and the last. An empty origin is that of all networks.
type loginAttempts struct {
	Origin   string    `bun:"origin"`
	Failures int       `bun:"failures"`
	FirstAt  time.Time `bun:"first_at"`
	LastAt   time.Time `bun:"last_at"`
}

// BeginLogin counts a login attempt as a failure in advance, so that concurrent attempts
// cannot exceed the limit; EndLogin resets the count after a correct password. The origin is
// a network, or, beginning with "browser/", a browser that is known to the user. It
// returns how long the client must wait before it may try, zero when it may try now. An
// address without an account is counted in the same way, so that the answer does not
// reveal which addresses have one.
func (s *Store) BeginLogin(ctx context.Context, email, origin string) (wait time.Duration, err error) {
	now, address := s.db.Instant(), strings.ToLower(email)
	origins := []string{origin}
	if !strings.HasPrefix(origin, "browser/") {
		origins = []string{"", origin}
	}
	// Not InTx: the entry of the audit log is about what the password allows, and comes with that.
	err = s.db.Transact(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		for _, one := range origins {
			_, err := tx.NewRaw(`INSERT INTO login_attempts (address, origin, failures, first_at, last_at) VALUES (?, ?, 0, ?, ?)
				ON CONFLICT DO NOTHING`, address, one, now, now).Exec(ctx)
			if err != nil {
				return fmt.Errorf("insert the count: %w", err)
			}
		}
		var counted []loginAttempts
		err := tx.NewRaw(`SELECT origin, failures, first_at, last_at FROM login_attempts WHERE address = ? AND origin = ANY(?)
			ORDER BY origin FOR UPDATE`, address, pgdialect.Array(origins)).Scan(ctx, &counted)
		if err != nil {
			return fmt.Errorf("read the count: %w", err)
		}
		for i := range counted {
			longer := time.Duration(0)
			counted[i], longer = counted[i].attempt(now)
			wait = max(wait, longer)
		}
		if wait > 0 {
			return nil
		}
		for _, one := range counted {
			_, err = tx.NewRaw(`UPDATE login_attempts SET failures = ?failures, first_at = ?first, last_at = ?last
				WHERE address = ?address AND origin = ?origin`,
				pg.Named{
					"failures": one.Failures, "first": one.FirstAt, "last": one.LastAt, "address": address, "origin": one.Origin,
				}).Exec(ctx)
			if err != nil {
				return fmt.Errorf("store the count: %w", err)
			}
		}
		return nil
	})
	return wait, pg.Wrap("count a login", err)
}

// attempt counts one more failure, or returns how long to wait before the next attempt.
func (a loginAttempts) attempt(now time.Time) (loginAttempts, time.Duration) {
	since, free := a.FirstAt, freeFailures
	if a.Origin == "" {
		free = freeEverywhere
	}
	if a.Failures >= free {
		since = a.LastAt
	}
	if a.Failures == 0 || !now.Before(since.Add(LoginWindow)) {
		return loginAttempts{Origin: a.Origin, Failures: 1, FirstAt: now, LastAt: now}, 0
	}
	if a.Failures >= free {
		delay := LoginWindow
		if doublings := a.Failures - free; doublings < 10 {
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

// EndLogin resets the failures of an address from an origin, and from all networks, after a
// login with the correct password.
func (s *Store) EndLogin(ctx context.Context, email, origin string) error {
	err := s.db.Transact(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		for _, one := range []string{"", origin} { // in the order of BeginLogin
			_, err := tx.NewRaw("DELETE FROM login_attempts WHERE address = ? AND origin = ?", strings.ToLower(email), one).Exec(ctx)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return pg.Wrap("reset failed logins", err)
}
