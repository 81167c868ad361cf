package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"vigil/client"
)

func (s *Server) liveRoutes(on *routes) {
	on.open("GET /app/stream", s.stream)
}

const (
	streamDeadline = 10 * time.Second // for a client to take an event
	maxStreamRows  = 300
	// sessionEvery is how often the open pages of a session look whether it goes on: pages of an ended one end
	// within five seconds.
	sessionEvery = 2 * time.Second
	freshResults = 12 // newest results of a check among which new ones are looked for
)

// stream sends what changes on a page as long as it is open: server-sent events with
// fragments of HTML, each of which replaces the content of one cell.
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
	out := &events{w: r.w, control: http.NewResponseController(r.w), now: s.deps.Now, states: make(map[uuid.UUID]string)}
	out.seen = idSet(r.URL.Query().Get("results"))
	if err := out.send("hello", r.now, "{}"); err != nil {
		return nil //nolint:nilerr // the page is closed
	}
	if r.URL.Query().Get("page") == "check" {
		if found, err := readChanged(r.Context(), []*livePage{p}, p.checks); err == nil {
			for id, check := range found {
				out.states[id] = string(check.Summary.State)
			}
		}
	}
	if r.Header.Get("Last-Event-Id") != "" || r.URL.Query().Get("again") != "" {
		// The page missed something: it gets all of its rows.
		if found, err := readChanged(r.Context(), []*livePage{p}, p.checks[:min(len(p.checks), liveBatch)]); err == nil {
			p.hand(p.checks, found)
		}
	}
	beat := time.NewTicker(s.deps.Config.beat())
	defer beat.Stop()
	token, every := s.sessions.manager.Token(r.Context()), min(sessionEvery, s.deps.Config.beat())
	session := s.live.enter(token)
	defer s.live.exit(token, session)
	look := time.NewTicker(every)
	defer look.Stop()
	for {
		select {
		case <-r.Context().Done():
			return nil
		case <-s.live.ended:
			return nil
		case <-look.C:
			if !session.goesOn(r, every) {
				_ = out.send("signed-out", s.deps.Now(), "{}")
				return nil
			}
		case <-beat.C:
			if out.comment() != nil {
				return nil
			}
		case <-p.wake:
			r.now = s.deps.Now()
			if err := out.changes(r, p); err != nil {
				if r.Context().Err() == nil {
					s.deps.Log.DebugContext(r.Context(), "a live page ended", "error", err)
				}
				return nil
			}
		}
	}
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
	w       http.ResponseWriter
	control *http.ResponseController
	states  map[uuid.UUID]string // of the checks that changed while the page was open
	seen    map[uuid.UUID]bool   // results that are on the page of a check
	lines   []template.HTML      // of the timeline, as the page of an incident has them
	counted countsSent
	now     func() time.Time
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

// changes sends the cells of what changed.
func (e *events) changes(r *request, p *livePage) error {
	var rows []checkRow
	var states []stateChange
	for id, check := range p.take() {
		if check == nil || check.Summary == nil {
			continue
		}
		row := r.checkRow(check)
		rows = append(rows, row)
		if before := e.states[id]; before != row.State {
			e.states[id] = row.State
			states = append(states, stateChange{Row: row.ID, State: row.State, Text: row.Name + ": " + stateText(check)})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	switch {
	case r.URL.Query().Get("page") == "incident":
		if err := e.incidentPage(r); err != nil {
			return err
		}
	case r.URL.Query().Get("page") == "check" && len(p.checks) == 1:
		if err := e.checkPage(r, p); err != nil {
			return err
		}
	default:
		cells, err := r.s.fill("checks", "cells", rows)
		if err != nil {
			return err
		}
		if err := e.send("cells", r.now, strings.TrimSpace(string(cells))); err != nil {
			return err
		}
	}
	if len(states) > 0 {
		text, err := json.Marshal(states)
		if err != nil {
			return err
		}
		if err := e.send("states", r.now, string(text)); err != nil {
			return err
		}
	}
	return e.counts(r, len(states) > 0)
}

// stateText words the state of a check: failing in 2 of 3 regions.
func stateText(c *client.Check) string {
	if badge := checkBadge(c, c.Summary); badge != nil {
		return strings.ToLower(badge.Text)
	}
	return ""
}

// livePart is what changes on the page of a check.
type livePart struct {
	Badge   *badge
	Banner  *checkBanner
	Figures []figure
	Loops   loopTable
	Results []resultRow
}

// checkPage sends what changed on the page of a check.
func (e *events) checkPage(r *request, p *livePage) error {
	view := readResultView(r.URL.Query())
	d, err := r.readCheckData(p.checks[0], view)
	if err != nil {
		return err
	}
	path := "/app/checks/" + p.checks[0].String()
	part := livePart{
		Badge: checkBadge(&d.check, d.summary), Banner: r.checkBanner(d), Figures: checkFigures(d),
		Loops: loopTable{Path: path, Live: true, Rows: r.loopRows(d.loops, d.uptimes["24h"])},
	}
	var fresh []client.Result
	for _, result := range d.results.Data[:min(len(d.results.Data), freshResults)] {
		if !e.seen[result.Id] {
			e.seen[result.Id] = true
			fresh = append(fresh, result)
		}
	}
	if view.Cursor == "" {
		part.Results = r.resultRows(fresh)
	}
	text, err := r.s.fill("check", "live-check", part)
	if err != nil {
		return err
	}
	return e.send("cells", r.now, strings.TrimSpace(string(text)))
}
