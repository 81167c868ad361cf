// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/overview"
)

const (
	// lifetime is how long a page is shown before it is made again.
	lifetime = 30 * time.Second
	// staleness is how long the last page is shown while the store does not answer.
	staleness = time.Hour
	// historyLifetime is how long the days before today are kept: late results change them.
	historyLifetime = 10 * time.Minute
	day             = 24 * time.Hour
)

// Store reads what is public.
type Store interface {
	// StatusReport is vigil.CodeNotFound for a slug that no enabled page has.
	StatusReport(ctx context.Context, slug string, since time.Time) (overview.StatusReport, error)
	// StatusDays counts results by day, from the first to before the second midnight.
	StatusDays(ctx context.Context, checks []uuid.UUID, from, to time.Time) (map[uuid.UUID]map[time.Time]overview.DayCount, error)
	// PublicSlug is vigil.CodeNotFound for a check that no enabled page shows.
	PublicSlug(ctx context.Context, checkID uuid.UUID) (string, error)
	// StatusHosts returns the slugs of pages by their hosts.
	StatusHosts(ctx context.Context) (map[string]string, error)
	// StatusLogo is vigil.CodeNotFound for a page without one.
	StatusLogo(ctx context.Context, pageID uuid.UUID) (overview.Logo, error)
}

// Options are what a Server needs.
type Options struct {
	Store Store
	// PublicURL is where people reach the platform, without a trailing slash.
	PublicURL string
	// Keys sign the cookies of readers who gave a password: the first signs, and all are accepted.
	Keys [][]byte
	// Network names the network that a request comes from, for limits; nil: its address.
	Network func(*http.Request) string
	// Readers are those who subscribe; nil: no one can.
	Readers *Readers
	Now     func() time.Time
	Log     *slog.Logger
}

// Server shows status pages at /status/ and badges at /badge/, and pages with a host of their own at /
// of that host. It is safe for concurrent use.
type Server struct {
	Options
	pages    *pages
	made     *cache[*made]
	history  *cache[map[uuid.UUID]map[time.Time]overview.DayCount]
	slugs    *cache[string] // by the id of a check
	hosts    *cache[map[string]string]
	logos    *cache[overview.Logo]
	attempts *window // of passwords
	known    *window // passwords that were right, see knows
}

// New returns a Server.
func New(opts Options) (*Server, error) {
	written, err := newPages()
	if err != nil {
		return nil, err
	}
	if opts.Network == nil {
		opts.Network = func(r *http.Request) string { return r.RemoteAddr }
	}
	if opts.Readers != nil {
		opts.Readers.asks = newWindow(readerAsks, 10*time.Minute, opts.Now)
	}
	return &Server{
		Options: opts, pages: written,
		made:     newCache[*made](lifetime, staleness, opts.Now),
		history:  newCache[map[uuid.UUID]map[time.Time]overview.DayCount](historyLifetime, staleness, opts.Now),
		slugs:    newCache[string](lifetime, staleness, opts.Now),
		hosts:    newCache[map[string]string](lifetime, staleness, opts.Now),
		logos:    newCache[overview.Logo](historyLifetime, staleness, opts.Now),
		attempts: newWindow(passwordAttempts, time.Minute, opts.Now),
		known:    newWindow(0, historyLifetime, opts.Now),
	}, nil
}

// made is a page and its forms, each of which is written when it is first asked for.
type made struct {
	view             *view
	hash             string // of the password
	policy           string // of the HTML
	html, json, atom func() (document, error)
}

// spot is where a page is served: below /status/ of the platform, or at / of a host.
type spot struct {
	slug   string
	atHost bool
	// base is the address of the page, and within what the addresses below it begin with, for links
	// in the page.
	base, within string
}

// placeOf is the place of a page on the platform.
func (s *Server) placeOf(slug string) spot {
	return spot{slug: slug, base: s.PublicURL + "/status/" + slug, within: slug + "/"}
}

