// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/storage"
)

// sessionData is the data of a session of a user.
func sessionData(tb testing.TB, user uuid.UUID, id uuid.UUID, more string) []byte {
	tb.Helper()
	data, err := json.Marshal(account.SessionData{Deadline: epoch().AddDate(0, 1, 0), Values: map[string]string{
		account.SessionUser: user.String(), account.SessionID: id.String(), account.SessionAddress: "192.0.2.1", account.SessionAgent: "Firefox",
		"more": more,
	}})
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// sessionTest keeps sessions in a database of its own.
type sessionTest struct {
	*testing.T
	store *storage.Store
	clock *clock
}

func newSessionTest(t *testing.T) *sessionTest {
	t.Helper()
	store, clock := newStore(t)
	return &sessionTest{t, store, clock}
}

func (s *sessionTest) commit(token string, data []byte, expiry time.Time) {
	s.Helper()
	if err := s.store.Sessions().CommitCtx(s.Context(), token, data, expiry); err != nil {
		s.Fatal(err)
	}
}

func (s *sessionTest) found(token string) (string, bool) {
	s.Helper()
	data, ok, err := s.store.Sessions().FindCtx(s.Context(), token)
	if err != nil {
		s.Fatal(err)
	}
	return string(data), ok
}

func TestSessions(t *testing.T) {
	t.Parallel()
	week := epoch().AddDate(0, 0, 7)

	t.Run("AStoredSessionIsFoundUntilItExpires", func(t *testing.T) {
		t.Parallel()
		s := newSessionTest(t)
		_, user := newOrg(t, s.store)
		data := sessionData(t, user.ID, uuid.New(), "")
		s.commit("expires", data, epoch().Add(time.Hour))
		if got, ok := s.found("expires"); !ok || got != string(data) {
			t.Errorf("found %q, %v", got, ok)
		}
		s.clock.Set(epoch().Add(time.Hour))
		defer s.clock.Set(epoch())
		if _, ok := s.found("expires"); ok {
			t.Error("found after its end")
		}
	})

	t.Run("AnEndedSessionIsNotStoredAgainByARequestThatStillRuns", func(t *testing.T) {
		t.Parallel()
		s := newSessionTest(t)
		_, user := newOrg(t, s.store)
		data := sessionData(t, user.ID, uuid.New(), "")
		s.commit("ended", data, week)
		if err := s.store.Sessions().DeleteCtx(t.Context(), "ended"); err != nil {
			t.Fatal(err)
		}
		s.commit("ended", sessionData(t, user.ID, uuid.New(), "later"), week)
		if got, ok := s.found("ended"); ok {
			t.Errorf("found %q", got)
		}
	})

	t.Run("RequestsWithinAMinuteWriteItOnce", func(t *testing.T) {
		t.Parallel()
		s := newSessionTest(t)
		_, user := newOrg(t, s.store)
		data := sessionData(t, user.ID, uuid.New(), "")
		// Who wrote the row last, and who locked it: a lock is a write, too.
		written := func() (row struct{ Xmin, Xmax string }) {
			t.Helper()
			if err := s.store.DB().NewRaw("SELECT xmin::text, xmax::text FROM sessions WHERE token = 'seen'").Scan(t.Context(), &row); err != nil {
				t.Fatal(err)
			}
			return row
		}
		s.commit("seen", data, week)
		first := written()
		s.commit("seen", data, week.Add(59*time.Second))
		if again := written(); again != first {
			t.Errorf("the row was %+v and is %+v", first, again)
		}
		s.commit("seen", data, week.Add(time.Minute))
		later := written()
		if later.Xmin == first.Xmin {
			t.Error("a minute later, the session was not seen")
		}
		s.commit("seen", sessionData(t, user.ID, uuid.New(), "new"), week.Add(time.Minute))
		if changed := written(); changed.Xmin == later.Xmin {
			t.Error("new data were not stored")
		}
	})

	t.Run("HousekeepingDeletesWhatHasEnded", func(t *testing.T) {
		t.Parallel()
		s := newSessionTest(t)
		_, user := newOrg(t, s.store)
		s.commit("old", sessionData(t, user.ID, uuid.New(), ""), epoch().Add(time.Minute))
		s.commit("young", sessionData(t, user.ID, uuid.New(), ""), week)
		if err := s.store.DropExpired(t.Context(), epoch().Add(2*time.Hour), storage.DefaultRetention()); err != nil {
			t.Fatal(err)
		}
		var tokens []string
		err := s.store.DB().NewRaw("SELECT token FROM sessions WHERE token IN ('old', 'young')").Scan(t.Context(), &tokens)
		if err != nil || len(tokens) != 1 || tokens[0] != "young" {
			t.Errorf("left %v, %v", tokens, err)
		}
	})

	t.Run("AUserListsAndEndsSessions", func(t *testing.T) {
		t.Parallel()
		s := newSessionTest(t)
		_, user := newOrg(t, s.store)
		_, other := newOrg(t, s.store)
		first, second := uuid.New(), uuid.New()
		s.commit("first", sessionData(t, user.ID, first, ""), week)
		s.clock.Set(epoch().Add(time.Second))
		s.commit("second", sessionData(t, user.ID, second, ""), week)
		s.clock.Set(epoch())
		listed, total, err := s.store.UserSessions(t.Context(), user.ID, listing.Page{Limit: 10})
		if err != nil || total != 2 || listed[0].ID != second || listed[1].ID != first || listed[0].Address != "192.0.2.1" {
			t.Fatalf("listed %+v, %d, %v", listed, total, err)
		}
		if err := s.store.EndSession(t.Context(), other.ID, first); vigil.ErrorCode(err) != vigil.CodeNotFound {
			t.Errorf("another user ends it: %v", err)
		}
		if err := s.store.EndSession(t.Context(), user.ID, first); err != nil {
			t.Fatal(err)
		}
		if _, ok := s.found("first"); ok {
			t.Error("the ended session is found")
		}
		if _, ok := s.found("second"); !ok {
			t.Error("the other session is gone")
		}
	})

	t.Run("ANewPasswordEndsEverySession", func(t *testing.T) {
		t.Parallel()
		s := newSessionTest(t)
		_, user := newOrg(t, s.store)
		s.commit("before the password", sessionData(t, user.ID, uuid.New(), ""), week)
		changed, err := s.store.SetPassword(t.Context(), user.ID, "", "hash")
		if err != nil || changed.SessionVersion != user.SessionVersion+1 {
			t.Fatalf("version %d, %v", changed.SessionVersion, err)
		}
		if _, ok := s.found("before the password"); ok {
			t.Error("the session is found")
		}
	})

	t.Run("SigningOutEverywhereEndsEverySessionAndToken", func(t *testing.T) {
		t.Parallel()
		s := newSessionTest(t)
		_, user := newOrg(t, s.store)
		s.commit("everywhere", sessionData(t, user.ID, uuid.New(), ""), week)
		if err := s.store.EndSessions(t.Context(), user.ID); err != nil {
			t.Fatal(err)
		}
		if _, ok := s.found("everywhere"); ok {
			t.Error("the session is found")
		}
		now, err := s.store.User(t.Context(), user.ID)
		if err != nil || now.SessionVersion != user.SessionVersion+1 {
			t.Errorf("version %d, %v", now.SessionVersion, err)
		}
	})

	t.Run("ASessionOfAUserWhoIsGoneIsNotStored", func(t *testing.T) {
		t.Parallel()
		s := newSessionTest(t)
		s.commit("gone", sessionData(t, uuid.New(), uuid.New(), ""), week)
		if _, ok := s.found("gone"); ok {
			t.Error("the session is found")
		}
	})
}
