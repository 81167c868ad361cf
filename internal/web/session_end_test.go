// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/account"
)

// TestSessionsEndWithTime holds that a session ends after 7 days without use, and after 30
// days in all.
func TestSessionsEndWithTime(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	_, email := s.signUp(t)
	const day = 24 * time.Hour
	about := func(got time.Time, want time.Duration) bool {
		return got.After(time.Now().Add(want-time.Hour)) && got.Before(time.Now().Add(want+time.Hour))
	}

	b := s.signIn(t, email, password)
	var expires time.Time
	var raw []byte
	row := s.store.DB().NewRaw("SELECT expires_at, data FROM sessions WHERE ended_at IS NULL ORDER BY created_at DESC LIMIT 1")
	if err := row.Scan(t.Context(), &expires, &raw); err != nil {
		t.Fatal(err)
	}
	var data account.SessionData
	if err := json.Unmarshal(raw, &data); err != nil || !about(expires, 7*day) || !about(data.Deadline, 30*day) {
		t.Errorf("it ends at %v without use and at %v in all (%v)", expires, data.Deadline, err)
	}
	b.get(t, http.StatusOK, "/app/help")
	s.change(t, "UPDATE sessions SET expires_at = now() - interval '1 second'")
	b.get(t, http.StatusSeeOther, "/app/help")

	b = s.signIn(t, email, password)
	s.change(t, `UPDATE sessions SET expires_at = now() + interval '30 minutes', data = convert_to(jsonb_set(
		convert_from(data, 'utf8')::jsonb, '{deadline}', to_jsonb(now() + interval '40 minutes'))::text, 'utf8') WHERE expires_at > now()`)
	b.get(t, http.StatusOK, "/app/help")
	row = s.store.DB().NewRaw("SELECT max(expires_at) FROM sessions WHERE ended_at IS NULL")
	if err := row.Scan(t.Context(), &expires); err != nil || expires.Before(time.Now().Add(35*time.Minute)) || about(expires, 7*day) {
		t.Errorf("use makes it last until %v, past its end in all (%v)", expires, err)
	}
}

func (s *site) change(t *testing.T, statement string) {
	t.Helper()
	if _, err := s.store.DB().NewRaw(statement).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}
