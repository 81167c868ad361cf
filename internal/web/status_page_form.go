// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
)

// pageForm is the form of a status page: a row for each check, which is on the page when it
// has a public name.
type pageForm struct {
	*form

	Rows []pageFormRow
	of   map[string]*field // of the rows, by their names
	// offered are the ids of the checks that have a row.
	offered map[string]bool
	sent    []string // ids of the checks in the groups of the request, group by group
	size    []int    // of each of these groups
	look    *statusLook
}

// pageFormRow is a check that the page shows or could show.
type pageFormRow struct {
	ID     string
	Check  string // its own name
	Target string
	Name   *field
	Group  *field
}

// statusPageBody is what the page of a status page shows.
type statusPageBody struct {
	Form           *pageForm
	Title          string
	Action, Button string
	Page           string // the address of the form
	Delete         string // empty for a new page
	URL, Address   string // where the public sees it; empty while the page is closed
	Revision       int64
	Badge          *badge
	Groups         []string // that exist, to choose from
	Query          string
	Label          string
	More           string // how many checks are not listed
	Preview        []previewGroup
	Shown          []shownBadge // of the checks that the stored page shows
	Host           *hostProof   // nil: nothing is to be verified
	Subscribers    string
	Look           *statusLook // nil for a new page
}

// previewGroup is a heading of the page and the names below it, as they are in the form.
type previewGroup struct {
	Name  string
	Names []string
}

// shownBadge is a service with the addresses of its badges.
type shownBadge struct {
	Name      string
	Addresses []string
}

// hostProof is the record that shows that a host may serve the page.
type hostProof struct{ Name, Text, Action string }

// statusPageForm declares the form with what is stored; nil for a new page. Its rows come
// with renderStatusPage.
func statusPageForm(r *request, p *client.StatusPage) *pageForm {
	f := &pageForm{form: newForm(r), of: make(map[string]*field), offered: make(map[string]bool)}
	var stored client.StatusPage
	stored.Enabled = true
	if p != nil {
		stored = *p
	} else {
		f.Heading = "Not created yet."
	}
	f.add(field{
		Name: "title", Label: "Title", Value: stored.Title, Required: true, Focus: p == nil,
		Help: "The name on the page, such as that of your organization.",
	})
	f.add(field{
		Name: "slug", Label: "Address", Value: stored.Slug, Required: true, Mono: true, Placeholder: "acme",
		Help: "The last part of " + r.s.deps.Config.PublicURL + "/status/…: lower-case letters, digits and hyphens.",
	})
	f.add(field{
		Name: "enabled", Label: "Public", Type: "checkbox", Checked: stored.Enabled, Help: "Otherwise the page and its badges answer 404.",
	})
	f.add(field{
		Name: "subscriptions", Label: "Readers may subscribe by mail and webhook", Type: "checkbox", Checked: stored.Subscriptions || p == nil,
		Help: "They are notified when an incident or maintenance begins and ends, and what you publish.",
	})
	f.add(field{
		Name: "response_times", Label: "Badges with response times are public", Type: "checkbox", Checked: stored.ResponseTimes,
	})
	f.add(field{
		Name: "accent", Label: "Color", Value: stored.Accent, Mono: true, Placeholder: "#0f5fa8",
		Help: "Of links and buttons. It must be readable on white; on dark backgrounds it is lightened.",
	})
	f.add(field{
		Name: "host", Label: "Domain of its own", Value: stored.Host, Mono: true, Placeholder: "status.example.com",
		Help: "The page is served there once a TXT record shows that it is yours. Your proxy needs its certificate.",
	})
	f.add(field{Name: "noindex", Label: "Ask search engines to leave it out", Type: "checkbox", Checked: stored.Noindex})
	return f
}

// checked is a checkbox of the form.
func (f *pageForm) checked(name string) *bool {
	on := f.values.Has(name)
	return &on
}

