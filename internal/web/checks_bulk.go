// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"net/http"
	"net/url"

	"github.com/vigil-monitor/vigil/client"
)

// namesShown is how many names of checks that are to be deleted are shown.
const namesShown = 20

// bulk changes the selected checks.
func (s *Server) bulk(r *request) error {
	posted, err := r.posted()
	if err != nil {
		return err
	}
	back := ownPath(cmp.Or(posted.Get("back"), "/app"))
	ids := posted["id"]
	if len(ids) == 0 && posted.Get("all") == "" {
		r.flash(flash{Mark: "unknown", Text: "No check is selected."})
		return r.redirect(back)
	}
	switch action := posted.Get("action"); action {
	case "test":
		return r.beginTests(posted, back)
	case "delete":
		if posted.Get("confirmed") == "" {
			return r.confirmDelete(posted, back)
		}
	}
	defer r.s.nav.forget(r.who.UserID)
	result, err := r.changeChecks(posted, false)
	if err != nil {
		return err
	}
	r.flash(bulkFlash(posted, result, back))
	return r.redirect(back)
}

// changeChecks sends the selection to the API.
func (r *request) changeChecks(posted url.Values, dryRun bool) (*client.BulkResult, error) {
	body := client.CheckBulkRequest{Action: client.CheckBulkRequestAction(posted.Get("action")), DryRun: &dryRun}
	ids := posted["id"]
	if posted.Get("all") == "" {
		body.Ids = &ids
	} else {
		body.Selector = selectorOf(posted)
	}
	done, err := r.api.ChangeChecksWithResponse(r.Context(), body)
	if err != nil {
		return nil, err
	}
	return &done.JSON200.Data, nil
}

// selectorOf reads the filters of the list from a form that says all.
func selectorOf(posted url.Values) *client.BulkSelector {
	s := &client.BulkSelector{}
	set := func(to **string, name string) {
		if value := posted.Get("f." + name); value != "" {
			*to = &value
		}
	}
	set(&s.Query, "query")
	set(&s.Type, "type")
	if value := posted.Get("f.state"); value != "" {
		state := client.BulkSelectorState(value)
		s.State = &state
	}
	if labels := posted["f.label"]; len(labels) > 0 {
		s.Labels = &labels
	}
	if *s == (client.BulkSelector{}) {
		// Every check: the API wants at least one condition.
		if posted.Get("action") == "enable" {
			no := false
			s.Enabled = &no
		} else if posted.Get("action") == "disable" {
			yes := true
			s.Enabled = &yes
		}
	}
	return s
}

// bulkFlash says what was done, with a way back where there is one.
func bulkFlash(posted url.Values, result *client.BulkResult, back string) flash {
	words := map[string]string{"disable": "paused", "enable": "resumed", "delete": "deleted"}
	reverse := map[string]string{"disable": "enable", "enable": "disable"}
	action := posted.Get("action")
	f := flash{Mark: "done", Text: counted(result.Changed, "check") + " " + words[action]}
	f = f.warn(warningsOf(result.Checks)...)
	undo, ok := reverse[action]
	if !ok || result.Changed == 0 {
		return f
	}
	var ids []string
	for _, check := range result.Checks {
		if check.Changed {
			ids = append(ids, check.Id.String())
		}
	}
	f.Post, f.Link, f.LinkText = true, "/app/checks/bulk", "Undo"
	f.Fields = map[string][]string{"action": {undo}, "id": ids, "back": {back}}
	return f
}

// warningsOf returns what the API warns of each check.
func warningsOf(checks []client.BulkCheck) []*[]string {
	warnings := make([]*[]string, len(checks))
	for i := range checks {
		warnings[i] = checks[i].Warnings
	}
	return warnings
}

// confirmDelete asks, and lists what would be deleted.
func (r *request) confirmDelete(posted url.Values, back string) error {
	result, err := r.changeChecks(posted, true)
	if err != nil {
		return err
	}
	c := confirm{
		Title: "Delete " + counted(result.Matched, "check") + "?", Button: "Delete " + counted(result.Matched, "check"),
		Text:   "Their results, rules and incidents are deleted with them. This cannot be undone.",
		Action: "/app/checks/bulk", Back: back, Fields: map[string][]string{"action": {"delete"}, "confirmed": {"yes"}, "back": {"/app"}},
	}
	for i, check := range result.Checks {
		c.Fields["id"] = append(c.Fields["id"], check.Id.String())
		if i < namesShown {
			c.Names = append(c.Names, check.Name)
		}
	}
	c.More = max(0, len(result.Checks)-namesShown)
	return r.render(http.StatusOK, "confirm", page{Title: c.Title, Nav: navChecks, Body: c})
}
