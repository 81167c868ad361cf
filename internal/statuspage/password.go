// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/google/uuid"
)

const (
	// passwordAttempts is how many passwords a network may try in a minute on a page, and everybody
	// together ten times as many.
	passwordAttempts = 10
	// admittedFor is how long a reader who gave the password need not give it again.
	admittedFor = 30 * 24 * time.Hour
	// maxForm bounds the body of a form, in bytes.
	maxForm = 16 << 10
)

// cookieName is that of a page: a reader of two pages has two cookies.
func cookieName(page uuid.UUID) string { return "vigil-page-" + page.String() }

// sign signs a text with the first key.
func (s *Server) sign(parts ...string) string { return signed(s.Keys[0], parts) }

func signed(key []byte, parts []string) string {
	mac := hmac.New(sha256.New, key)
	for _, part := range parts {
		_, _ = mac.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// verify reports whether one of the keys signed a text.
func (s *Server) verify(signature string, parts ...string) bool {
	for _, key := range s.Keys {
		if hmac.Equal([]byte(signature), []byte(signed(key, parts))) {
			return true
		}
	}
	return false
}

// admitted reports whether the reader may see the page: it has no password, or the reader has the cookie
// of the page, or gives the password by HTTP Basic as programs do.
func (s *Server) admitted(w http.ResponseWriter, r *http.Request, page *made) bool {
	if page.hash == "" {
		return true
	}
	if len(s.Keys) == 0 {
		return false
	}
	id := page.view.Page.ID
	if cookie, err := r.Cookie(cookieName(id)); err == nil {
		until, signature, _ := strings.Cut(cookie.Value, ".")
		seconds, err := strconv.ParseInt(until, 10, 64)
		// Another password ends all cookies, since its hash is signed too.
		if err == nil && s.Now().Before(time.Unix(seconds, 0)) && s.verify(signature, "reader", id.String(), until, page.hash) {
			return true
		}
	}
	_, password, given := r.BasicAuth()
	if !given {
		return false
	}
	right, _ := s.tries(r, page, password)
	return right
}

// tries reports whether a password is right, and how long to wait when too many were tried. One that was
// right is known for some minutes, so that a feed reader costs one hash.
func (s *Server) tries(r *http.Request, page *made, password string) (right bool, wait time.Duration) {
	id := page.view.Page.ID.String()
	mark := s.sign("known", id, password, page.hash)
	if s.known.has(mark) {
		return true, 0
	}
	// What a network tries beyond its part takes nothing from the others.
	if wait := s.attempts.count(id+" "+s.Network(r), 1); wait > 0 {
		return false, wait
	}
	if wait := s.attempts.count(id, 10); wait > 0 {
		return false, wait
	}
	right, err := argon2id.ComparePasswordAndHash(password, page.hash)
	if err != nil {
		s.Log.ErrorContext(r.Context(), "the password of a status page was not compared", "page", id, "error", err)
	}
	if right {
		s.known.count(mark, 1)
	}
	return right, 0
}

// askPassword answers a reader without the password: a person with the form, a program with 401.
func (s *Server) askPassword(w http.ResponseWriter, r *http.Request, at spot, page *made, action string) {
	if action != "" && action != "password" {
		w.Header().Set("Www-Authenticate", `Basic realm="status page", charset="UTF-8"`)
	}
	s.say(w, r, http.StatusUnauthorized, passwordForm(at, page, ""))
}

func passwordForm(at spot, page *made, wrong string) message {
	return message{
		Title: page.view.Page.Title, Detail: "This status page is for readers with its password.",
		Form: &form{
			Action: formAction(at, "password"), Button: "Show the page", Error: wrong,
			Fields: []field{{Name: "password", Label: "Password", Type: "password", Complete: "current-password"}},
		},
	}
}

// formAction is the address of a form of a page.
func formAction(at spot, action string) string {
	if at.atHost {
		return "/" + action
	}
	return "/status/" + at.slug + "/" + action
}

func (s *Server) takePassword(w http.ResponseWriter, r *http.Request, at spot, page *made) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil || len(s.Keys) == 0 {
		s.say(w, r, http.StatusBadRequest, passwordForm(at, page, "The form could not be read. Please try again."))
		return
	}
	right, wait := s.tries(r, page, r.PostForm.Get("password"))
	switch {
	case wait > 0:
		w.Header().Set("Retry-After", strconv.Itoa(int(wait.Seconds())+1))
		s.say(w, r, http.StatusTooManyRequests, passwordForm(at, page, "Too many passwords were tried. Please wait a minute."))
	case !right:
		s.say(w, r, http.StatusForbidden, passwordForm(at, page, "That is not the password."))
	default:
		until := s.Now().Add(admittedFor)
		id, text := page.view.Page.ID, strconv.FormatInt(until.Unix(), 10)
		http.SetCookie(w, &http.Cookie{ //nolint:gosec // secure wherever the platform is reached by https
			Name: cookieName(id), Value: text + "." + s.sign("reader", id.String(), text, page.hash), Path: "/", Expires: until, HttpOnly: true,
			Secure: strings.HasPrefix(s.PublicURL, "https://"), SameSite: http.SameSiteLaxMode,
		})
		s.redirect(w, r, at)
	}
}

// window counts what happens in spans of fixed length, by a name.
type window struct {
	limit int
	span  time.Duration
	now   func() time.Time

	mu    sync.Mutex
	began time.Time
	seen  map[string]int
}

func newWindow(limit int, span time.Duration, now func() time.Time) *window {
	return &window{limit: limit, span: span, now: now, seen: make(map[string]int)}
}

// count counts, and returns how long to wait once there were more than times the limit.
func (w *window) count(name string, times int) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turn()
	if w.limit > 0 && w.seen[name] >= w.limit*times {
		return w.began.Add(w.span).Sub(w.now())
	}
	w.seen[name]++
	return 0
}

// has reports whether a name was counted.
func (w *window) has(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turn()
	return w.seen[name] > 0
}

// turn begins another span when one is over. It holds no more names than strangers can make in it.
func (w *window) turn() {
	if now := w.now(); !now.Before(w.began.Add(w.span)) {
		w.began = now
		clear(w.seen)
	}
}
