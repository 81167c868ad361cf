// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"net/http"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/client"
)

// maintenanceListBody is what the list of maintenance windows shows.
type maintenanceListBody struct {
	States []choice
	Rows   []maintenanceRow
	Pager  pager
	Empty  *empty
}

// maintenanceRow is a row of the list.
type maintenanceRow struct {
	Name, Href string
	Mark       mark
	When       string // the next occurrence, or until when it runs, in the time zone of the window
	Repeats    string
	Length     string
	Covers     string
	Does       string
}

func (s *Server) maintenanceRoutes(on *routes) {
	on.page("GET /app/maintenance", s.maintenanceList)
	on.page("GET /app/maintenance/new", s.newMaintenance)
	on.page("POST /app/maintenance", s.createMaintenance)
	on.page("GET /app/maintenance/{id}", s.maintenancePage)
	on.page("POST /app/maintenance/{id}", s.updateMaintenance)
	on.page("POST /app/maintenance/{id}/end", s.endMaintenance)
	on.page("GET /app/maintenance/{id}/delete", s.confirmMaintenanceDelete)
	on.page("POST /app/maintenance/{id}/delete", s.deleteMaintenance)
}

func (s *Server) maintenanceList(r *request) error {
	limit, chosen := int64(listPage), r.URL.Query().Get("state")
	params := &client.ListMaintenanceWindowsParams{Limit: &limit, Cursor: r.cursor()}
	if chosen != "" {
		state := client.ListMaintenanceWindowsParamsState(chosen)
		params.State = &state
	}
	list, err := r.api.ListMaintenanceWindowsWithResponse(r.Context(), params)
	if err != nil {
		return err
	}
	body := &maintenanceListBody{Pager: r.pager(list.JSON200.Meta, len(list.JSON200.Data), "maintenance window")}
	for _, state := range []string{"", "active", "upcoming", "ended", "disabled"} {
		text := map[string]string{"": "All", "active": "Active", "upcoming": "Upcoming", "ended": "Ended", "disabled": "Disabled"}[state]
		body.States = append(body.States, choice{Text: text, Href: r.filterURL("state", state), Chosen: state == chosen})
	}
	for k := range list.JSON200.Data {
		body.Rows = append(body.Rows, maintenanceRowOf(&list.JSON200.Data[k]))
	}
	if len(body.Rows) == 0 {
		body.Empty = &empty{Icon: "pause", Title: "No maintenance window here", Text: "No window is in this state."}
		if chosen == "" {
			body.Empty = &empty{
				Icon: "pause", Title: "No maintenance window yet",
				Text:   "Plan work on what you monitor. During a window no incident opens, and the time does not count for uptime.",
				Action: &link{Text: "New maintenance window", Href: "/app/maintenance/new"}, Key: "c",
			}
		}
	}
	return r.render(http.StatusOK, "maintenance_list", page{Title: "Maintenance", Nav: navMaintenance, Body: body})
}

func maintenanceRowOf(w *client.MaintenanceWindow) maintenanceRow {
	row := maintenanceRow{
		Name: w.Name, Href: "/app/maintenance/" + w.Id.String(), Mark: maintenanceMark(string(w.State)), Repeats: repeatsOf(w),
		Length: spanExact(secondsOf(w.DurationSeconds)), Covers: counted(w.ChecksCovered, "check"), Does: "probing goes on",
	}
	if w.Scope.All != nil && *w.Scope.All {
		row.Covers = "all checks"
	}
	if w.Probing == client.MaintenanceWindowProbingPause {
		row.Does = "probing pauses"
	}
	switch {
	case w.ActiveUntil != nil:
		row.When = "until " + zoned(*w.ActiveUntil, w.Timezone)
	case len(w.Next) > 0:
		row.When = zoned(w.Next[0].StartsAt, w.Timezone)
	default:
		row.When = "–"
	}
	return row
}

func maintenanceMark(state string) mark {
	switch state {
	case "active":
		return newMark("warn", "Active")
	case "upcoming":
		return newMark("unknown", "Upcoming")
	case "disabled":
		return newMark("paused", "Disabled")
	}
	return newMark("done", "Ended")
}

func repeatsOf(w *client.MaintenanceWindow) string {
	switch {
	case w.Rrule != "":
		if days, ok := daysOfRule(w.Rrule); ok {
			return dayNames(days)
		}
		return w.Rrule
	case w.Cron != "":
		return w.Cron
	}
	return "once"
}

// maintenanceNote says on the page of a check that it is in maintenance.
type maintenanceNote struct {
	Title, Name, Until, Does, Href string
	// By, End and EndText are of a pause or a muting: who it is by, and what ends it.
	By, End, EndText string
}

func maintenanceNotes(windows []client.MaintenanceWindow) []maintenanceNote {
	var notes []maintenanceNote
	for k := range windows {
		w := &windows[k]
		if w.ActiveUntil == nil {
			continue // it has ended meanwhile
		}
		note := maintenanceNote{
			Name: w.Name, Until: zoned(*w.ActiveUntil, w.Timezone), Does: "probing goes on, no incident opens",
			Href: "/app/maintenance/" + w.Id.String(),
		}
		if w.Probing == client.MaintenanceWindowProbingPause {
			note.Does = "probing pauses"
		}
		note.rested(w)
		notes = append(notes, note)
	}
	return notes
}

