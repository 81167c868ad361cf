// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
)

// Changes finds out what changed. It is asked each second for the organizations and the checks
// of open pages, and never without one.
type Changes interface {
	// OrganizationVersion returns a text that differs after every change of an organization
	// that is no result: of its definitions, incidents, deliveries and maintenance.
	OrganizationVersion(ctx context.Context, orgID uuid.UUID) (string, error)
	// CheckVersions returns a text for each check that differs after every result of it and
	// every change of it or of its incident; none for a check that does not exist.
	CheckVersions(ctx context.Context, orgID uuid.UUID, checks []uuid.UUID) (map[uuid.UUID]string, error)
}

const (
	liveTick    = time.Second
	livePause   = 2 * time.Second // between two changes of one row
	liveTimeout = 5 * time.Second // for a question to the database or the API
	liveBatch   = 100             // checks in one question to the API
)

// hub asks what changed for all open pages, once for each organization.
type hub struct {
	changes Changes
	now     func() time.Time
	failed  func(error)
	tick    time.Duration

	mu       sync.Mutex
	orgs     map[uuid.UUID]*liveOrg
	users    map[uuid.UUID]int       // open pages
	sessions map[string]*liveSession // by token
	ended    chan struct{}
	isOver   bool
}

// liveOrg are the open pages of an organization.
type liveOrg struct {
	pages map[*livePage]bool
	whole string                  // the version of the organization; empty before it is known
	known map[uuid.UUID]string    // versions
	sent  map[uuid.UUID]time.Time // when a change of a check was handed to pages
	stop  context.CancelFunc
}

// livePage is one open page.
type livePage struct {
	org, user uuid.UUID
	checks    []uuid.UUID
	r         *request // asks the API as the user of the page

	mu      sync.Mutex
	pending map[uuid.UUID]*client.Check // changes that are not shown yet; nil: deleted
	stale   bool                        // something else may have changed
	wake    chan struct{}
}

func newHub(changes Changes, now func() time.Time, failed func(error)) *hub {
	return &hub{
		changes: changes, now: now, failed: failed, tick: liveTick,
		orgs: make(map[uuid.UUID]*liveOrg), users: make(map[uuid.UUID]int),
		sessions: make(map[string]*liveSession), ended: make(chan struct{}),
	}
}

// maxLivePages is how many pages one user may have open in this process: those of a person,
// or of the screens on a wall.
const maxLivePages = 100

// join adds a page; ok is false when the user has too many, or the process shuts down.
func (h *hub) join(p *livePage) (ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.isOver || h.users[p.user] >= maxLivePages {
		return false
	}
	h.users[p.user]++
	org := h.orgs[p.org]
	if org == nil {
		ctx, stop := context.WithCancel(context.Background())
		org = &liveOrg{pages: make(map[*livePage]bool), known: make(map[uuid.UUID]string), sent: make(map[uuid.UUID]time.Time), stop: stop}
		h.orgs[p.org] = org
		go h.watch(ctx, p.org)
	}
	org.pages[p] = true
	return true
}

// leave removes a page. The last one of an organization ends its questions.
func (h *hub) leave(p *livePage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.users[p.user]--; h.users[p.user] <= 0 {
		delete(h.users, p.user)
	}
	org := h.orgs[p.org]
	if org == nil {
		return
	}
	delete(org.pages, p)
	if len(org.pages) == 0 {
		org.stop()
		delete(h.orgs, p.org)
	}
}

// end closes all pages for good.
func (h *hub) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.isOver {
		h.isOver = true
		close(h.ended)
	}
}

// open returns how many pages are open.
func (h *hub) open() (n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, org := range h.orgs {
		n += int64(len(org.pages))
	}
	return n
}

// watch asks for an organization until its last page is closed.
func (h *hub) watch(ctx context.Context, orgID uuid.UUID) {
	ticker := time.NewTicker(h.tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.ended:
			return
		case <-ticker.C:
		}
		if err := h.ask(ctx, orgID); err != nil && ctx.Err() == nil {
			h.failed(err)
		}
	}
}

