// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
)

func (s *Server) liveRoutes(on *routes) {
	on.open("GET /app/stream", s.stream)
}

const (
	liveAgain      = 20 * time.Second // after which a page is read again though nothing changed
	liveSettle     = 3 * time.Second  // after a change
	streamDeadline = 10 * time.Second // for a client to take an event
	maxStreamRows  = 300
	// sessionEvery is how often the open pages of a session look whether it goes on: pages of an ended one end
	// within five seconds.
	sessionEvery = 2 * time.Second
)

// stream sends what changes on a page as long as it is open: server-sent events with
// fragments of HTML, each of which replaces an element.
func (s *Server) stream(r *request) error {
	if !r.signedIn || s.live == nil {
		http.Error(r.w, "sign in first", http.StatusUnauthorized)
		return nil
	}
	p, err := r.livePage()
	if err != nil {
		return err
	}
	if !s.live.join(p) {
		r.w.Header().Set("Retry-After", "30")
		http.Error(r.w, "too many open pages", http.StatusTooManyRequests)
		return nil
	}
	defer s.live.leave(p)
	h := r.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	out := r.newEvents(p)
	if err := out.send("hello", r.now, "{}"); err != nil {
		return nil //nolint:nilerr // the page is closed
	}
	return out.run(r, p)
}

// newEvents returns what writes to a page, with what the page says that it has.
func (r *request) newEvents(p *livePage) *events {
	query := r.URL.Query()
	out := &events{
		s: r.s, w: r.w, control: http.NewResponseController(r.w), now: r.s.deps.Now,
		page: r.ofPage(), states: make(map[uuid.UUID]string), rows: make(map[uuid.UUID]string),
		listed: rowsChanged{Gone: []string{}},
	}
	text, _ := json.Marshal(out.listed) // of a page that has just been made
	out.noted = string(text)
	out.kind = cmp.Or(query.Get("page"), liveChecks)
	if since, err := time.Parse(time.RFC3339Nano, query.Get("since")); err == nil {
		out.made, out.since = since, since.Add(-liveTick)
	}
	if prints := query.Get("parts"); prints != "" {
		out.sent.prints = strings.Split(prints, ".")
	}
	if r.Header.Get("Last-Event-Id") != "" || query.Get("again") != "" {
		out.sent, out.since = partsSent{}, time.Time{} // the page missed something: it gets all of it
	}
	if out.since.IsZero() {
		return out
	}
	if found, err := readChanged(r.Context(), []*livePage{p}, p.checks[:min(len(p.checks), liveBatch)]); err == nil {
		for id, check := range found {
			if check.Summary != nil {
				out.states[id] = string(check.Summary.State)
			}
		}
	}
	return out
}

// run sends what changes until the page is closed, or its session ends.
func (e *events) run(r *request, p *livePage) error {
	beat := time.NewTicker(r.s.deps.Config.beat())
	defer beat.Stop()
	token, every := r.s.sessions.manager.Token(r.Context()), min(sessionEvery, r.s.deps.Config.beat())
	session := r.s.live.enter(token)
	defer r.s.live.exit(token, session)
	look := time.NewTicker(every)
	defer look.Stop()
	// The first time is for what changed since the page was made.
	again, due := time.NewTimer(liveTick), e.now().Add(liveTick)
	defer again.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	wake, timed := p.wake, false
	for {
		select {
		case <-r.Context().Done():
			return nil
		case <-r.s.live.ended:
			return nil
		case <-look.C:
			if !session.goesOn(r, every) {
				e.signedOut()
				return nil
			}
		case <-beat.C:
			if e.comment() != nil {
				return nil
			}
		case <-again.C:
			timed, due = true, e.now().Add(liveAgain)
			again.Reset(liveAgain)
			p.touch()
		case <-pause.C:
			wake = p.wake
		case <-wake:
			follows, err := e.changes(r, p)
			if err != nil && !hasCode(err, "rate_limited") { // many pages of the user: the next look shows what changed
				return e.broken(r, session, err)
			}
			// What follows from a change, such as the figures that a result counts in and the
			// incident that it opens, is there a moment later.
			if soon := e.now().Add(liveSettle); follows && !timed && soon.Before(due) {
				due = soon
				again.Reset(liveSettle)
			}
			wake, timed = nil, false
			pause.Reset(liveTick)
		}
	}
}

// signedOut sends the event of a session that has ended; the page may be gone.
func (e *events) signedOut() { _ = e.send("signed-out", e.now(), "{}") }