// groups returns the groups that were posted, in the order in which they are first named.
// A check without a public name is in none.
func (f *pageForm) groups() *[]client.StatusGroup {
	groups := []client.StatusGroup{}
	ids := make([][]string, 0)
	for _, id := range f.values["check"] {
		name, group := strings.TrimSpace(f.get("name."+id)), strings.TrimSpace(f.get("group."+id))
		if name == "" {
			continue
		}
		i := slices.IndexFunc(groups, func(g client.StatusGroup) bool { return g.Name == group })
		if i < 0 {
			i = len(groups)
			groups, ids = append(groups, client.StatusGroup{Name: group, Checks: []client.StatusCheck{}}), append(ids, nil)
		}
		parsed, err := uuid.Parse(id)
		if err != nil {
			continue // no row of ours
		}
		groups[i].Checks, ids[i] = append(groups[i].Checks, client.StatusCheck{CheckId: parsed, Name: name}), append(ids[i], id)
	}
	f.sent, f.size = slices.Concat(ids...), nil
	for _, group := range ids {
		f.size = append(f.size, len(group))
	}
	return &groups
}

// placeOf is the member of the API that a check of a group has.
var placeOf = regexp.MustCompile(`^groups\[(\d+)\](?:\.checks\[(\d+)\])?\.?(\w*)`)

// refusedPage is refused, with the API's messages about checks in their rows.
func (f *pageForm) refusedPage(err error) bool {
	for _, id := range f.values["check"] { // to put messages under
		f.row(field{Name: "name." + id, Label: "Public name"})
		f.row(field{Name: "group." + id, Label: "Group"})
	}
	if !f.refused(err) {
		return false
	}
	listed := f.Problems
	f.Problems = nil
	for _, p := range listed {
		place := placeOf.FindStringSubmatch(p.Message)
		if p.Link == "" && place != nil {
			_, says, _ := strings.Cut(p.Message, ": ")
			if f.reject(f.rowMember(place), says) {
				continue
			}
		}
		f.Problems = append(f.Problems, p)
	}
	return true
}

// rowMember is the field of the row that a member of groups came from; empty for none.
func (f *pageForm) rowMember(place []string) string {
	group, _ := strconv.Atoi(place[1])
	check, _ := strconv.Atoi(place[2])
	before := 0
	for i := 0; i < group && i < len(f.size); i++ {
		before += f.size[i]
	}
	if before+check >= len(f.sent) {
		return ""
	}
	if place[2] == "" {
		return "group." + f.sent[before]
	}
	return "name." + f.sent[before+check]
}

// formChecks is how many checks the form offers besides those that the page shows.
const formChecks = 100

// asks reports whether the form was sent to be shown again: to find checks, to move one, or to look at the
// page. Nothing is saved then, and what was typed stays.
func (f *pageForm) asks() bool {
	for _, name := range []string{"find", "add", "up", "down", "preview"} {
		if f.values.Has(name) {
			return true
		}
	}
	return false
}

// moved returns the ids of the form's checks after the button of one moved it by a row.
func (f *pageForm) moved() []string {
	ids := slices.Clone(f.values["check"])
	if at := slices.Index(ids, f.get("up")); at > 0 {
		ids[at-1], ids[at] = ids[at], ids[at-1]
	}
	if at := slices.Index(ids, f.get("down")); at >= 0 && at < len(ids)-1 {
		ids[at], ids[at+1] = ids[at+1], ids[at]
	}
	return ids
}

// preview is the page as the form has it.
func (f *pageForm) preview() []previewGroup {
	var shown []previewGroup
	for _, group := range *f.groups() {
		one := previewGroup{Name: group.Name}
		for _, check := range group.Checks {
			one.Names = append(one.Names, check.Name)
		}
		shown = append(shown, one)
	}
	return shown
}

// badgesOf lists the addresses of the badges of a page's services.
func badgesOf(r *request, p *client.StatusPage) []shownBadge {
	var shown []shownBadge
	for _, group := range p.Groups {
		for _, check := range group.Checks {
			base := r.s.deps.Config.PublicURL + "/badge/" + check.CheckId.String()
			one := shownBadge{Name: check.Name, Addresses: []string{base + ".svg"}}
			for _, figure := range []string{"uptime-7d", "uptime-30d", "uptime-90d"} {
				one.Addresses = append(one.Addresses, base+"/"+figure+".svg")
			}
			if p.ResponseTimes {
				one.Addresses = append(one.Addresses, base+"/response-time-30d.svg")
			}
			shown = append(shown, one)
		}
	}
	return shown
}