// zoned is an instant as clocks in a time zone show it.
func zoned(at time.Time, zone string) string {
	location, ok := vigil.LoadZone(zone)
	if !ok {
		location, zone = time.UTC, "UTC"
	}
	return at.In(location).Format("2 Jan 2006, 15:04") + " (" + zone + ")"
}

func readMaintenance(r *request) (*client.MaintenanceWindow, error) {
	id, err := r.pathID("id")
	if err != nil {
		return nil, err
	}
	found, err := r.api.GetMaintenanceWindowWithResponse(r.Context(), id, nil)
	if err != nil {
		return nil, err
	}
	return &found.JSON200.Data, nil
}

func (s *Server) newMaintenance(r *request) error {
	return s.renderMaintenance(r, nil, s.maintenanceForm(r, nil))
}

func (s *Server) maintenancePage(r *request) error {
	w, err := readMaintenance(r)
	if err != nil {
		return err
	}
	return s.renderMaintenance(r, w, s.maintenanceForm(r, w))
}

func (s *Server) createMaintenance(r *request) error {
	f := s.maintenanceForm(r, nil)
	if f.values.Has("preview") || f.lacksDays() {
		return s.renderMaintenance(r, nil, f)
	}
	body, scope := f.body(), f.scope()
	made, err := r.api.CreateMaintenanceWindowWithResponse(r.Context(), nil, client.CreateMaintenanceWindowJSONRequestBody{
		Name: f.get("name"), Scope: scope, StartsAt: *body.StartsAt, Timezone: body.Timezone, DurationSeconds: *body.DurationSeconds,
		Rrule: body.Rrule, Cron: body.Cron, Until: body.Until, Enabled: f.checked("enabled"),
		Probing: of(client.MaintenanceWindowCreateProbing(f.get("probing"))), Uptime: of(client.MaintenanceWindowCreateUptime(f.get("uptime"))),
	})
	if err != nil {
		if f.refused(err) {
			return s.renderMaintenance(r, nil, f)
		}
		return err
	}
	r.flash(flash{Mark: "done", Text: made.JSON201.Data.Name + " is planned"})
	return r.redirect("/app/maintenance/" + made.JSON201.Data.Id.String())
}

func (s *Server) updateMaintenance(r *request) error {
	w, err := readMaintenance(r)
	if err != nil {
		return err
	}
	f := s.maintenanceForm(r, w)
	if f.values.Has("preview") || f.lacksDays() {
		return s.renderMaintenance(r, w, f)
	}
	body, scope := f.body(), f.scope()
	body.Name, body.Scope, body.Enabled = of(f.get("name")), &scope, f.checked("enabled")
	body.Probing = of(client.MaintenanceWindowUpdateProbing(f.get("probing")))
	body.Uptime = of(client.MaintenanceWindowUpdateUptime(f.get("uptime")))
	_, err = r.api.UpdateMaintenanceWindowWithResponse(r.Context(), w.Id, &client.UpdateMaintenanceWindowParams{IfMatch: f.ifMatch()}, body)
	if err != nil {
		if f.refused(err) {
			return s.renderMaintenance(r, w, f)
		}
		return err
	}
	r.flash(flash{Mark: "done", Text: "Saved"})
	return r.redirect("/app/maintenance/" + w.Id.String())
}

func (s *Server) endMaintenance(r *request) error {
	w, err := readMaintenance(r)
	if err != nil {
		return err
	}
	if _, err := r.api.EndMaintenanceWithResponse(r.Context(), w.Id); err != nil {
		return err
	}
	r.flash(flash{Mark: "done", Text: w.Name + " has ended"})
	return r.redirect(cmp.Or(r.PostFormValue("back"), "/app/maintenance/"+w.Id.String()))
}

func (s *Server) confirmMaintenanceDelete(r *request) error {
	w, err := readMaintenance(r)
	if err != nil {
		return err
	}
	back := "/app/maintenance/" + w.Id.String()
	return r.render(http.StatusOK, "confirm", page{Title: "Delete " + w.Name, Nav: navMaintenance, Body: confirm{
		Title: "Delete the maintenance window “" + w.Name + "”?", Button: "Delete", Back: back, Action: back + "/delete",
		Text: "If it runs now, it ends. What it has excluded from uptime stays excluded.",
	}})
}

func (s *Server) deleteMaintenance(r *request) error {
	w, err := readMaintenance(r)
	if err != nil {
		return err
	}
	if _, err := r.api.DeleteMaintenanceWindowWithResponse(r.Context(), w.Id, nil); err != nil {
		return err
	}
	r.flash(flash{Mark: "done", Text: w.Name + " is deleted"})
	return r.redirect("/app/maintenance")
}

// of returns a pointer to a value.
func of[T any](value T) *T { return &value }