// page returns the page at a place.
func (s *Server) page(ctx context.Context, at spot) (*made, time.Duration, error) {
	if !overview.ValidSlug(at.slug) {
		return nil, 0, vigil.NotFound("status page") // a text that Postgres may not even be asked for
	}
	return s.made.get(ctx, at.base, func(ctx context.Context) (*made, error) {
		now := s.Now()
		report, err := s.Store.StatusReport(ctx, at.slug, firstDay(now))
		if err != nil {
			return nil, err
		}
		days, err := s.days(ctx, &report.Page, now)
		if err != nil {
			return nil, err
		}
		v := newView(&report, days, now, at)
		accent := accentStyle(report.Page.Accent)
		return &made{
			view: v, hash: report.PasswordHash, policy: s.pages.policyOf(accent),
			html: written(func() ([]byte, error) { return s.pages.page(v, accent) }), json: written(v.json), atom: written(v.atom),
		}, nil
	})
}

// days counts the results of a page's checks. Those before today are read seldom: they are
// most of the work.
func (s *Server) days(
	ctx context.Context,
	page *overview.StatusPage,
	now time.Time,
) (map[uuid.UUID]map[time.Time]overview.DayCount, error) {
	checks, today := page.Checks(), midnight(now)
	key := fmt.Sprintf("%s %d %s", page.ID, page.Version, today.Format(time.DateOnly))
	before, _, err := s.history.get(ctx, key, func(ctx context.Context) (map[uuid.UUID]map[time.Time]overview.DayCount, error) {
		return s.Store.StatusDays(ctx, checks, firstDay(now), today)
	})
	if err != nil {
		return nil, err
	}
	days, err := s.Store.StatusDays(ctx, checks, today, today.Add(day))
	if err != nil {
		return nil, err
	}
	for id, past := range before {
		all := maps.Clone(past) // the cached one is shared
		maps.Copy(all, days[id])
		days[id] = all
	}
	return days, nil
}

// ServeHTTP answers what is below /status/ and /badge/ of the platform.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.guard(w)
	name, isPage := strings.CutPrefix(r.URL.Path, "/status/")
	if !isPage {
		s.serveBadge(w, r, strings.TrimPrefix(r.URL.Path, "/badge/"), "")
		return
	}
	name, action, _ := strings.Cut(name, "/")
	if name == "-" { // no slug is
		s.serveToken(w, r, action)
		return
	}
	slug, form, _ := strings.Cut(name, ".")
	if action == "" && form != "" {
		action = "." + form
	} else if form != "" {
		action = "." + form + "/" + action // is nothing
	}
	s.servePage(w, r, s.placeOf(slug), action)
}

// PageAt returns the slug of the page that a host of its own serves; empty for every other host.
func (s *Server) PageAt(ctx context.Context, host string) string {
	host = plainHost(host)
	if s.PublicURL == "http://"+host || s.PublicURL == "https://"+host {
		return ""
	}
	hosts, _, err := s.hosts.get(ctx, "", s.Store.StatusHosts)
	if err != nil {
		s.Log.WarnContext(ctx, "the hosts of status pages were not read", "error", err)
		return ""
	}
	return hosts[host]
}

// plainHost is a host without its port, in lower case.
func plainHost(host string) string {
	host, _, _ = strings.Cut(strings.ToLower(host), ":")
	return strings.TrimSuffix(host, ".")
}

// ServeHost answers a request to the host of a page; see PageAt. Nothing but the page is there.
func (s *Server) ServeHost(w http.ResponseWriter, r *http.Request, slug string) {
	s.guard(w)
	// The port is that of the platform, not what the request says: what strangers write names no page.
	scheme, own, _ := strings.Cut(s.PublicURL, "://")
	base := scheme + "://" + plainHost(r.Host)
	if _, port, given := strings.Cut(own, ":"); given {
		base += ":" + port
	}
	at := spot{slug: slug, atHost: true, base: base}
	path := strings.TrimPrefix(r.URL.Path, "/")
	if badge, isBadge := strings.CutPrefix(path, "badge/"); isBadge {
		s.serveBadge(w, r, badge, slug)
		return
	}
	if form, isForm := strings.CutPrefix(path, "status."); isForm {
		path = "." + form
	}
	s.servePage(w, r, at, path)
}

// guard sets what every answer has.
func (s *Server) guard(w http.ResponseWriter) {
	header := w.Header()
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Security-Policy", s.pages.policyOf(""))
}

