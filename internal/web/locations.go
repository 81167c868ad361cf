// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil/client"
)

// locationsBody is what the list of locations shows.
type locationsBody struct {
	Rows     []locationRow
	Shown    *newToken // of a location that was just created, or got another one
	Total    string
	Empty    *empty
	ReadOnly bool
}

// newToken is a token that is shown once, and how agents use it.
type newToken struct{ Title, Token, Command string }

// locationRow is a location with its agents.
type locationRow struct {
	ID, Key, Name, Labels string
	Badge                 badge
	Checks                string
	Agents                []agentRow
	Edit, Rotate, Delete  string
}

// agentRow is an agent of a location.
type agentRow struct {
	Name, Version string
	Seen          stamp
	Checks, Clock string
	ClockWrong    bool
	Spool         string
	SpoolWrong    bool
}

// locationFormBody is what the form of a location shows.
type locationFormBody struct {
	Form           *form
	Title          string
	Action, Button string
	New            bool
}

func (s *Server) locationRoutes(on *routes) {
	on.page("GET /app/locations", func(r *request) error { return s.showLocations(r, http.StatusOK, nil) })
	on.page("GET /app/locations/new", func(r *request) error { return r.renderLocation(newLocationForm(r)) })
	on.page("POST /app/locations", s.createLocation)
	on.page("GET /app/locations/{id}", s.locationPage)
	on.page("POST /app/locations/{id}", s.updateLocation)
	on.page("GET /app/locations/{id}/rotate-token", s.confirmTokenRotation)
	on.page("POST /app/locations/{id}/rotate-token", s.rotateLocationToken)
	on.page("GET /app/locations/{id}/delete", s.confirmLocationDelete)
	on.page("POST /app/locations/{id}/delete", s.deleteLocation)
}

// mostLocations is how many locations a page shows; no plan has more.
const mostLocations = 100

func (r *request) readLocations() ([]client.Location, error) {
	limit := int64(mostLocations)
	list, err := r.api.ListLocationsWithResponse(r.Context(), &client.ListLocationsParams{Limit: &limit})
	if err != nil {
		return nil, err
	}
	return list.JSON200.Data, nil
}

func (s *Server) showLocations(r *request, status int, shown *newToken) error {
	all, err := r.readLocations()
	if err != nil {
		return err
	}
	body := &locationsBody{Shown: shown, Total: counted(int64(len(all)), "location"), ReadOnly: r.readOnly()}
	for k := range all {
		body.Rows = append(body.Rows, r.locationRow(&all[k]))
	}
	if len(body.Rows) == 0 {
		body.Empty = &empty{
			Icon: "locations", Title: "No location yet",
			Text: "An agent is a small program that probes from your own network and opens one connection to here, and none to itself. " +
				"A location is the place where agents run: checks name it beside the regions.",
		}
		if !body.ReadOnly {
			body.Empty.Action, body.Empty.Key = &link{Text: "New location", Href: "/app/locations/new"}, "c"
		}
	}
	return r.render(status, "locations", page{Title: "Locations", Nav: navLocations, Body: body})
}

func (r *request) locationRow(l *client.Location) locationRow {
	path := "/app/locations/" + l.Id.String()
	row := locationRow{
		ID: l.Id.String(), Key: l.Key, Name: l.Name, Labels: labelLine(l.Labels), Checks: counted(l.Checks, "check"),
		Edit: path, Rotate: path + "/rotate-token", Delete: path + "/delete",
	}
	switch l.State {
	case client.LocationStateOnline:
		row.Badge = badge{State: "up", Text: "Online"}
	case client.LocationStateSilent:
		row.Badge = badge{State: "down", Text: "Silent"}
		if l.SilentSince != nil {
			row.Badge.Age = r.ago(*l.SilentSince)
		}
	case client.LocationStateNever:
		row.Badge = badge{State: "unknown", Text: "No agent yet"}
	}
	for i := range l.Agents {
		row.Agents = append(row.Agents, r.agentRow(&l.Agents[i]))
	}
	return row
}

// clockTolerance is from how many seconds on the clock of an agent is shown as wrong, as the agent says it is.
const clockTolerance = 5

func (r *request) agentRow(a *client.Agent) agentRow {
	row := agentRow{
		Name: a.Name, Version: a.Version, Seen: r.ago(a.SeenAt), Checks: number(a.Checks), Clock: "right", Spool: "empty",
		ClockWrong: a.ClockDifferenceSeconds >= clockTolerance || a.ClockDifferenceSeconds <= -clockTolerance,
	}
	row.Seen.Text += " ago"
	if a.ClockDifferenceSeconds >= 0.05 || a.ClockDifferenceSeconds <= -0.05 {
		row.Clock = fmt.Sprintf("%+.1f s", a.ClockDifferenceSeconds)
	}
	if a.Spool.Results > 0 {
		row.Spool = counted(a.Spool.Results, "result")
	}
	if a.Spool.Dropped > 0 {
		row.Spool, row.SpoolWrong = row.Spool+", "+number(a.Spool.Dropped)+" dropped", true
	}
	return row
}

// labelLine writes labels as a line that readLabelLine reads.
func labelLine(labels map[string]string) string {
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, key+"="+labels[key])
	}
	return strings.Join(pairs, ", ")
}

