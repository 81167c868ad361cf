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
	Delete         string // empty for a new page
	URL, Address   string // where the public sees it; empty while the page is closed
	Revision       int64
	Badge          *badge
	Groups         []string // that exist, to choose from
	Query          string
	More           string // how many checks are not listed
}

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

// renderStatusPage shows the form. The checks of the page come first, in its order, and
// then the others by name; the parameter query finds some among many.
func (s *Server) renderStatusPage(r *request, p *client.StatusPage, f *pageForm) error {
	body := &statusPageBody{
		Form: f, Title: "New status page", Action: "/app/status-pages", Button: "Create status page", Query: r.URL.Query().Get("query"),
	}
	if p != nil {
		row := statusPageRowOf(r, p)
		body.Title, body.Action, body.Button, body.Delete, body.Revision = p.Title, row.Href, "Save", row.Href+"/delete", revisionOf(p.Revision)
		body.Badge = &badge{State: row.Mark.State, Text: row.Mark.Word}
		if p.Enabled {
			body.URL, body.Address = row.URL, row.Address
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
	for _, id := range f.values["check"] {
		f.offer(id, "", "")
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
	list, err := r.api.ListChecksWithResponse(r.Context(), params)
	if err != nil {
		return err
	}
	names := make(map[string]*client.Check, len(list.JSON200.Data))
	for k := range list.JSON200.Data {
		check := &list.JSON200.Data[k]
		names[check.Id.String()] = check
		f.offer(check.Id.String(), "", "")
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
