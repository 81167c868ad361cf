// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil/client"
)

func (s *Server) overviewRoutes(on *routes) {
	on.page("GET /app", s.overview)
	on.open("GET /app/{$}", func(r *request) error { return r.redirect("/app") })
	on.page("POST /app/checks/bulk", s.bulk)
}

// rowsPerPage is how many checks a page of the overview has: more take the browser long.
const rowsPerPage = 100

// checkView is what the URL of the overview says.
type checkView struct {
	Query, State, Type, Label string
	Group                     string // state, type or none
	Sort                      string // of the API; empty: as the groups need it
	Cursor                    string
}

func readCheckView(values url.Values) checkView {
	v := checkView{
		Query: strings.TrimSpace(values.Get("query")), State: values.Get("state"), Type: values.Get("type"), Label: values.Get("label"),
		Group: values.Get("group"), Sort: values.Get("sort"), Cursor: values.Get("cursor"),
	}
	if !slices.Contains([]string{groupState, groupType, groupNone}, v.Group) {
		v.Group = groupState
	}
	return v
}

// Ways to group the checks.
const (
	groupState = "state"
	groupType  = "type"
	groupNone  = "none"
)

// filtered reports whether the view leaves checks out.
func (v *checkView) filtered() bool {
	return v.Query != "" || v.State != "" || v.Type != "" || v.Label != ""
}

// values are the view as parameters, without the cursor.
func (v checkView) values() url.Values {
	values := url.Values{}
	for name, value := range map[string]string{"query": v.Query, "state": v.State, "type": v.Type, "label": v.Label, "sort": v.Sort} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if v.Group != groupState {
		values.Set("group", v.Group)
	}
	return values
}

// href is the address of the view.
func (v checkView) href() string {
	if text := v.values().Encode(); text != "" {
		return "/app?" + text
	}
	return "/app"
}

// with returns the address of the view after a change.
func (v checkView) with(change func(*checkView)) string {
	v.Cursor = ""
	change(&v)
	return v.href()
}

// params are the parameters of the API's list.
func (v *checkView) params() *client.ListChecksParams {
	yes, limit := true, int64(rowsPerPage)
	p := &client.ListChecksParams{Limit: &limit, Summary: &yes, Counts: &yes}
	set := func(to **string, value string) {
		if value != "" {
			*to = &value
		}
	}
	set(&p.Query, v.Query)
	set(&p.Type, v.Type)
	set(&p.Cursor, v.Cursor)
	if v.State != "" {
		state := client.ListChecksParamsState(v.State)
		p.State = &state
	}
	if v.Label != "" {
		p.Label = &[]string{v.Label}
	}
	fallback := string(client.ListChecksParamsSortState)
	switch v.Group {
	case groupType:
		fallback = string(client.ListChecksParamsSortType)
	case groupNone:
		fallback = string(client.ListChecksParamsSortName)
	}
	sort := client.ListChecksParamsSort(cmp.Or(v.Sort, fallback))
	p.Sort = &sort
	return p
}

// overviewBody is what the overview shows.
type overviewBody struct {
	View    checkView
	Filters []choice
	Groupings,
	Types []choice
	GroupText string
	Query     string
	Hidden    [][2]string // the rest of the view, for the form of the filter
	Groups    []checkGroup
	Columns   []column
	More      *moreRows
	Total     int64
	Capped    bool
	Shown     int
	Empty     *empty
	First     *firstBody // nil when there is a check
	Back      string
	Close     *link // a check with a similar name

	checks []client.Check
	counts client.Counts
}

// Counted are the groups whose counts change: also those that the page has no row of.
func (b *overviewBody) Counted() (groups []checkGroup) {
	if b.View.Group != groupState {
		return nil
	}
	for _, state := range []string{"failing", "passing", "unknown", "disabled"} {
		name, id, count := groupOf(state, b.counts)
		groups = append(groups, checkGroup{Name: name, ID: id, Count: count})
	}
	return groups
}

// moreRows leads to the next rows.
type moreRows struct {
	Href, Part string
	Count      int
}

// checkGroup is a group of rows with its heading.
type checkGroup struct {
	Name, ID string
	Count    string
	Rows     []checkRow
	Heading  bool // false where the rows before are of the same group
}

// column is a head of the table; a link when the table can be sorted by it.
type column struct {
	Text, Class, Href, Sorted string
}

func (s *Server) overview(r *request) error {
	p, err := s.readOverview(r)
	if err != nil {
		return err
	}
	body, _ := p.Body.(*overviewBody)
	if r.partial() && body.View.Cursor != "" {
		return r.renderPart(http.StatusOK, "checks", "rows", body)
	}
	return r.render(http.StatusOK, "checks", p)
}

