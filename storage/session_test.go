package storage_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"vigil"
	"vigil/storage"
)

// sessionData is the data of a session of a user.
func sessionData(tb testing.TB, user uuid.UUID, id uuid.UUID, more string) []byte {
	tb.Helper()
	data, err := json.Marshal(vigil.SessionData{Deadline: epoch().AddDate(0, 1, 0), Values: map[string]string{
		vigil.SessionUser: user.String(), vigil.SessionID: id.String(), vigil.SessionAddress: "192.0.2.1", vigil.SessionAgent: "Firefox",
		"more": more,
	}})
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func TestSessions(t *testing.T) {
	t.Parallel()
	store, clock := newStore(t)
	ctx, sessions := t.Context(), store.Sessions()
	commit := func(t *testing.T, token string, data []byte, expiry time.Time) {
		t.Helper()
		if err := sessions.CommitCtx(ctx, token, data, expiry); err != nil {
			t.Fatal(err)
		}
	}
	found := func(t *testing.T, token string) (string, bool) {
		t.Helper()
		data, ok, err := sessions.FindCtx(ctx, token)
		if err != nil {
			t.Fatal(err)
		}
		return string(data), ok
	}
	_, user := newOrg(t, store)
	week := epoch().AddDate(0, 0, 7)

	t.Run("AStoredSessionIsFoundUntilItExpires", func(t *testing.T) {
		data := sessionData(t, user.ID, uuid.New(), "")
		commit(t, "expires", data, epoch().Add(time.Hour))
		if got, ok := found(t, "expires"); !ok || got != string(data) {
			t.Errorf("found %q, %v", got, ok)
		}
		clock.set(epoch().Add(time.Hour))
		defer clock.set(epoch())
		if _, ok := found(t, "expires"); ok {
			t.Error("found after its end")
		}
	})

	t.Run("AnEndedSessionIsNotStoredAgainByARequestThatStillRuns", func(t *testing.T) {
		data := sessionData(t, user.ID, uuid.New(), "")
		commit(t, "ended", data, week)
		if err := sessions.DeleteCtx(ctx, "ended"); err != nil {
			t.Fatal(err)
		}
		commit(t, "ended", sessionData(t, user.ID, uuid.New(), "later"), week)
		if got, ok := found(t, "ended"); ok {
			t.Errorf("found %q", got)
		}
	})

	t.Run("HousekeepingDeletesWhatHasEnded", func(t *testing.T) {
		commit(t, "old", sessionData(t, user.ID, uuid.New(), ""), epoch().Add(time.Minute))
		commit(t, "young", sessionData(t, user.ID, uuid.New(), ""), week)
		if err := store.DropExpired(ctx, epoch().Add(2*time.Hour), storage.DefaultRetention()); err != nil {
			t.Fatal(err)
		}
		var tokens []string
		err := store.DB().NewRaw("SELECT token FROM sessions WHERE token IN ('old', 'young')").Scan(ctx, &tokens)
		if err != nil || len(tokens) != 1 || tokens[0] != "young" {
			t.Errorf("left %v, %v", tokens, err)
		}
	})

	t.Run("AUserListsAndEndsSessions", func(t *testing.T) {
		_, user := newOrg(t, store)
		_, other := newOrg(t, store)
		first, second := uuid.New(), uuid.New()
		commit(t, "first", sessionData(t, user.ID, first, ""), week)
		clock.set(epoch().Add(time.Second))
		commit(t, "second", sessionData(t, user.ID, second, ""), week)
		clock.set(epoch())
		listed, total, err := store.UserSessions(ctx, user.ID, vigil.Page{Limit: 10})
		if err != nil || total != 2 || listed[0].ID != second || listed[1].ID != first || listed[0].Address != "192.0.2.1" {
			t.Fatalf("listed %+v, %d, %v", listed, total, err)
		}
		if err := store.EndSession(ctx, other.ID, first); vigil.ErrorCode(err) != vigil.CodeNotFound {
			t.Errorf("another user ends it: %v", err)
		}
		if err := store.EndSession(ctx, user.ID, first); err != nil {
			t.Fatal(err)
		}
		if _, ok := found(t, "first"); ok {
			t.Error("the ended session is found")
		}
		if _, ok := found(t, "second"); !ok {
			t.Error("the other session is gone")
		}
	})

	t.Run("ANewPasswordEndsEverySession", func(t *testing.T) {
		_, user := newOrg(t, store)
		commit(t, "before the password", sessionData(t, user.ID, uuid.New(), ""), week)
		changed, err := store.SetPassword(ctx, user.ID, "", "hash")
		if err != nil || changed.SessionVersion != user.SessionVersion+1 {
			t.Fatalf("version %d, %v", changed.SessionVersion, err)
		}
		if _, ok := found(t, "before the password"); ok {
			t.Error("the session is found")
		}
	})

	t.Run("SigningOutEverywhereEndsEverySessionAndToken", func(t *testing.T) {
		_, user := newOrg(t, store)
		commit(t, "everywhere", sessionData(t, user.ID, uuid.New(), ""), week)
		if err := store.EndSessions(ctx, user.ID); err != nil {
			t.Fatal(err)
		}
		if _, ok := found(t, "everywhere"); ok {
			t.Error("the session is found")
		}
		now, err := store.User(ctx, user.ID)
		if err != nil || now.SessionVersion != user.SessionVersion+1 {
			t.Errorf("version %d, %v", now.SessionVersion, err)
		}
	})

	t.Run("ASessionOfAUserWhoIsGoneIsNotStored", func(t *testing.T) {
		commit(t, "gone", sessionData(t, uuid.New(), uuid.New(), ""), week)
		if _, ok := found(t, "gone"); ok {
			t.Error("the session is found")
		}
	})
}