// servePage answers what is about one page. action is what follows its address.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request, at spot, action string) {
	page, fresh, err := s.page(r.Context(), at)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	header := w.Header()
	if page.view.Page.NoIndex || page.hash != "" {
		header.Set("X-Robots-Tag", "noindex")
	}
	if action == "password" && r.Method == http.MethodPost && page.hash != "" {
		s.takePassword(w, r, at, page)
		return
	}
	if s.servesReader(w, r, at, page, action) { // what a mail leads to needs no password
		return
	}
	if !s.admitted(w, r, page) {
		s.askPassword(w, r, at, page, action)
		return
	}
	sent := sending{fresh: fresh, private: page.hash != ""}
	switch {
	case !reads:
		header.Set("Allow", "GET, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
	case action == "":
		header.Set("Content-Security-Policy", page.policy)
		sent.kind, sent.write = "text/html; charset=utf-8", page.html
		s.serve(w, r, sent)
	case action == ".json":
		sent.kind, sent.write, sent.shared = "application/json", page.json, page.hash == ""
		s.serve(w, r, sent)
	case action == ".atom":
		sent.kind, sent.write = "application/atom+xml; charset=utf-8", page.atom
		s.serve(w, r, sent)
	case action == "logo":
		s.serveLogo(w, r, page, sent)
	case action == "password":
		s.redirect(w, r, at)
	default:
		s.fail(w, r, vigil.NotFound("status page"))
	}
}

// redirect leads to the page.
func (s *Server) redirect(w http.ResponseWriter, r *http.Request, at spot) {
	to := "/"
	if !at.atHost {
		to = "/status/" + at.slug
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, to, http.StatusSeeOther)
}

func (s *Server) serveLogo(w http.ResponseWriter, r *http.Request, page *made, sent sending) {
	id := page.view.Page.ID
	logo, _, err := s.logos.get(r.Context(), fmt.Sprintf("%s %d", id, page.view.Page.Version),
		func(ctx context.Context) (overview.Logo, error) { return s.Store.StatusLogo(ctx, id) })
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox")
	sent.kind, sent.write = logo.MediaType, written(func() ([]byte, error) { return logo.Image, nil })
	s.serve(w, r, sent)
}

// serveBadge answers with a badge of a check: its state, or a figure. only is the page that it must be
// on; empty: any.
func (s *Server) serveBadge(w http.ResponseWriter, r *http.Request, name, only string) {
	text, figure, _ := strings.Cut(strings.TrimSuffix(name, ".svg"), "/")
	id, err := uuid.Parse(text)
	write := badgeOf(figure)
	if err != nil || !strings.HasSuffix(name, ".svg") || id.String() != text || write == nil {
		s.fail(w, r, vigil.NotFound("badge"))
		return
	}
	slug := only
	if only == "" {
		if slug, _, err = s.slugs.get(
			r.Context(),
			text,
			func(ctx context.Context) (string, error) { return s.Store.PublicSlug(ctx, id) },
		); err != nil {
			s.fail(w, r, err)
			return
		}
	}
	page, fresh, err := s.page(r.Context(), s.placeOf(slug))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	of := page.view.service(id)
	if of == nil || !s.admitted(w, r, page) || strings.HasPrefix(figure, responseTime) && !page.view.Page.ResponseTimes {
		s.fail(w, r, vigil.NotFound("badge"))
		return
	}
	s.serve(w, r, sending{
		kind: "image/svg+xml", fresh: fresh, private: page.hash != "", shared: page.hash == "",
		write: written(func() ([]byte, error) { return write(of) }),
	})
}

// fail answers with a page that says what is wrong.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusNotFound
	says := message{Title: "There is no status page here", Detail: "The address may be wrong, or its owner may have closed the page."}
	if vigil.ErrorCode(err) != vigil.CodeNotFound {
		status = http.StatusServiceUnavailable
		says = message{Title: "This page cannot be shown right now", Detail: "Please try again in a minute."}
		w.Header().Set("Retry-After", "30")
		s.Log.WarnContext(r.Context(), "status page not shown", "path", r.URL.Path, "error", err)
	}
	s.say(w, r, status, says)
}

// say answers with a page that only says something, or asks for something.
func (s *Server) say(w http.ResponseWriter, r *http.Request, status int, says message) {
	body, err := s.pages.message(says)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if err != nil {
		s.Log.ErrorContext(r.Context(), "a page was not written", "error", err)
		status = http.StatusInternalServerError
	}
	w.WriteHeader(status)
	if err == nil && r.Method != http.MethodHead {
		_, _ = w.Write(body) //nolint:gosec // a template escaped it; the reader may be gone
	}
}
