// SPDX-License-Identifier: Apache-2.0

package web

import (
	"strings"

	"github.com/vigil-monitor/vigil/client"
)

// checkVerb is what can be done with checks by a word before what finds them.
type checkVerb struct {
	text   string // before the name of the check
	icon   string
	action string // of the form that changes several checks; empty: a page of the check
	page   string
	rest   string // of the form that pauses or mutes a check until a time
	only   *bool  // enabled checks, or those that are not
}

// checkVerbs are the words. What cannot be undone leads to the page that asks.
func checkVerbs() map[string]checkVerb {
	yes, no := true, false
	return map[string]checkVerb{
		"pause":  {text: "Pause", icon: "pause", action: "disable", only: &yes},
		"resume": {text: "Resume", icon: "play", action: "enable", only: &no},
		"mute":   {text: "Mute for 1 hour:", icon: "pause", rest: "mute:hour", only: &yes},
		"test":   {text: "Test", icon: "again", action: "test"},
		"edit":   {text: "Edit", icon: "settings", page: "/edit"},
		"delete": {text: "Delete…", icon: "close", page: "/delete"},
	}
}

// onChecks are an action on each check that a text finds.
func (b *findBody) onChecks(r *request, verb string, do checkVerb, text string) ([]found, error) {
	checks, err := findChecks(r, &client.ListChecksParams{Query: &text, Enabled: do.only})
	if err != nil {
		return nil, err
	}
	items := checks[:0]
	for _, item := range checks {
		if verb == "test" && item.Detail == kindHeartbeat {
			continue // nothing probes it
		}
		id := strings.TrimPrefix(item.Href, "/app/checks/")
		item.Kind, item.Icon, item.Mark, item.Text = "action", do.icon, nil, do.text+" "+item.Text
		switch {
		case do.page != "":
			item.Href += do.page
		case do.rest != "":
			item.Action, item.Href, item.Fields = item.Href+"/rest", "", [][2]string{{"for", do.rest}}
		default:
			item.Href, item.Action = "", "/app/checks/bulk"
			item.Fields = [][2]string{{"id", id}, {"action", do.action}, {"back", b.Back}}
		}
		items = append(items, item)
	}
	return items, nil
}

// findChecks are the checks that a list has, those that need attention first.
func findChecks(r *request, params *client.ListChecksParams) ([]found, error) {
	yes, limit, sort := true, int64(foundMost), client.ListChecksParamsSortState
	params.Summary, params.Limit, params.Sort = &yes, &limit, &sort
	list, err := r.api.ListChecksWithResponse(r.Context(), params)
	if err != nil {
		return nil, err
	}
	var items []found
	for i := range list.JSON200.Data {
		c := &list.JSON200.Data[i]
		item := found{Kind: "check", Text: c.Name, Detail: r.targetOf(c), Href: "/app/checks/" + c.Id.String()}
		if string(c.Type) == kindHeartbeat {
			item.Detail = kindHeartbeat
		}
		if c.Summary != nil {
			m := stateMark(string(c.Summary.State))
			item.Mark = &m
		}
		items = append(items, item)
	}
	return items, nil
}

// incidents are the open ones that a text finds, and with the word acknowledge what acknowledges them.
func (b *findBody) incidents(r *request, verb, rest string, readOnly bool) ([]found, error) {
	text := b.Query
	acknowledges := verb == "acknowledge" && !readOnly
	if acknowledges {
		text = rest
	}
	var items []found
	open := []client.ListIncidentsParamsStatus{client.ListIncidentsParamsStatusActive, client.ListIncidentsParamsStatusAcknowledged}
	for _, status := range open {
		limit := int64(100)
		list, err := r.api.ListIncidentsWithResponse(r.Context(), &client.ListIncidentsParams{Limit: &limit, Status: &status})
		if err != nil {
			return nil, err
		}
		for k := range list.JSON200.Data {
			i := &list.JSON200.Data[k]
			if len(items) == foundMost || !has(text, i.Title, i.Description) {
				continue
			}
			row := incidentRowOf(r, i)
			item := found{Kind: "incident", Mark: &row.Mark, Text: row.Title, Detail: handledBy(i), Href: row.Href}
			if acknowledges {
				if !row.Acknowledge {
					continue
				}
				item.Kind, item.Icon, item.Mark, item.Text = "action", "person", nil, "Acknowledge "+row.Title
				item.Action, item.Href, item.Fields = row.Href+"/acknowledge", "", [][2]string{{"back", b.Back}}
			}
			items = append(items, item)
		}
	}
	return items, nil
}

// has reports whether one of the texts has the words that are looked for, in any case.
func has(words string, texts ...string) bool {
	words = strings.ToLower(words)
	for _, text := range texts {
		if strings.Contains(strings.ToLower(text), words) {
			return true
		}
	}
	return false
}

// makes are the forms of what can be made: new tcp.
func (b *findBody) makes(r *request, verb, rest string) ([]found, error) {
	text := b.Query
	if verb == "new" {
		text = rest
	}
	to := func(text, href string) found {
		return found{Kind: "action", Icon: "plus", Text: text, Href: href}
	}
	var items []found
	for _, one := range []found{
		to("New check", "/app/checks/new"), to("New channel", "/app/channels/new"), to("New maintenance window", "/app/maintenance/new"),
		to("New drill", "/app/drills/new"), to("New API key", "/app/api-keys/new"),
	} {
		if has(text, one.Text) {
			items = append(items, one)
		}
	}
	if text == "" {
		return items[:1], nil
	}
	types, err := r.checkTypes()
	if err != nil {
		return nil, err
	}
	for _, kind := range types.all {
		if strings.HasPrefix(kind.Type, strings.ToLower(text)) {
			item := to("New "+kind.Type+" check", "/app/checks/new?type="+kind.Type)
			item.Detail = kind.About
			items = append(items, item)
		}
	}
	return items, nil
}

// pages are those of the navigation whose names have the text.
func (b *findBody) pages(r *request) ([]found, error) {
	menu, err := r.menu("")
	if err != nil {
		return nil, err
	}
	var items []found
	add := func(text, href, icon string) {
		if has(b.Query, text) {
			items = append(items, found{Kind: "page", Icon: icon, Text: text, Href: href})
		}
	}
	for _, group := range menu.Groups {
		for _, item := range group.Items {
			add(item.Text, item.Href, item.Icon)
		}
	}
	add("Account", "/app/account", "person")
	add("Appearance, keys and help", "/app/help", "list")
	return items, nil
}