// readOverview reads the overview that the address of the request asks for.
func (s *Server) readOverview(r *request) (page, error) {
	view := readCheckView(r.URL.Query())
	list, err := r.api.ListChecksWithResponse(r.Context(), view.params())
	if err != nil {
		return page{}, err
	}
	data, meta := list.JSON200.Data, list.JSON200.Meta
	counts := client.Counts{}
	if meta.Counts != nil {
		counts = *meta.Counts
	}
	body := &overviewBody{
		View:    view,
		Query:   view.Query,
		Total:   totalOf(meta),
		Shown:   len(data),
		Back:    r.URL.RequestURI(),
		Columns: columns(view),
		checks:  data,
		counts:  counts,
	}
	body.Capped = meta.TotalCapped != nil && *meta.TotalCapped
	body.Filters = filters(view, counts)
	body.group(r, data, counts)
	if meta.NextCursor != nil {
		body.more(view, *meta.NextCursor)
	}
	types, err := r.checkTypes()
	if err != nil {
		return page{}, err
	}
	body.menus(view, types)
	all := counts.Failing + counts.Warning + counts.Passing + counts.Unknown + counts.Disabled
	switch {
	case len(data) > 0:
	case view.filtered():
		body.Empty = noMatch(view)
		body.Close = r.similar(view)
	case all == 0:
		body.First = firstForm(r)
	}
	for name, values := range view.values() {
		if name != "query" {
			body.Hidden = append(body.Hidden, [2]string{name, values[0]})
		}
	}
	slices.SortFunc(body.Hidden, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return page{Title: "Checks", Nav: navChecks, Live: "page=" + liveChecks, Body: body}, nil
}

func columns(v checkView) []column {
	sorted := func(c column, by string) column {
		down := "-" + by
		c.Href = v.with(func(v *checkView) { v.Sort, v.Group = by, groupNone })
		switch v.Sort {
		case by:
			c.Sorted, c.Href = "ascending", v.with(func(v *checkView) { v.Sort, v.Group = down, groupNone })
		case down:
			c.Sorted, c.Href = "descending", v.with(func(v *checkView) { v.Sort, v.Group = "", groupState })
		}
		return c
	}
	return []column{
		sorted(column{Text: "Check", Class: "name"}, "name"),
		{Text: "Type", Class: "type"},
		{Text: "Every", Class: "every num"},
		{Text: "Last 60 results", Class: "last"},
		{Text: "Up 24 h, %", Class: "up24 num"},
		{Text: "p95, ms", Class: "p95 num"},
		{Text: "Regions", Class: "regions"},
		{Text: "Seen", Class: "seen num"},
	}
}

// filters are the counts, each a link to the checks that it counts.
func filters(v checkView, n client.Counts) []choice {
	all := n.Failing + n.Warning + n.Passing + n.Unknown + n.Disabled
	list := []struct {
		state, mark, text string
		count             int64
	}{
		{"", "", "All", all},
		{"failing", "down", "Failing", n.Failing},
		{"warning", "warn", "Warning", n.Warning},
		{"passing", "up", "Passing", n.Passing},
		{"unknown", "unknown", "No result", n.Unknown},
		{"disabled", "paused", "Paused", n.Disabled},
	}
	var out []choice
	for _, each := range list {
		if each.state == "unknown" && each.count == 0 && v.State != "unknown" {
			continue
		}
		out = append(out, choice{
			Text: each.text, State: each.mark, Count: number(each.count), Chosen: v.State == each.state, ID: "count-" + cmp.Or(each.state, "all"),
			Href: v.with(func(v *checkView) { v.State = each.state }),
		})
	}
	return out
}

// menus are the choices of the Group control.
func (b *overviewBody) menus(v checkView, types *checkTypes) {
	texts := map[string]string{groupState: "state", groupType: "type", groupNone: "none"}
	b.GroupText = texts[v.Group]
	for _, name := range []string{groupState, groupType, groupNone} {
		b.Groupings = append(b.Groupings, choice{
			Text: texts[name], Chosen: v.Group == name, Href: v.with(func(v *checkView) { v.Group, v.Sort = name, "" }),
		})
	}
	b.Types = []choice{{Text: "All types", Chosen: v.Type == "", Href: v.with(func(v *checkView) { v.Type = "" })}}
	for _, kind := range types.all {
		b.Types = append(b.Types, choice{
			Text: kind.Type, Chosen: v.Type == kind.Type, Href: v.with(func(v *checkView) { v.Type = kind.Type }),
		})
	}
}

// group puts the rows into groups, in the order in which the API lists them.
func (b *overviewBody) group(r *request, data []client.Check, n client.Counts) {
	for i := range data {
		row := r.checkRow(&data[i])
		group := checkGroup{ID: "all"}
		switch b.View.Group {
		case groupType:
			group.Name, group.ID, group.Heading = row.Type, "type-"+row.Type, b.View.Cursor == "" || len(b.Groups) > 0
		case groupState:
			group.Name, group.ID, group.Count = groupOf(row.State, n)
			group.Heading = b.View.Cursor == "" || len(b.Groups) > 0
		}
		if len(b.Groups) == 0 || b.Groups[len(b.Groups)-1].ID != group.ID {
			b.Groups = append(b.Groups, group)
		}
		last := &b.Groups[len(b.Groups)-1]
		last.Rows = append(last.Rows, row)
	}
}

// groupOf is the group of a state of a check.
func groupOf(state string, n client.Counts) (name, id, count string) {
	switch state {
	case "failing", "warning":
		return "Needs attention", "attention", number(n.Failing + n.Warning)
	case "unknown":
		return "No result", "unknown", number(n.Unknown)
	case "disabled":
		return "Paused", "paused", number(n.Disabled)
	}
	return "Passing", "passing", number(n.Passing)
}

// more leads to the rows after these.
func (b *overviewBody) more(v checkView, cursor string) {
	v.Cursor = cursor
	values := v.values()
	values.Set("cursor", cursor)
	b.More = &moreRows{Href: "/app?" + values.Encode(), Count: rowsPerPage}
}

func noMatch(v checkView) *empty {
	e := &empty{
		Icon:   "search",
		Title:  "No check matches",
		Text:   "No check is in this selection.",
		Action: &link{Text: "Clear filter", Href: "/app"},
		Key:    "Esc",
	}
	words := map[string]string{
		"failing":  "failing",
		"warning":  "warning",
		"passing":  "passing",
		"unknown":  "without a result",
		"disabled": "paused",
	}
	if v.Query != "" {
		e.Title = "No check matches “" + v.Query + "”"
		e.Text = "Names and targets are searched."
	}
	if word := words[v.State]; word != "" {
		e.Text = "Filtered to " + word + " checks."
	}
	return e
}