// renderStatusPage shows the form. The checks of the page come first, in its order, and
// then the others by name; the parameter query finds some among many.
func (s *Server) renderStatusPage(r *request, p *client.StatusPage, f *pageForm) error {
	body := &statusPageBody{
		Form:   f,
		Title:  "New status page",
		Action: "/app/status-pages", Page: "/app/status-pages/new",
		Button: "Create status page",
		Query: strings.TrimSpace(
			cmp.Or(f.get("query"), r.URL.Query().Get("query")),
		),
		Label:   strings.TrimSpace(f.get("label")),
		Preview: f.preview(),
	}
	// What was sent has the order, and a stored page the order of its groups.
	for _, id := range f.moved() {
		f.offer(id, "", "")
	}
	if p != nil {
		row := statusPageRowOf(r, p)
		body.Page = row.Href
		body.Title, body.Action, body.Button, body.Delete, body.Revision = p.Title, row.Href, "Save", row.Href+"/delete", revisionOf(p.Revision)
		body.Badge = &badge{State: row.Mark.State, Text: row.Mark.Word}
		if p.Enabled {
			body.URL, body.Address, body.Shown = row.URL, row.Address, badgesOf(r, p)
		}
		body.Subscribers = counted(p.Subscribers, "subscriber")
		if body.Look = f.look; body.Look == nil {
			body.Look = newStatusLook(p)
		}
		if p.Host != "" && p.HostVerifiedAt == nil {
			body.Host = &hostProof{"_vigil-status." + p.Host, "vigil-status-page=" + p.Id.String(), row.Href + "/host"}
		}
		for _, group := range p.Groups {
			if group.Name != "" {
				body.Groups = append(body.Groups, group.Name)
			}
			for _, check := range group.Checks {
				f.offer(check.CheckId.String(), check.Name, group.Name)
			}
		}
	}
	if err := s.offerChecks(r, f, body); err != nil {
		return err
	}
	return r.render(f.Status, "status_page", page{Title: body.Title, Nav: navStatus, Body: body})
}

// offerChecks adds the checks that can be chosen, and the names of those that are.
func (s *Server) offerChecks(r *request, f *pageForm, body *statusPageBody) error {
	limit, sort := int64(formChecks), client.ListChecksParamsSort("name")
	params := &client.ListChecksParams{Limit: &limit, Sort: &sort}
	if body.Query != "" {
		params.Query = &body.Query
	}
	if body.Label != "" {
		params.Label = &[]string{body.Label}
	}
	list, err := r.api.ListChecksWithResponse(r.Context(), params)
	if err != nil {
		return err
	}
	names := make(map[string]*client.Check, len(list.JSON200.Data))
	for k := range list.JSON200.Data {
		check := &list.JSON200.Data[k]
		names[check.Id.String()] = check
		f.offer(check.Id.String(), "", "")
		if f.values.Has("add") && (body.Query != "" || body.Label != "") {
			if name := f.of["name."+check.Id.String()]; name.Value == "" {
				name.Value = check.Name
			}
		}
	}
	if more := totalOf(list.JSON200.Meta) - int64(len(list.JSON200.Data)); more > 0 {
		body.More = counted(more, "more check")
	}
	var others []string
	for _, row := range f.Rows {
		if names[row.ID] == nil {
			others = append(others, row.ID)
		}
	}
	found, err := r.checksByID(others)
	if err != nil {
		return err
	}
	for i := range f.Rows {
		row := &f.Rows[i]
		if check := cmp.Or(names[row.ID], found[row.ID]); check != nil {
			row.Check, row.Target = check.Name, string(check.Type)
		} else if uuid.Validate(row.ID) == nil {
			row.Check = "A check that was deleted"
		}
	}
	return nil
}

// offer adds the row of a check, once.
func (f *pageForm) offer(id, name, group string) {
	if f.offered[id] {
		return
	}
	f.offered[id] = true
	row := pageFormRow{ID: id}
	row.Name = f.row(field{Name: "name." + id, Label: "Public name", Value: name})
	row.Group = f.row(field{Name: "group." + id, Label: "Group", Value: group})
	f.Rows = append(f.Rows, row)
}

// row declares a field of a row once: refusedPage's has the API's message.
func (f *pageForm) row(declared field) *field {
	if known := f.of[declared.Name]; known != nil {
		return known
	}
	f.of[declared.Name] = f.add(declared)
	return f.of[declared.Name]
}
