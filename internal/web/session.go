// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/account"
)

// How long a session lasts: without use, and in all.
const (
	sessionIdle     = 7 * 24 * time.Hour
	sessionLifetime = 30 * 24 * time.Hour
)

// maxAgent bounds what is kept of a User-Agent, in bytes.
const maxAgent = 200

// sessions keeps who is signed in, by a cookie.
type sessions struct{ manager *scs.SessionManager }

// newSessions keeps sessions in a store. Under TLS the browser sends the cookie over TLS
// alone, and takes it from no other host (the prefix __Host-).
func newSessions(store scs.CtxStore, secure bool) *sessions {
	m := scs.New()
	m.Store, m.Codec, m.HashTokenInStore = store, sessionCodec{}, true
	m.IdleTimeout, m.Lifetime = sessionIdle, sessionLifetime
	m.Cookie.Name, m.Cookie.Path = "vigil", "/"
	m.Cookie.HttpOnly, m.Cookie.SameSite, m.Cookie.Secure = true, http.SameSiteLaxMode, secure
	if secure {
		m.Cookie.Name = "__Host-vigil"
	}
	return &sessions{manager: m}
}

// of returns whom the session of a request belongs to; ok is false without a user.
func (s *sessions) of(ctx context.Context) (who Identity, ok bool) {
	user, err := uuid.Parse(s.manager.GetString(ctx, account.SessionUser))
	if err != nil {
		return Identity{}, false
	}
	version, err := strconv.ParseInt(s.manager.GetString(ctx, account.SessionVersion), 10, 64)
	return Identity{UserID: user, Version: version}, err == nil
}

// id returns the id of the session of a request, by which its user lists and ends it.
func (s *sessions) id(ctx context.Context) string { return s.manager.GetString(ctx, account.SessionID) }

// begin signs a user in. The session gets another token, so that one that was planted in
// the browser before is worth nothing.
func (s *sessions) begin(ctx context.Context, who Identity, address, agent string) error {
	if err := s.manager.RenewToken(ctx); err != nil {
		return fmt.Errorf("renew the session: %w", err)
	}
	if len(agent) > maxAgent {
		agent = agent[:maxAgent]
	}
	for name, value := range map[string]string{
		account.SessionUser: who.UserID.String(), account.SessionVersion: strconv.FormatInt(who.Version, 10),
		account.SessionID: uuid.NewString(), account.SessionAddress: address,
		account.SessionAgent: strings.ReplaceAll(strings.ToValidUTF8(agent, ""), "\x00", ""),
	} {
		s.manager.Put(ctx, name, value)
	}
	return nil
}

// end signs out.
func (s *sessions) end(ctx context.Context) error { return s.manager.Destroy(ctx) }

// load wraps pages so that they have a session. A store that does not answer is answered
// by failed.
func (s *sessions) load(next http.Handler, failed func(http.ResponseWriter, *http.Request, error)) http.Handler {
	s.manager.ErrorFunc = failed
	return s.manager.LoadAndSave(next)
}

// sessionCodec writes sessions as account.SessionData, whose values are text.
type sessionCodec struct{}

// Encode writes the values of a session, which are all text.
func (sessionCodec) Encode(deadline time.Time, values map[string]any) ([]byte, error) {
	data := account.SessionData{Deadline: deadline, Values: make(map[string]string, len(values))}
	for name, value := range values {
		text, ok := value.(string)
		if !ok {
			return nil, fmt.Errorf("web: the value %s of a session is a %T, not text", name, value)
		}
		data.Values[name] = text
	}
	return json.Marshal(data)
}

// Decode reads the values of a session.
func (sessionCodec) Decode(text []byte) (time.Time, map[string]any, error) {
	var data account.SessionData
	if err := json.Unmarshal(text, &data); err != nil {
		return time.Time{}, nil, fmt.Errorf("web: read a session: %w", err)
	}
	values := make(map[string]any, len(data.Values))
	for name, value := range data.Values {
		values[name] = value
	}
	return data.Deadline, values, nil
}

// signIn begins a session for the user of a login token, which the API has answered.
func (r *request) signIn(token string) error {
	who, err := r.s.deps.Identify(r.Context(), token)
	if err != nil {
		return err
	}
	return r.begin(who)
}

func (r *request) begin(who Identity) error {
	r.keepBrowser(who.UserID)
	return r.s.sessions.begin(r.Context(), who, r.s.deps.ClientAddress(r.Context()), r.UserAgent())
}

// sessionFailed answers when sessions cannot be read or stored.
func (s *Server) sessionFailed(w http.ResponseWriter, req *http.Request, err error) {
	if req.Context().Err() == nil {
		s.deps.Log.ErrorContext(req.Context(), "sessions are not available", "error", err)
	}
	r := &request{Request: req, w: w, s: s, api: s.api, now: s.deps.Now(), prefs: readPreferences(req)}
	r.fail(&APIError{
		Status:  http.StatusServiceUnavailable,
		Code:    "unavailable",
		Message: "The database does not answer at the moment. Try again in a few seconds.",
	})
}