// ask finds what changed since the last time and hands it to the pages.
func (h *hub) ask(ctx context.Context, orgID uuid.UUID) error {
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	pages, checks := h.shown(orgID)
	if len(pages) == 0 {
		return nil
	}
	whole, err := h.changes.OrganizationVersion(ctx, orgID)
	if err != nil {
		return err
	}
	if h.moved(orgID, whole) {
		for _, page := range pages {
			page.touch()
		}
	}
	if len(checks) == 0 {
		return nil
	}
	versions, err := h.changes.CheckVersions(ctx, orgID, checks)
	if err != nil {
		return err
	}
	changed := h.changed(orgID, checks, versions)
	for part := range slices.Chunk(changed, liveBatch) {
		found, err := readChanged(ctx, pages, part)
		if err != nil {
			h.forget(orgID, changed)
			return err
		}
		for _, page := range pages {
			page.hand(part, found)
		}
	}
	return nil
}

// shown returns the pages of an organization and the checks on them.
func (h *hub) shown(orgID uuid.UUID) (pages []*livePage, checks []uuid.UUID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	org := h.orgs[orgID]
	if org == nil {
		return nil, nil
	}
	all := make(map[uuid.UUID]bool)
	for page := range org.pages {
		pages = append(pages, page)
		for _, id := range page.checks {
			all[id] = true
		}
	}
	return pages, slices.Collect(maps.Keys(all))
}

// moved reports whether an organization has another version than before, and remembers it.
func (h *hub) moved(orgID uuid.UUID, version string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	org := h.orgs[orgID]
	if org == nil || org.whole == version {
		return false
	}
	known := org.whole != ""
	org.whole = version
	return known
}

// changed returns the checks with another version than before, and remembers the new ones.
// A check that changed less than livePause ago waits.
func (h *hub) changed(orgID uuid.UUID, checks []uuid.UUID, versions map[uuid.UUID]string) (changed []uuid.UUID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	org := h.orgs[orgID]
	if org == nil {
		return nil
	}
	now := h.now()
	for _, id := range checks {
		before, known := org.known[id]
		if known && before == versions[id] || known && now.Sub(org.sent[id]) < livePause {
			continue
		}
		org.known[id] = versions[id]
		if known {
			changed, org.sent[id] = append(changed, id), now
		}
	}
	return changed
}

// forget has checks count as changed at the next tick: what they are now was not read.
func (h *hub) forget(orgID uuid.UUID, checks []uuid.UUID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if org := h.orgs[orgID]; org != nil {
		for _, id := range checks {
			org.known[id] = ""
			delete(org.sent, id)
		}
	}
}

// readChanged asks the API for checks, as the user of one of the pages. A page whose
// session has ended does not keep the others from it.
func readChanged(ctx context.Context, pages []*livePage, ids []uuid.UUID) (found map[uuid.UUID]*client.Check, err error) {
	yes, limit := true, int64(liveBatch)
	params := &client.ListChecksParams{Summary: &yes, Limit: &limit, Id: new([]string)}
	for _, id := range ids {
		*params.Id = append(*params.Id, id.String())
	}
	for _, page := range pages {
		var list *client.ListChecksResponse
		list, err = page.r.api.ListChecksWithResponse(page.r.acting(ctx), params)
		if err != nil {
			continue
		}
		found = make(map[uuid.UUID]*client.Check, len(ids))
		for i := range list.JSON200.Data {
			check := &list.JSON200.Data[i]
			found[check.Id] = check
		}
		return found, nil
	}
	return nil, err
}

// acting returns a context in which requests are those of the user of r, in the background.
func (r *request) acting(ctx context.Context) context.Context {
	return r.s.deps.InBackground(r.s.deps.ActAs(context.WithValue(ctx, fromKey{}, r.Request), r.who))
}

// hand gives the page what changed on it. What it has not shown yet is replaced.
func (p *livePage) hand(ids []uuid.UUID, found map[uuid.UUID]*client.Check) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range ids {
		if slices.Contains(p.checks, id) {
			p.pending[id] = found[id]
		}
	}
	if len(p.pending) > 0 {
		p.ring()
	}
}

// touch says that anything on the page may have changed.
func (p *livePage) touch() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stale = true
	p.ring()
}

// ring wakes the stream of the page; p.mu is held.
func (p *livePage) ring() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// take returns what is to be shown: the checks that changed, and whether everything else is to
// be read again.
func (p *livePage) take() (checks map[uuid.UUID]*client.Check, stale bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	checks, stale = p.pending, p.stale
	p.pending, p.stale = make(map[uuid.UUID]*client.Check), false
	return checks, stale
}
