// SPDX-License-Identifier: Apache-2.0

package web

import "net/http"

// moreRoutes are the pages beside the subjects: what the small navigation leaves out, and
// the list of keys.
func (s *Server) moreRoutes(on *routes) {
	on.page("GET /app/more", func(r *request) error {
		menu, err := r.menu(navMore)
		if err != nil {
			return err
		}
		return r.render(http.StatusOK, "more", page{Title: "More", Nav: navMore, Body: menu})
	})
	on.page("GET /app/help", func(r *request) error {
		return r.render(http.StatusOK, "help", page{Title: "Keys", Body: r.helpBody()})
	})
}

// keyHelp is a key with what it does.
type keyHelp struct {
	Keys []string
	Text string
}

type helpBody struct {
	Keys  []keyHelp
	On    bool
	Theme string
	Zone  string
	Back  string
}

func (r *request) helpBody() helpBody {
	return helpBody{
		On: !r.prefs.NoKeys, Theme: r.prefs.Theme, Zone: r.prefs.Zone.String(), Back: r.URL.RequestURI(),
		Keys: []keyHelp{
			{[]string{"?"}, "Show these keys"},
			{[]string{"Ctrl K"}, "Find a check, an incident or a page, or do something: pause checkout; Cmd K on a Mac"},
			{[]string{"/"}, "Go to the filter"},
			{[]string{"Esc"}, "Clear the filter or the selection, close"},
			{[]string{"j", "k"}, "Next row, previous row; the arrows do the same"},
			{[]string{"Enter"}, "Open the row"},
			{[]string{"x"}, "Select the row; with Shift, the rows since the last one"},
			{[]string{"c"}, "New check"},
			{[]string{"p"}, "Pause or resume"},
			{[]string{"t"}, "Test now"},
			{[]string{"e"}, "Edit"},
			{[]string{"a"}, "Acknowledge the incident"},
			{[]string{"d"}, "Send the delivery again"},
			{[]string{"r"}, "Sort the rows again"},
			{[]string{"g", "c"}, "Go to checks"},
			{[]string{"g", "i"}, "Go to incidents"},
			{[]string{"g", "d"}, "Go to deliveries"},
			{[]string{"g", "h"}, "Go to channels"},
			{[]string{"g", "s"}, "Go to status pages"},
		},
	}
}
