// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
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
}

// Options are what a Server needs.
type Options struct {
	Store Store
	// PublicURL is where people reach the platform, without a trailing slash.
	PublicURL string
	Now       func() time.Time
	Log       *slog.Logger
}

// Server shows status pages at /status/ and badges at /badge/. It is safe for concurrent
// use.
type Server struct {
	Options
	pages   *pages
	made    *cache[*made]
	history *cache[map[uuid.UUID]map[time.Time]overview.DayCount]
	slugs   *cache[string] // by the id of a check
}

// New returns a Server.
func New(opts Options) (*Server, error) {
	written, err := newPages()
	if err != nil {
		return nil, err
	}
	return &Server{
		Options: opts, pages: written,
		made:    newCache[*made](lifetime, staleness, opts.Now),
		history: newCache[map[uuid.UUID]map[time.Time]overview.DayCount](historyLifetime, staleness, opts.Now),
		slugs:   newCache[string](lifetime, staleness, opts.Now),
	}, nil
}

// made is a page and its forms, each of which is written when it is first asked for.
type made struct {
	view             *view
	html, json, atom func() (document, error)
}

// document is an answer.
type document struct {
	body []byte
	tag  string
}

func written(write func() ([]byte, error)) func() (document, error) {
	return sync.OnceValues(func() (document, error) {
		body, err := write()
		digest := sha256.Sum256(body)
		return document{body: body, tag: `"` + hex.EncodeToString(digest[:8]) + `"`}, err
	})
}

// page returns the page with a slug.
func (s *Server) page(ctx context.Context, slug string) (*made, time.Duration, error) {
	if !overview.ValidSlug(slug) {
		return nil, 0, vigil.NotFound("status page") // a text that Postgres may not even be asked for
	}
	return s.made.get(ctx, slug, func(ctx context.Context) (*made, error) {
		now := s.Now()
		report, err := s.Store.StatusReport(ctx, slug, firstDay(now))
		if err != nil {
			return nil, err
		}
		days, err := s.days(ctx, &report.Page, now)
		if err != nil {
			return nil, err
		}
		v := newView(&report, days, now, s.PublicURL+"/status/"+slug)
		return &made{
			view: v, html: written(func() ([]byte, error) { return s.pages.page(v) }), json: written(v.json), atom: written(v.atom),
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

// ServeHTTP answers GET and HEAD.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Security-Policy", s.pages.policy)
	name, isPage := strings.CutPrefix(r.URL.Path, "/status/")
	if !isPage {
		name = strings.TrimPrefix(r.URL.Path, "/badge/")
		s.serveBadge(w, r, name)
		return
	}
	slug, form, _ := strings.Cut(name, ".")
	page, fresh, err := s.page(r.Context(), slug)
	if err == nil && form != "" && form != "json" && form != "atom" {
		err = vigil.NotFound("status page")
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if page.view.Page.NoIndex {
		header.Set("X-Robots-Tag", "noindex")
	}
	write, kind := page.html, "text/html; charset=utf-8"
	switch form {
	case "json":
		write, kind = page.json, "application/json"
		header.Set("Access-Control-Allow-Origin", "*")
	case "atom":
		write, kind = page.atom, "application/atom+xml; charset=utf-8"
	}
	s.serve(w, r, write, kind, fresh)
}

func (s *Server) serveBadge(w http.ResponseWriter, r *http.Request, name string) {
	text, isBadge := strings.CutSuffix(name, ".svg")
	id, err := uuid.Parse(text)
	if err != nil || !isBadge || id.String() != text {
		s.fail(w, r, vigil.NotFound("badge"))
		return
	}
	slug, _, err := s.slugs.get(r.Context(), text, func(ctx context.Context) (string, error) { return s.Store.PublicSlug(ctx, id) })
	if err != nil {
		s.fail(w, r, err)
		return
	}
	page, fresh, err := s.page(r.Context(), slug)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	of := page.view.service(id)
	if of == nil {
		s.fail(w, r, vigil.NotFound("badge"))
		return
	}
	w.Header().Set("Access-Control-Allow-Origin", "*")
	s.serve(w, r, written(of.badge), "image/svg+xml", fresh)
}

// serve writes a document, or 304.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, write func() (document, error), kind string, fresh time.Duration) {
	doc, err := write()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	header := w.Header()
	header.Set("Content-Type", kind)
	header.Set("Cache-Control", "public, max-age="+strconv.Itoa(max(1, int(fresh.Seconds()))))
	header.Set("Etag", doc.tag)
	if matches(r.Header.Values("If-None-Match"), doc.tag) {
		header.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	header.Set("Content-Length", strconv.Itoa(len(doc.body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(doc.body) // the reader may be gone
	}
}

// matches reports whether If-None-Match names a tag, by the weak comparison of RFC 9110.
func matches(lines []string, tag string) bool {
	for candidate := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		candidate = strings.TrimSpace(candidate)
		if candidate == "*" || strings.TrimPrefix(candidate, "W/") == tag {
			return true
		}
	}
	return false
}

// fail answers with a page that says what is wrong.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusNotFound
	says := message{"There is no status page here", "The address may be wrong, or its owner may have closed the page."}
	if vigil.ErrorCode(err) != vigil.CodeNotFound {
		status, says = http.StatusServiceUnavailable, message{"This page cannot be shown right now", "Please try again in a minute."}
		w.Header().Set("Retry-After", "30")
		s.Log.WarnContext(r.Context(), "status page not shown", "path", r.URL.Path, "error", err)
	}
	body, err := s.pages.message(says)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if err == nil && r.Method != http.MethodHead {
		_, _ = w.Write(body) // the reader may be gone
	}
}
