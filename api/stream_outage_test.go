// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/storage"
)

// flaky is a database that can be away for the streams. It loses answers rather
// than questions, so that none that was asked before it went away comes after.
type flaky struct {
	*storage.Store
	away *atomic.Bool
	hurt *atomic.Int64 // questions that were not answered
}

func (f flaky) lost() error {
	if !f.away.Load() {
		return nil
	}
	f.hurt.Add(1)
	return &vigil.Error{Code: vigil.CodeUnavailable, Message: "The database does not answer.", Cause: errors.New("connection refused")}
}

func (f flaky) EventsAfter(ctx context.Context, orgID uuid.UUID, after vigil.Position, since time.Time, limit int) ([]vigil.Event, error) {
	events, err := f.Store.EventsAfter(ctx, orgID, after, since, limit)
	if lost := f.lost(); lost != nil {
		return nil, lost
	}
	return events, err
}

func (f flaky) StreamHeads(ctx context.Context, orgs []uuid.UUID) (map[uuid.UUID]vigil.Position, error) {
	heads, err := f.Store.StreamHeads(ctx, orgs)
	if lost := f.lost(); lost != nil {
		return nil, lost
	}
	return heads, err
}

func (f flaky) KeyByHash(ctx context.Context, hash []byte) (account.APIKey, account.Organization, account.User, error) {
	key, org, user, err := f.Store.KeyByHash(ctx, hash)
	if lost := f.lost(); lost != nil {
		return account.APIKey{}, account.Organization{}, account.User{}, lost
	}
	return key, org, user, err
}

// TestStreamOutlivesTheDatabase holds that a stream stays open while no one can
// be asked about events or credentials, and goes on without a loss.
func TestStreamOutlivesTheDatabase(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.clock.Advance(time.Since(b.clock.Now()))
	var away atomic.Bool
	var hurt atomic.Int64
	s := b.streaming(t, api.StreamConfig{}, func(d *api.Deps) {
		lost := flaky{b.store, &away, &hurt}
		d.Stores.Accounts, d.Stores.Events = lost, lost
	})
	a := b.signup(t)
	e := b.episode(t, a)
	f, _ := s.open(t, a, "", "")
	away.Store(true)
	b.clock.Advance(10 * time.Second) // no credential is cached any more
	e.resolve(t, e.open(t))
	eventually(t, "5 reads fail", func() bool { return hurt.Load() > 5 })
	f.quiet(t)
	away.Store(false)
	for _, want := range []string{"incident.triggered", "incident.resolved"} {
		if got := f.must(t); got.event != want {
			t.Errorf("came %+v, want %s", got, want)
		}
	}
	f.quiet(t)
}
