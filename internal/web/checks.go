// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/vigil-monitor/vigil/client"
)

func (s *Server) overviewRoutes(on *routes) {
	on.page("GET /app", s.overview)
	on.open("GET /app/{$}", func(r *request) error { return r.redirect("/app") })
	on.page("POST /app/checks/bulk", s.bulk)
}

// rowsPerPage is how many checks a page of the overview has: more take the browser long.
const rowsPerPage = 100

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
	Sorts     []choice
	Chips     []chip
	Columns   []column
	State     column // the head of the column without a text
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
	cut    bool // a room has more checks than are shown
}

// Counted are the groups whose counts change: also those that the page has no row of.
func (b *overviewBody) Counted() (groups []checkGroup) {
	if b.View.room() != "" {
		return b.Groups
	}
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

// more leads to the rows of the view behind a cursor.
func (v *checkView) more(cursor string) *moreRows {
	values := v.values()
	values.Set("cursor", cursor)
	return &moreRows{Href: "/app?" + values.Encode(), Part: "more", Count: rowsPerPage}
}

// checkGroup is a group of rows with its heading.
type checkGroup struct {
	Name, ID string
	Count    string
	Rows     []checkRow
	Heading  bool  // false where the rows before are of the same group
	Room     *room // nil but for the groups of a label
}

// column is a head of the table; a link when the table can be sorted by it.
type column struct {
	Text, Class, Href, Sorted string
}

func (s *Server) overview(r *request) error {
	var menu errgroup.Group // it is read beside the list, so that render finds it
	if !r.partial() {
		menu.Go(func() error {
			_, err := s.nav.read(r.Context(), r.api, r.who.UserID)
			return err
		})
	}
	p, err := s.readOverview(r)
	if waited := menu.Wait(); err == nil {
		err = waited
	}
	if err != nil {
		return err
	}
	body, _ := p.Body.(*overviewBody)
	r.keepFolded()
	if r.partial() && body.View.Cursor != "" {
		return r.renderPart(http.StatusOK, "checks", "rows", body)
	}
	return r.render(http.StatusOK, "checks", p)
}

// readOverview reads the overview that the address of the request asks for.
func (s *Server) readOverview(r *request) (page, error) { return s.overviewIn(r, "") }

// overviewIn is readOverview with its rows in another order than the address says, where one is given.
func (s *Server) overviewIn(r *request, order client.ListChecksParamsSort) (page, error) {
	view := readCheckView(r.URL.Query())
	body := &overviewBody{
		View:    view,
		Query:   view.Query,
		Back:    r.URL.RequestURI(),
		Columns: columns(view),
		State:   view.sorted("State", "state", "state"),
		Chips:   view.chips(),
	}
	var list *client.ListChecksResponse
	var err error
	if view.room() != "" {
		list, err = body.rooms(r)
	} else {
		params := view.params()
		if order != "" {
			params.Sort = &order
		}
		list, err = r.api.ListChecksWithResponse(r.Context(), params)
	}
	if err != nil {
		return page{}, err
	}
	meta := list.JSON200.Meta
	if meta.Counts != nil {
		body.counts = *meta.Counts
	}
	counts := body.counts
	body.Total, body.Filters = totalOf(meta), filters(view, counts)
	body.Capped = meta.TotalCapped != nil && *meta.TotalCapped
	if view.room() == "" {
		body.checks = list.JSON200.Data
		body.group(r, body.checks, counts)
		if meta.NextCursor != nil {
			body.more(view, *meta.NextCursor)
		}
	}
	body.Shown = len(body.checks)
	types, err := r.checkTypes()
	if err != nil {
		return page{}, err
	}
	body.menus(view, types, meta.LabelKeys)
	all := counts.Failing + counts.Warning + counts.Passing + counts.Unknown + counts.Disabled
	switch {
	case len(body.checks) > 0 || len(body.Groups) > 0:
	case view.filtered():
		body.Empty = noMatch(view)
		body.Close = r.similar(view)
	case all == 0:
		body.First = firstForm(r)
	}
	for name, values := range view.values() {
		for _, value := range values {
			if name != "query" {
				body.Hidden = append(body.Hidden, [2]string{name, value})
			}
		}
	}
	slices.SortFunc(body.Hidden, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return page{Title: "Checks", Nav: navChecks, Live: "page=" + liveChecks, Lean: true, Body: body}, nil
}

func columns(v checkView) (list []column) {
	for _, c := range sortColumns() {
		list = append(list, v.sorted(c.text, c.class, c.by))
	}
	return list
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
func (b *overviewBody) menus(v checkView, types *checkTypes, keys *[]client.LabelKey) {
	texts := map[string]string{groupState: "state", groupType: "type", groupNone: "none"}
	b.GroupText = cmp.Or(texts[v.Group], v.room())
	for _, name := range []string{groupState, groupType, groupNone} {
		b.Groupings = append(b.Groupings, choice{
			Text: texts[name], Chosen: v.Group == name, Href: v.with(func(v *checkView) { v.Group, v.Sort = name, "" }),
		})
	}
	known := false
	if keys != nil {
		for _, key := range *keys {
			known = known || key.Key == v.room()
			b.byLabel(v, key.Key)
		}
	}
	if v.room() != "" && !known {
		b.byLabel(v, v.room())
	}
	b.Sorts = []choice{{Text: "As the groups are", Chosen: v.Sort == "", Href: v.with(func(v *checkView) { v.Sort = "" })}}
	for _, c := range append([]sortColumn{{"", "", "state", "State"}}, sortColumns()...) {
		if c.by == "" {
			continue
		}
		way := v.sorted(c.long, "", c.by)
		arrow := map[string]string{"ascending": " ↑", "descending": " ↓"}[way.Sorted]
		b.Sorts = append(b.Sorts, choice{Text: c.long + arrow, Chosen: way.Sorted != "", Href: way.Href})
	}
	b.Types = []choice{{Text: "All types", Chosen: v.Type == "", Href: v.with(func(v *checkView) { v.Type = "" })}}
	for _, kind := range types.all {
		b.Types = append(b.Types, choice{
			Text: kind.Type, Chosen: v.Type == kind.Type, Href: v.with(func(v *checkView) { v.Type = kind.Type }),
		})
	}
}

// byLabel adds a label to the choices of the Group control.
func (b *overviewBody) byLabel(v checkView, key string) {
	group := groupLabel + key
	b.Groupings = append(b.Groupings, choice{
		Text: "label " + key, Chosen: v.Group == group, Href: v.with(func(v *checkView) { v.Group, v.Sort = group, "" }),
	})
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
	b.More = v.more(cursor)
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
		e.Text = "Names, targets, labels, errors and cities are searched."
	}
	if word := words[v.State]; word != "" {
		e.Text = "Filtered to " + word + " checks."
	}
	return e
}