// broken ends a page whose changes cannot be read. When that is because its session has ended, which a change may find
// before the next look does, the page gets the event of it.
func (e *events) broken(r *request, session *liveSession, err error) error {
	if hasCode(err, "unauthorized") && !session.goesOn(r, 0) {
		e.signedOut()
	}
	if r.Context().Err() == nil {
		r.s.deps.Log.DebugContext(r.Context(), "a live page ended", "error", err)
	}
	return nil
}

// livePage reads from the URL which checks are on the page.
func (r *request) livePage() (*livePage, error) {
	me, err := r.api.GetMeWithResponse(r.Context())
	if err != nil {
		return nil, err
	}
	query := r.URL.Query()
	p := &livePage{
		org: me.JSON200.Data.Organization.Id, user: r.who.UserID, r: r, pending: make(map[uuid.UUID]*client.Check), wake: make(chan struct{}, 1),
	}
	ids := idSet(query.Get("rows") + "," + query.Get("check"))
	for id := range ids {
		if len(p.checks) < maxStreamRows {
			p.checks = append(p.checks, id)
		}
	}
	return p, nil
}

// idSet reads ids with commas between them.
func idSet(list string) map[uuid.UUID]bool {
	set := make(map[uuid.UUID]bool)
	for text := range strings.SplitSeq(list, ",") {
		if id, err := uuid.Parse(text); err == nil {
			set[id] = true
		}
	}
	return set
}

// events writes server-sent events to one page.
type events struct {
	s       *Server
	w       http.ResponseWriter
	control *http.ResponseController
	now     func() time.Time
	page    *request // for the page itself
	kind    string
	made    time.Time            // when the page was made; zero when that is not known
	since   time.Time            // what changed before is on the page; zero when it needs everything
	states  map[uuid.UUID]string // of the checks on the page
	rows    map[uuid.UUID]string // prints of the rows of checks that the page has
	listed  rowsChanged
	noted   string // of the rows that came and went
	sent    partsSent
}

// send writes an event. Its id is the time, in milliseconds since 1970.
func (e *events) send(name string, at time.Time, data string) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "id: %d\nevent: %s\n", at.UnixMilli(), name)
	for line := range strings.SplitSeq(data, "\n") {
		fmt.Fprintf(&out, "data: %s\n", line)
	}
	out.WriteString("\n")
	return e.write(out.Bytes())
}

func (e *events) comment() error { return e.write([]byte(": \n\n")) }

func (e *events) write(text []byte) error {
	_ = e.control.SetWriteDeadline(e.now().Add(streamDeadline)) // not every writer has one
	if _, err := e.w.Write(text); err != nil {
		return err
	}
	return e.control.Flush()
}

// stateChange says that a check changed its state, for the line that readers speak.
type stateChange struct {
	Row   string `json:"row"`
	State string `json:"state"`
	Text  string `json:"text"`
}

// changes sends what changed. follows says that more may follow from it.
func (e *events) changes(r *request, p *livePage) (follows bool, err error) {
	r.now = e.now()
	e.page.now = r.now
	checks, stale := p.take()
	kind, ok := e.s.liveKinds()[e.kind]
	if !ok {
		return false, nil
	}
	var states []stateChange
	if e.kind == liveChecks {
		states, err = e.overview(p, checks, stale)
		follows = stale || len(states) > 0
	} else if len(checks) > 0 || stale {
		states, err, follows = e.statesOf(checks), e.whole(kind), true
	}
	if err != nil || len(states) == 0 {
		return follows, err
	}
	text, err := json.Marshal(states)
	if err != nil {
		return follows, err
	}
	return follows, e.send("states", r.now, string(text))
}

// whole reads the page again and sends its parts that have changed.
func (e *events) whole(kind liveKind) error {
	p, err := kind.read(e.page)
	if hasCode(err, "not_found") {
		return e.send("gone", e.now(), "{}")
	}
	if err != nil {
		return err
	}
	if p.Menu, err = e.page.menu(p.Nav); err != nil {
		return err
	}
	return e.parts(kind, &p)
}

// statesOf returns which of the checks have changed their state.
func (e *events) statesOf(checks map[uuid.UUID]*client.Check) (states []stateChange) {
	for id, check := range checks {
		if check == nil || check.Summary == nil {
			continue
		}
		if state := string(check.Summary.State); e.states[id] != state {
			e.states[id] = state
			states = append(states, stateChange{Row: rowID(id), State: state, Text: check.Name + ": " + stateText(check)})
		}
	}
	return states
}

// stateText words the state of a check: failing in 2 of 3 regions.
func stateText(c *client.Check) string {
	if badge := checkBadge(c, c.Summary); badge != nil {
		return strings.ToLower(badge.Text)
	}
	return ""
}
