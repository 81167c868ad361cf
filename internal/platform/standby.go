// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"fmt"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/internal/statuspage"
	"github.com/vigil-monitor/vigil/storage"
)

// openStandby opens the copy of the database that the settings name; nil where they name none.
func (p *Platform) openStandby(ctx context.Context) (*storage.Standby, error) {
	if p.settings.ReadDatabaseURL == "" {
		return nil, nil //nolint:nilnil // most platforms have none
	}
	opened, err := storage.OpenStandby(
		ctx,
		p.settings.ReadDatabaseURL,
		p.store,
		p.storeOptions(&p.settings, maxConns, p.secrets.Keyring),
	)
	if err != nil {
		return nil, fmt.Errorf("VIGIL_READ_DATABASE_URL: %w", err)
	}
	p.closeLast(opened)
	return opened, nil
}

// standbyOf returns what the API reads from a copy of the database; nil where there is none.
func (p *Platform) standbyOf(copied *storage.Standby, answered func(context.Context, string)) *api.Standby {
	if copied == nil {
		return nil
	}
	return &api.Standby{
		Stores:   storesOf(copied.Store),
		Choose:   func(ctx context.Context) api.StandbyChoice { return api.StandbyChoice(copied.Choose(ctx)) },
		Answered: answered,
	}
}

// publicStore returns what status pages are read from: a copy of the database, where there is one and it has what was written
// before, else the database.
func (p *Platform) publicStore(copied *storage.Standby, answered func(context.Context, string)) statuspage.Store {
	if copied == nil {
		return p.store
	}
	return &nearestStore{nearby[statuspage.Store]{store: p.store, copied: copied, choose: copied.Choose, answered: answered}}
}

// nearby reads from a copy of the database, or from the database.
type nearby[S any] struct {
	store, copied S
	choose        func(context.Context) storage.Reading
	answered      func(ctx context.Context, from string) // nil: not counted
}

// nearest reads from the copy, and again from the database when that failed.
func nearest[S, T any](ctx context.Context, n *nearby[S], read func(S) (T, error)) (T, error) {
	choice := n.choose(ctx)
	if !choice.Standby {
		n.note(ctx, api.FromPrimary)
		return read(n.store)
	}
	found, err := read(n.copied)
	switch {
	case choice.Alone:
		n.note(ctx, api.FromStandbyAlone)
	case err != nil && vigil.ErrorCode(err) != vigil.CodeNotFound:
		n.note(ctx, api.FromPrimaryAgain)
		return read(n.store)
	default:
		n.note(ctx, api.FromStandby)
	}
	return found, err
}

func (n *nearby[S]) note(ctx context.Context, from string) {
	if n.answered != nil {
		n.answered(ctx, from)
	}
}

// nearestStore reads status pages.
type nearestStore struct{ nearby[statuspage.Store] }

// sessions returns what keeps the sessions of the dashboard. Those of a standby that is chosen are read there; while the
// database is away nothing of a session changes but by its end.
func (p *Platform) sessions(copied *storage.Standby) scs.CtxStore {
	if copied == nil {
		return p.store.Sessions()
	}
	stored := p.store.Sessions()
	return &nearestSessions{stored, nearby[scs.CtxStore]{store: stored, copied: copied.Sessions(), choose: copied.Choose}}
}

// nearestSessions reads sessions, and writes them to the database.
type nearestSessions struct {
	scs.CtxStore

	nearby[scs.CtxStore]
}

// FindCtx reads a session.
func (s *nearestSessions) FindCtx(ctx context.Context, token string) (data []byte, found bool, err error) {
	data, err = nearest(ctx, &s.nearby, func(from scs.CtxStore) (data []byte, err error) {
		data, found, err = from.FindCtx(ctx, token)
		return data, err
	})
	return data, found, err
}

// CommitCtx stores a session. While the database is away it is not stored that the session was used; no one can sign in then.
func (s *nearestSessions) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	if s.choose(ctx).Alone {
		return nil
	}
	return s.CtxStore.CommitCtx(ctx, token, data, expiry)
}

// StatusReport reads a status page.
func (s *nearestStore) StatusReport(ctx context.Context, slug string, since time.Time) (overview.StatusReport, error) {
	return nearest(ctx, &s.nearby, func(from statuspage.Store) (overview.StatusReport, error) { return from.StatusReport(ctx, slug, since) })
}

// StatusDays counts results by day.
func (s *nearestStore) StatusDays(
	ctx context.Context, checks []uuid.UUID, from, to time.Time,
) (map[uuid.UUID]map[time.Time]overview.DayCount, error) {
	return nearest(ctx, &s.nearby, func(store statuspage.Store) (map[uuid.UUID]map[time.Time]overview.DayCount, error) {
		return store.StatusDays(ctx, checks, from, to)
	})
}

// PublicSlug reads the page that shows a check.
func (s *nearestStore) PublicSlug(ctx context.Context, checkID uuid.UUID) (string, error) {
	return nearest(ctx, &s.nearby, func(from statuspage.Store) (string, error) { return from.PublicSlug(ctx, checkID) })
}

// StatusHosts reads the hosts of pages.
func (s *nearestStore) StatusHosts(ctx context.Context) (map[string]string, error) {
	return nearest(ctx, &s.nearby, func(from statuspage.Store) (map[string]string, error) { return from.StatusHosts(ctx) })
}

// StatusLogo reads the logo of a page.
func (s *nearestStore) StatusLogo(ctx context.Context, pageID uuid.UUID) (overview.Logo, error) {
	return nearest(ctx, &s.nearby, func(from statuspage.Store) (overview.Logo, error) { return from.StatusLogo(ctx, pageID) })
}
