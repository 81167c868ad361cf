// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil/client"
)

// checkView is what the URL of the overview says.
type checkView struct {
	Query, State, Type string
	Labels             []string // of the API: key=value, key or !key
	Group              string   // state, type, none, or label: and the key of a label
	Sort               string   // of the API; empty: as the groups need it
	Cursor             string
}

func readCheckView(values url.Values) checkView {
	v := checkView{
		Query: strings.TrimSpace(values.Get("query")), State: values.Get("state"), Type: values.Get("type"),
		Group: values.Get("group"), Sort: values.Get("sort"), Cursor: values.Get("cursor"),
	}
	for _, label := range values["label"] {
		if label != "" && !slices.Contains(v.Labels, label) {
			v.Labels = append(v.Labels, label)
		}
	}
	if !slices.Contains([]string{groupState, groupType, groupNone}, v.Group) && v.room() == "" {
		v.Group = groupState
	}
	return v
}

// Ways to group the checks.
const (
	groupState = "state"
	groupType  = "type"
	groupNone  = "none"
	groupLabel = "label:" // and the key of a label
)

// room is the key of the label that the checks are grouped by; empty for another way to group them.
func (v *checkView) room() string {
	key, ok := strings.CutPrefix(v.Group, groupLabel)
	if !ok {
		return ""
	}
	return key
}

// filtered reports whether the view leaves checks out.
func (v *checkView) filtered() bool {
	return v.Query != "" || v.State != "" || v.Type != "" || len(v.Labels) > 0
}

// values are the view as parameters, without the cursor.
func (v checkView) values() url.Values {
	values := url.Values{}
	for name, value := range map[string]string{"query": v.Query, "state": v.State, "type": v.Type, "sort": v.Sort} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if v.Group != groupState {
		values.Set("group", v.Group)
	}
	if len(v.Labels) > 0 {
		values["label"] = v.Labels
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
	v.Cursor, v.Labels = "", slices.Clone(v.Labels)
	change(&v)
	return v.href()
}

// params are the parameters of the API's list.
func (v *checkView) params() *client.ListChecksParams {
	yes, limit := true, int64(rowsPerPage)
	p := &client.ListChecksParams{Limit: &limit, Summary: &yes, Counts: &yes, LabelKeys: &yes}
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
	if len(v.Labels) > 0 {
		p.Label = &v.Labels
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

// withLabel is the address of the view with one label more.
func (v checkView) withLabel(label string) string {
	return v.with(func(v *checkView) {
		if !slices.Contains(v.Labels, label) {
			v.Labels = append(v.Labels, label)
		}
	})
}

// labelLink is a label of a check: a link to the checks that have it.
type labelLink struct{ Text, Href string }

// Found says how many checks are in the list, for readers.
func (b *overviewBody) Found() string {
	text := counted(b.Total, "check")
	switch {
	case b.Total == 0:
		text = "No check"
	case b.Capped:
		text = "More than " + text
	}
	if b.Query != "" {
		return text + " found"
	}
	return text
}

// labelsShown is how many labels a row of the list has; the page of the check has all.
const labelsShown = 2

// labelLinks are labels by their keys, each as a filter beside those of the view.
func labelLinks(labels map[string]string, view checkView) []labelLink {
	links := make([]labelLink, 0, len(labels))
	for key, value := range labels {
		links = append(links, labelLink{Text: key + "=" + value, Href: view.withLabel(key + "=" + value)})
	}
	slices.SortFunc(links, func(a, b labelLink) int { return strings.Compare(a.Text, b.Text) })
	return links
}

// chip is a filter that is on, with the address of the view without it.
type chip struct{ Kind, Text, Href string }

// chips are the filters of the view that no segment shows.
func (v checkView) chips() (chips []chip) {
	for i, label := range v.Labels {
		text := label
		if key, without := strings.CutPrefix(label, "!"); without {
			text = "no " + key
		}
		chips = append(chips, chip{"Label", text, v.with(func(v *checkView) { v.Labels = slices.Delete(v.Labels, i, i+1) })})
	}
	if v.Type != "" {
		chips = append(chips, chip{"Type", v.Type, v.with(func(v *checkView) { v.Type = "" })})
	}
	return chips
}

// sortColumn is a column that the list can be sorted by: in the head of the table and in the menu.
type sortColumn struct{ text, class, by, long string }

func sortColumns() []sortColumn {
	return []sortColumn{
		{"Check", "name", "name", "Name"},
		{"Type", "type", "type", "Type"},
		{"Every", "every num", "interval_seconds", "Interval"},
		{"Last 60 results", "last", "", ""},
		{"Up 24 h, %", "up24 num", "uptime_24h", "Uptime"},
		{"p95, ms", "p95 num", "p95_ms", "Response time"},
		{"Regions", "regions", "regions", "Regions passing"},
		{"Seen", "seen num", "last_checked", "Last seen"},
	}
}

// sorted is a column as the view is sorted by it: its link turns from up to down to the order of the groups.
func (v checkView) sorted(text, class, by string) column {
	c := column{Text: text, Class: class}
	if by == "" {
		return c
	}
	to := func(sort string) string {
		return v.with(func(v *checkView) {
			v.Sort = sort
			switch {
			case v.room() != "":
			case sort == "":
				v.Group = groupState
			default:
				v.Group = groupNone
			}
		})
	}
	switch c.Href = to(by); v.Sort {
	case by:
		c.Sorted, c.Href = "ascending", to("-"+by)
	case "-" + by:
		c.Sorted, c.Href = "descending", to("")
	}
	return c
}

// checkView is the view of the list where the request is for it, and that of all checks elsewhere.
func (r *request) checkView() checkView {
	if r.URL.Path == "/app" {
		return readCheckView(r.URL.Query())
	}
	return readCheckView(nil)
}

// byFigure reports whether an order is by what all checks have to be looked at for.
func byFigure(sort string) bool {
	return slices.Contains([]string{"uptime_24h", "p95_ms", "regions", "last_checked"}, strings.TrimPrefix(sort, "-"))
}

// labelsOf are the labels of a check; none of one that is deleted.
func (r *request) labelsOf(c *client.Check) []labelLink {
	if c == nil {
		return nil
	}
	return labelLinks(c.Labels, r.checkView())
}
