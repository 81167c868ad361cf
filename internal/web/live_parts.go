// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"encoding/json"
	"hash/fnv"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// liveKind is a kind of page that changes by itself. Every fact on it is in one of its parts:
// templates of the whole page's dot, which the page itself is made of too. A part is sent when
// it changes, and replaces the elements with the ids of its own.
type liveKind struct {
	template string
	parts    []string
	read     func(r *request) (page, error)
}

// liveKinds are the pages that change by themselves, by the parameter page of their stream.
func (s *Server) liveKinds() map[string]liveKind {
	return map[string]liveKind{
		liveChecks: {template: "checks", parts: []string{"checks-filters", "checks-groups", "checks-matching"}, read: s.readOverview},
		liveCheck: {template: "check", read: s.readCheckPage, parts: []string{
			"check-title", "check-tools", "check-what", "check-banner", "check-windows", "check-figures", "check-wait", "check-chart",
			"check-days", "check-late", "check-loops", "check-results-head", "check-results", "check-rules", "check-recipients",
		}},
		liveIncident: {template: "incident", read: s.readIncidentPage, parts: []string{
			"incident-title", "incident-tools", "incident-lead", "incident-figures", "incident-lanes", "incident-timeline", "incident-more",
			"incident-facts", "incident-updates", "incident-before", "incident-thumb",
		}},
		liveIncidents:  {template: "incidents", parts: []string{"incidents-filters", "incidents-list"}, read: s.readIncidents},
		liveDeliveries: {template: "deliveries", parts: []string{"deliveries-filters", "deliveries-list"}, read: s.readDeliveries},
		liveDrills:     {template: "drills", parts: []string{"drills-schedules", "drills-filters", "drills-list"}, read: s.readDrills},
		liveWall:       {template: "wall", parts: []string{"wall-head", "wall-trouble", "wall-calm"}, read: s.readWall},
		liveDrill: {template: "drill", read: s.readDrillPage, parts: []string{
			"drill-title", "drill-tools", "drill-verdict", "drill-way", "drill-channels", "drill-facts", "drill-signed",
		}},
	}
}

// Kinds of pages that change by themselves.
const (
	liveChecks     = "checks"
	liveCheck      = "check"
	liveIncident   = "incident"
	liveIncidents  = "incidents"
	liveDeliveries = "deliveries"
	liveDrills     = "drills"
	liveDrill      = "drill"
	liveWall       = "wall"
)

// navParts are the parts that every page has.
func navParts() []string { return []string{"side", "bottom", "blind"} }

// partsOf makes the parts of a page. The item of the navigation has been filled in.
func (s *Server) partsOf(kind liveKind, p *page) (texts []string, err error) {
	for _, name := range append(navParts(), kind.parts...) {
		text, err := s.fill(kind.template, name, p)
		if err != nil {
			return nil, err
		}
		texts = append(texts, string(bytes.TrimSpace(text)))
	}
	return texts, nil
}

// clocked are the texts that the browser keeps up to date by itself.
var clocked = regexp.MustCompile(`(<time [^>]*data-(?:age|countdown)[^>]*>)[^<]*`)

// printOf is a short text that differs when a part does, but for what the browser keeps up to
// date by itself.
func printOf(part string) string {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(clocked.ReplaceAllString(part, "$1")))
	return strconv.FormatUint(sum.Sum64(), 36)
}

// printsOf are the prints of the parts that a page is made of, for the address of its stream:
// it then sends what changed before it was opened, and nothing else.
func (s *Server) printsOf(p *page) (string, error) {
	query, err := url.ParseQuery(p.Live)
	if err != nil {
		return "", err
	}
	kind, ok := s.liveKinds()[query.Get("page")]
	if !ok {
		return "", nil
	}
	texts, err := s.partsOf(kind, p)
	if err != nil {
		return "", err
	}
	prints := make([]string, len(texts))
	for i, text := range texts {
		prints[i] = printOf(text)
	}
	return strings.Join(prints, "."), nil
}

// ofPage returns the request for the page that a stream belongs to, whose address is the
// parameter of.
func (r *request) ofPage() *request {
	address, err := url.Parse(ownPath(r.URL.Query().Get("of")))
	if err != nil {
		address = &url.URL{Path: "/app"}
	}
	copied := *r
	copied.Request = r.Clone(r.s.deps.InBackground(r.Context()))
	copied.URL = address
	copied.SetPathValue("id", path.Base(address.Path))
	return &copied
}

// partsSent is what the browser has of the parts of a page.
type partsSent struct {
	prints []string          // of the parts, in their order; empty for what is not known
	rows   map[string]string // prints of the results on the page of a check, by their ids
	title  string
}

// parts sends the parts of a page that have changed.
func (e *events) parts(kind liveKind, p *page) error {
	texts, err := e.s.partsOf(kind, p)
	if err != nil {
		return err
	}
	if len(e.sent.prints) != len(texts) {
		e.sent.prints = make([]string, len(texts))
	}
	var changed []string
	for i, text := range texts {
		same := printOf(text)
		known := same == e.sent.prints[i]
		e.sent.prints[i] = same
		short := e.withoutKnownRows(text)
		if !known {
			changed = append(changed, short)
		}
	}
	if len(changed) > 0 {
		if err := e.send("cells", e.now(), strings.Join(changed, "\n")); err != nil {
			return err
		}
	}
	tab := strings.ReplaceAll(p.Tab(), "\n", " ")
	if e.sent.title == tab {
		return nil
	}
	e.sent.title = tab
	text, err := json.Marshal(struct {
		Title string `json:"title"`
		Icon  string `json:"icon"`
	}{tab, p.TabIcon()})
	if err != nil {
		return err
	}
	return e.send("title", e.now(), string(text))
}

// resultStart begins the row of a result.
var resultStart = regexp.MustCompile(`<details class="result" id="([^"]+)"`)

// withoutKnownRows shortens the list of results on the page of a check: a row that the browser
// has is its id alone.
func (e *events) withoutKnownRows(text string) string {
	starts := resultStart.FindAllStringSubmatchIndex(text, -1)
	if len(starts) == 0 {
		return text
	}
	var short strings.Builder
	short.WriteString(text[:starts[0][0]])
	rows := make(map[string]string)
	for i, at := range starts {
		end := strings.LastIndex(text, "</details>") + len("</details>")
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		id, row := text[at[2]:at[3]], text[at[0]:end]
		rows[id] = printOf(row)
		if e.sent.rows[id] == rows[id] {
			row = `<details id="` + id + `" data-same></details>`
		}
		short.WriteString(row)
		if i+1 == len(starts) {
			short.WriteString(text[end:])
		}
	}
	e.sent.rows = rows
	return short.String()
}
