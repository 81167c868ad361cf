// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
)

// How long a way to the UI can be used, and how long an answer about a session is trusted.
const (
	uiTicketLife = time.Minute
	uiTrust      = 2 * time.Second
	uiCookie     = "vigil_temporal_ui"
	uiSignInPath = "/vigil-sign-in"
	// maxUIVisits bounds how many tickets, and how many visits, are kept.
	maxUIVisits = 1000
)

// uiVisitor is whose session of the dashboard opened the UI.
type uiVisitor struct{ user, session uuid.UUID }

// uiVisit is what the cookie of the UI, or a ticket for it, stands for.
type uiVisit struct {
	who     uiVisitor
	path    string    // that the ticket leads to
	until   time.Time // of a ticket
	trusted time.Time // until when the session is not looked at again
}

// uiLogin serves the embedded Temporal UI to operators who are signed in to the dashboard,
// for as long as that session lasts. The UI has an address of its own, to which browsers do
// not send the cookie of the dashboard: so the dashboard leads there with a ticket, which
// works once and within a minute, and the UI sets a cookie for it.
type uiLogin struct {
	dashboard string // address of the dashboard
	secure    bool   // whether the UI is reached by TLS
	now       func() time.Time

	mu      sync.Mutex
	allowed func(ctx context.Context, who uiVisitor) error // nil until the platform is built
	tickets map[[sha256.Size]byte]uiVisit
	visits  map[[sha256.Size]byte]uiVisit
}

func newUILogin(dashboard string, secure bool) *uiLogin {
	return &uiLogin{
		dashboard: dashboard, secure: secure, now: time.Now,
		tickets: make(map[[sha256.Size]byte]uiVisit), visits: make(map[[sha256.Size]byte]uiVisit),
	}
}

// open sets who may use the UI: allowed returns an error for who may not.
func (l *uiLogin) open(allowed func(ctx context.Context, who uiVisitor) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.allowed = allowed
}

// ticket returns the path below the UI's address that leads a visitor to a path of the UI.
func (l *uiLogin) ticket(ctx context.Context, who uiVisitor, path string) (string, error) {
	if err := l.ask(ctx, who); err != nil {
		return "", err
	}
	token := rand.Text()
	l.mu.Lock()
	defer l.mu.Unlock()
	keepUIVisit(l.tickets, sha256.Sum256([]byte(token)), uiVisit{who: who, path: uiPath(path), until: l.now().Add(uiTicketLife)})
	return uiSignInPath + "?ticket=" + token, nil
}

// keepUIVisit adds an entry, and removes any other one when there are too many.
func keepUIVisit(to map[[sha256.Size]byte]uiVisit, key [sha256.Size]byte, visit uiVisit) {
	for old := range to {
		if len(to) < maxUIVisits {
			break
		}
		delete(to, old)
	}
	to[key] = visit
}

// uiPath returns a path of the UI, and its first page for what is none.
func uiPath(path string) string {
	target, err := url.Parse(path)
	if err != nil || target.IsAbs() || target.Host != "" || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") ||
		strings.Contains(path, `\`) || strings.HasPrefix(target.Path, uiSignInPath) {
		return "/"
	}
	return path
}

func (l *uiLogin) ask(ctx context.Context, who uiVisitor) error {
	l.mu.Lock()
	allowed := l.allowed
	l.mu.Unlock()
	if allowed == nil {
		return &vigil.Error{Code: vigil.CodeUnavailable, Message: "The platform is starting. Try again in a few seconds."}
	}
	return allowed(ctx, who)
}

// wrap serves the UI to who has its cookie. A browser without it is led to the dashboard.
func (l *uiLogin) wrap(ui http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == uiSignInPath {
			l.signIn(w, r)
			return
		}
		err := l.visit(r)
		switch {
		case err == nil:
			ui.ServeHTTP(w, r)
		case !refusesVisit(err):
			http.Error(w, "It is not known at the moment who may use this. Try again in a few seconds.", http.StatusServiceUnavailable)
		case (r.Method == http.MethodGet || r.Method == http.MethodHead) && wantsHTML(r.Header.Values("Accept")):
			w.Header().Set("Cache-Control", "no-store")
			to := l.dashboard + "/app/temporal?next=" + url.QueryEscape(r.URL.RequestURI())
			http.Redirect(w, r, to, http.StatusSeeOther)
		default:
			http.Error(w, "Sign in to the dashboard as an operator, and open "+l.dashboard+"/app/temporal.", http.StatusUnauthorized)
		}
	})
}

// signIn exchanges a ticket for a cookie.
func (l *uiLogin) signIn(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	key := sha256.Sum256([]byte(r.URL.Query().Get("ticket")))
	l.mu.Lock()
	visit, known := l.tickets[key]
	delete(l.tickets, key)
	cookie := rand.Text()
	if known = known && l.now().Before(visit.until) && r.Method == http.MethodGet; known {
		keepUIVisit(l.visits, sha256.Sum256([]byte(cookie)), uiVisit{who: visit.who})
	}
	l.mu.Unlock()
	if !known { // used, or too old: the dashboard makes another one
		http.Redirect(w, r, l.dashboard+"/app/temporal", http.StatusSeeOther)
		return
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // Secure where browsers use TLS
		Name: uiCookie, Value: cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: l.secure,
	})
	http.Redirect(w, r, visit.path, http.StatusSeeOther)
}

// visit returns an error unless the request has the cookie of a session that still lasts.
func (l *uiLogin) visit(r *http.Request) error {
	refused := &vigil.Error{Code: vigil.CodeUnauthorized, Message: "not signed in"}
	cookie, err := r.Cookie(uiCookie)
	if err != nil {
		return refused
	}
	key := sha256.Sum256([]byte(cookie.Value))
	l.mu.Lock()
	visit, known := l.visits[key]
	l.mu.Unlock()
	switch now := l.now(); {
	case !known:
		return refused
	case now.Before(visit.trusted):
		return nil
	}
	err = l.ask(r.Context(), visit.who)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		visit.trusted = l.now().Add(uiTrust)
		l.visits[key] = visit
	case refusesVisit(err):
		delete(l.visits, key)
	}
	return err
}

// refusesVisit reports whether an error says that a visitor may not use the UI, rather than
// that this is not known.
func refusesVisit(err error) bool {
	code := vigil.ErrorCode(err)
	return code == vigil.CodeForbidden || code == vigil.CodeUnauthorized
}

// mayOpenTemporal returns an error unless the session lasts and its user is an owner of the
// operator's organization.
func (p *Platform) mayOpenTemporal(ctx context.Context, who uiVisitor) error {
	forbidden := &vigil.Error{Code: vigil.CodeForbidden, Message: "Temporal is for owners of the operator's organization."}
	lasts, err := p.store.SessionLasts(ctx, who.user, who.session)
	if err != nil {
		return err
	}
	if !lasts {
		return &vigil.Error{Code: vigil.CodeUnauthorized, Message: "The session has ended."}
	}
	user, err := p.store.User(ctx, who.user)
	if err != nil {
		return err
	}
	operator, err := p.store.Operator(ctx)
	switch {
	case vigil.ErrorCode(err) == vigil.CodeNotFound:
		return forbidden
	case err != nil:
		return err
	case user.OrgID != operator.OrgID || user.Role != account.RoleOwner:
		return forbidden
	}
	return nil
}