// readLabelLine reads labels that are written as key=value with commas between them.
func readLabelLine(line string) map[string]string {
	labels := make(map[string]string)
	for pair := range strings.SplitSeq(line, ",") {
		if key, value, _ := strings.Cut(strings.TrimSpace(pair), "="); key != "" {
			labels[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return labels
}

func locationFields(r *request, l *client.Location) *form {
	f := newForm(r)
	f.add(field{
		Name: "name", Label: "Name", Required: true, Focus: true, Placeholder: "Office", Value: l.Name,
		Help: "What people call the place.",
	})
	if l.Key == "" {
		f.add(field{
			Name: "key", Label: "Key", Placeholder: "loc-office",
			Help: "What checks name in their regions: loc- and a-z, 0-9 and -. It never changes. Empty: made from the name.",
		})
	}
	f.add(field{Name: "labels", Label: "Labels", Placeholder: "site=berlin, floor=2", Value: labelLine(l.Labels)})
	return f
}

func newLocationForm(r *request) *locationFormBody {
	body := &locationFormBody{
		Form: locationFields(r, &client.Location{}), Title: "New location", Action: "/app/locations", Button: "Create location", New: true,
	}
	body.Form.Heading = "Not created yet."
	return body
}

func locationForm(r *request, l *client.Location) *locationFormBody {
	return &locationFormBody{Form: locationFields(r, l), Title: l.Name, Action: "/app/locations/" + l.Id.String(), Button: "Save"}
}

func (r *request) renderLocation(body *locationFormBody) error {
	return r.render(body.Form.Status, "location", page{Title: body.Title, Nav: navLocations, Body: body})
}

// createLocation answers with the list and the token, which is shown this once. It does not redirect: nothing
// keeps the token for another request.
func (s *Server) createLocation(r *request) error {
	body := newLocationForm(r)
	f := body.Form
	labels := readLabelLine(f.get("labels"))
	request := client.LocationCreate{Name: f.get("name"), Labels: &labels}
	if key := f.get("key"); key != "" {
		request.Key = &key
	}
	made, err := r.api.CreateLocationWithResponse(r.Context(), nil, request)
	if err != nil {
		if f.refused(err) {
			return r.renderLocation(body)
		}
		return err
	}
	return s.showToken(r, http.StatusCreated, made.JSON201.Data.Name+" is created", &made.JSON201.Data)
}

func (s *Server) showToken(r *request, status int, title string, made *client.NewLocation) error {
	file := strings.TrimPrefix(made.Key, "loc-") + ".token"
	return s.showLocations(r, status, &newToken{
		Title: title, Token: made.Token, Command: "vigil agent --url " + s.deps.Config.PublicURL + " --token-file " + file,
	})
}

// findLocation returns the location of the path.
func (r *request) findLocation() (*client.Location, error) {
	id, err := r.pathID("id")
	if err != nil {
		return nil, err
	}
	found, err := r.api.GetLocationWithResponse(r.Context(), id, nil)
	if err != nil {
		return nil, err
	}
	return &found.JSON200.Data, nil
}

func (s *Server) locationPage(r *request) error {
	l, err := r.findLocation()
	if err != nil {
		return err
	}
	return r.renderLocation(locationForm(r, l))
}

func (s *Server) updateLocation(r *request) error {
	l, err := r.findLocation()
	if err != nil {
		return err
	}
	body := locationForm(r, l)
	name, labels := body.Form.get("name"), readLabelLine(body.Form.get("labels"))
	if _, err := r.api.UpdateLocationWithResponse(r.Context(), l.Id, nil, client.LocationUpdate{Name: &name, Labels: &labels}); err != nil {
		if body.Form.refused(err) {
			return r.renderLocation(body)
		}
		return err
	}
	r.flash(flash{Mark: "done", Text: "The location is saved"})
	return r.redirect("/app/locations")
}

func (s *Server) confirmTokenRotation(r *request) error {
	l, err := r.findLocation()
	if err != nil {
		return err
	}
	return r.render(http.StatusOK, "confirm", page{Title: "Another token for " + l.Name, Nav: navLocations, Body: confirm{
		Title: "Give “" + l.Name + "” another token?", Button: "Make another token", Back: "/app/locations",
		Action: "/app/locations/" + l.Id.String() + "/rotate-token",
		Text:   "Agents with " + l.TokenPrefix + "… are cut off within 5 seconds, and report again once they have the new one.",
	}})
}

func (s *Server) rotateLocationToken(r *request) error {
	id, err := r.pathID("id")
	if err != nil {
		return err
	}
	made, err := r.api.RotateLocationTokenWithResponse(r.Context(), id)
	if err != nil {
		return err
	}
	return s.showToken(r, http.StatusOK, made.JSON200.Data.Name+" has another token", &made.JSON200.Data)
}

func (s *Server) confirmLocationDelete(r *request) error {
	l, err := r.findLocation()
	if err != nil {
		return err
	}
	ask := confirm{
		Title: "Delete “" + l.Name + "”?", Button: "Delete", Back: "/app/locations",
		Action: "/app/locations/" + l.Id.String() + "/delete",
		Text:   "Its token is not accepted any more, and its agents stop. It cannot be undone.",
	}
	if l.Checks > 0 {
		ask.Text = "It cannot be deleted while checks name it (" + counted(l.Checks, "check") + "): give them other regions first."
	}
	return r.render(http.StatusOK, "confirm", page{Title: "Delete " + l.Name, Nav: navLocations, Body: ask})
}

func (s *Server) deleteLocation(r *request) error {
	id, err := r.pathID("id")
	if err != nil {
		return err
	}
	if _, err := r.api.DeleteLocationWithResponse(r.Context(), id, nil); err != nil {
		return err
	}
	r.flash(flash{Mark: "done", Text: "The location is deleted"})
	return r.redirect("/app/locations")
}
