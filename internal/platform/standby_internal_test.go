// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/internal/statuspage"
	"github.com/vigil-monitor/vigil/storage"
)

// slugs is a store that answers with one slug, or an error.
type slugs struct {
	statuspage.Store

	slug string
	err  error
}

func (s slugs) PublicSlug(context.Context, uuid.UUID) (string, error) { return s.slug, s.err }

// TestStatusPagesAreReadNearby holds where status pages are read: from the standby where that is chosen, and from the database
// after a failure that is none of the page itself.
func TestStatusPagesAreReadNearby(t *testing.T) {
	t.Parallel()
	standby, alone := storage.Reading{Standby: true}, storage.Reading{Standby: true, Alone: true}
	away := &vigil.Error{Code: vigil.CodeUnavailable, Message: "The database does not answer."}
	for fact, test := range map[string]struct {
		choice     storage.Reading
		copied     error
		slug, from string
		err        error
	}{
		"Standby":            {standby, nil, "copied", api.FromStandby, nil},
		"Primary":            {storage.Reading{}, nil, "stored", api.FromPrimary, nil},
		"StandbyFails":       {standby, away, "stored", api.FromPrimaryAgain, nil},
		"NoSuchPage":         {standby, vigil.NotFound("status page"), "", api.FromStandby, vigil.NotFound("status page")},
		"Alone":              {alone, nil, "copied", api.FromStandbyAlone, nil},
		"AloneAndItFails":    {alone, away, "", api.FromStandbyAlone, away},
		"ItsQueryIsCanceled": {standby, errors.New("canceling statement due to conflict with recovery"), "stored", api.FromPrimaryAgain, nil},
	} {
		t.Run(fact, func(t *testing.T) {
			t.Parallel()
			copied := slugs{slug: "copied", err: test.copied}
			if test.copied != nil {
				copied.slug = ""
			}
			from := ""
			store := &nearestStore{nearby[statuspage.Store]{
				store: slugs{slug: "stored"}, copied: copied,
				choose:   func(context.Context) storage.Reading { return test.choice },
				answered: func(_ context.Context, at string) { from = at },
			}}
			slug, err := store.PublicSlug(t.Context(), uuid.New())
			if slug != test.slug || from != test.from || vigil.ErrorCode(err) != vigil.ErrorCode(test.err) || (err == nil) != (test.err == nil) {
				t.Errorf("%q from %q, %v; want %q from %q, %v", slug, from, err, test.slug, test.from, test.err)
			}
		})
	}
}

// sessionsAt is a store of sessions that answers with one, or an error.
type sessionsAt struct {
	scs.CtxStore

	data   string
	err    error
	stored *int
}

func (s sessionsAt) FindCtx(context.Context, string) ([]byte, bool, error) {
	return []byte(s.data), s.err == nil, s.err
}

func (s sessionsAt) CommitCtx(context.Context, string, []byte, time.Time) error {
	*s.stored++
	return nil
}

// TestSessionsAreReadNearby holds where sessions are read, and that none is stored while the database is away.
func TestSessionsAreReadNearby(t *testing.T) {
	t.Parallel()
	away := errors.New("away")
	for fact, test := range map[string]struct {
		choice storage.Reading
		copied error
		data   string
		err    error
		stored int
	}{
		"Standby":         {storage.Reading{Standby: true}, nil, "copied", nil, 1},
		"Primary":         {storage.Reading{}, nil, "stored", nil, 1},
		"StandbyFails":    {storage.Reading{Standby: true}, away, "stored", nil, 1},
		"Alone":           {storage.Reading{Standby: true, Alone: true}, nil, "copied", nil, 0},
		"AloneAndItFails": {storage.Reading{Standby: true, Alone: true}, away, "copied", away, 0},
	} {
		t.Run(fact, func(t *testing.T) {
			t.Parallel()
			stored := 0
			database := sessionsAt{data: "stored", stored: &stored}
			s := &nearestSessions{database, nearby[scs.CtxStore]{
				store: database, copied: sessionsAt{data: "copied", err: test.copied},
				choose: func(context.Context) storage.Reading { return test.choice },
			}}
			data, found, err := s.FindCtx(t.Context(), "token")
			if string(data) != test.data || found != (test.err == nil) || !errors.Is(err, test.err) {
				t.Errorf("%q, %t, %v; want %q, %v", data, found, err, test.data, test.err)
			}
			if err := s.CommitCtx(t.Context(), "token", nil, time.Time{}); err != nil || stored != test.stored {
				t.Errorf("%v, %d stored; want %d", err, stored, test.stored)
			}
		})
	}
}
