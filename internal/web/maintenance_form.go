// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil/client"
)

// maintenanceForm is the form of a maintenance window.
type maintenanceForm struct {
	*form

	Days []option // of the week
}

// maintenanceBody is what the page of a maintenance window shows.
type maintenanceBody struct {
	Form           *maintenanceForm
	Title          string
	Action, Button string
	Page           string // its address
	Delete, End    string // addresses; empty where there is nothing to do
	Revision       int64
	Badge          *badge
	Until          string // when the occurrence that runs ends
	Checks         []option
	Next           []occurrenceRow
	Preview        bool // Next is of what the form says, which is not saved
}

// occurrenceRow is an occurrence as the page lists it.
type occurrenceRow struct{ Starts, Ends, Note string }

// maintenanceForm declares the form with what is stored; nil for a new window.
func (s *Server) maintenanceForm(r *request, w *client.MaintenanceWindow) *maintenanceForm {
	f := &maintenanceForm{form: newForm(r)}
	zone := r.prefs.Zone.String()
	stored := client.MaintenanceWindow{
		Enabled: true, Timezone: zone, DurationSeconds: 3600, Probing: client.MaintenanceWindowProbingContinue,
		Uptime:   client.MaintenanceWindowUptimeExclude,
		StartsAt: r.now.In(r.prefs.Zone).Add(time.Hour).Truncate(time.Hour).Format("2006-01-02T15:04"),
	}
	if w != nil {
		stored = *w
	} else {
		f.Heading = "Not planned yet."
	}
	f.add(field{Name: "name", Label: "Name", Value: stored.Name, Required: true, Focus: w == nil, Placeholder: "Database upgrade"})
	f.add(field{Name: "starts_at", Label: "Starts", Type: "datetime-local", Value: stored.StartsAt, Required: true})
	f.add(field{
		Name: "timezone", Label: "Time zone", Value: stored.Timezone, Required: true, Mono: true,
		Help: "An IANA name, such as Europe/Berlin. The start follows its clocks.",
	})
	f.add(field{
		Name: "duration_seconds", Label: "Duration, minutes", Type: "number", Min: "1", Max: "20160", Mode: "decimal", Required: true,
		Value: strconv.FormatFloat(float64(stored.DurationSeconds)/60, 'f', -1, 64), Help: "Elapsed time, also when the clock changes.",
	})
	f.addRecurrence(&stored)
	all := stored.Scope.All != nil && *stored.Scope.All
	f.add(field{Name: "scope.all", Label: "Every check of the organization", Type: "checkbox", Checked: all})
	labels := ""
	if stored.Scope.Labels != nil {
		labels = strings.Join(*stored.Scope.Labels, "\n")
	}
	f.add(field{
		Name: "scope.labels", Label: "Checks with one of these labels", Type: "textarea", Rows: 2, Value: labels, Mono: true,
		Placeholder: "team=payments",
		Help:        "One key=value a line. Checks that get such a label later are covered too.",
	})
	f.add(field{Name: "scope", Label: "What is maintained"})
	f.add(field{Name: "probing", Label: "Probing", Type: "select", Value: string(stored.Probing), Options: []option{
		{Value: "continue", Text: "goes on, results are shown"}, {Value: "pause", Text: "pauses, targets are left alone"},
	}})
	f.add(field{Name: "uptime", Label: "Uptime", Type: "select", Value: string(stored.Uptime), Options: []option{
		{Value: "exclude", Text: "leaves the time out"}, {Value: "include", Text: "counts the time"},
	}})
	f.add(field{Name: "enabled", Label: "In force", Type: "checkbox", Checked: stored.Enabled})
	return f
}

func (f *maintenanceForm) addRecurrence(stored *client.MaintenanceWindow) {
	f.addRepeat(stored)
	f.add(field{
		Name: "rrule", Label: "Repeats by rule", Value: stored.Rrule, Mono: true, Placeholder: "FREQ=WEEKLY;BYDAY=TU",
		Help: "Empty: once. FREQ of DAILY, WEEKLY, MONTHLY or YEARLY, with INTERVAL, BYDAY, BYMONTHDAY, BYMONTH, COUNT and UNTIL.",
	})
	f.add(field{
		Name: "cron", Label: "Repeats by cron", Value: stored.Cron, Mono: true, Placeholder: "0 22 * * 2",
		Help: "Five fields, instead of a rule.",
	})
	until := ""
	if stored.Until != nil {
		until = *stored.Until
	}
	f.add(field{Name: "until", Label: "Last start", Type: "datetime-local", Value: until, Help: "Empty: no end."})
}

// checked is a checkbox of the form.
func (f *maintenanceForm) checked(name string) *bool { return of(f.values.Has(name)) }

// scope is what was posted about the checks.
func (f *maintenanceForm) scope() client.MaintenanceScope {
	ids, labels := append([]string{}, f.values["check"]...), []string{}
	for line := range strings.FieldsFuncSeq(f.get("scope.labels"), func(r rune) bool { return r == '\n' || r == '\r' || r == ',' }) {
		if line = strings.TrimSpace(line); line != "" {
			labels = append(labels, line)
		}
	}
	return client.MaintenanceScope{All: f.checked("scope.all"), CheckIds: &ids, Labels: &labels}
}

// body is what was posted about the schedule.
func (f *maintenanceForm) body() client.UpdateMaintenanceWindowJSONRequestBody {
	minutes, err := strconv.ParseFloat(strings.TrimSpace(f.get("duration_seconds")), 64)
	if err != nil || minutes < 0 || minutes > 1e6 {
		minutes = 0 // the API says what is possible
	}
	rule, cron := f.repeats()
	body := client.UpdateMaintenanceWindowJSONRequestBody{
		StartsAt: of(f.get("starts_at")), Timezone: of(strings.TrimSpace(f.get("timezone"))), DurationSeconds: of(int64(minutes * 60)),
		Rrule: &rule, Cron: &cron,
		Until: of(f.get("until")), // an empty one removes what is stored
	}
	return body
}

// How many occurrences the page lists: of a stored window, and of one that is edited.
const (
	shownOccurrences  = 10
	editedOccurrences = 5
)

func (s *Server) renderMaintenance(r *request, w *client.MaintenanceWindow, f *maintenanceForm) error {
	body := &maintenanceBody{Form: f, Title: "New maintenance window", Action: "/app/maintenance", Button: "Plan maintenance"}
	var chosen []string
	if w != nil {
		row := maintenanceRowOf(w)
		body.Title, body.Action, body.Button, body.Delete, body.Revision = w.Name, row.Href, "Save", row.Href+"/delete", w.Revision
		body.Badge = &badge{State: row.Mark.State, Text: row.Mark.Word}
		if w.ActiveUntil != nil {
			body.End, body.Until = row.Href+"/end", zoned(*w.ActiveUntil, w.Timezone)
		}
		if w.Scope.CheckIds != nil {
			chosen = *w.Scope.CheckIds
		}
		body.Next = occurrenceRows(w.Next)
	}
	body.Page = pageOfForm(body.Action, w == nil)
	if f.values != nil {
		chosen = f.values["check"]
		body.Preview = true
		if err := r.previewOf(f, body); err != nil {
			return err
		}
	}
	var err error
	if body.Checks, err = r.offerChecks(chosen); err != nil {
		return err
	}
	status := f.Status
	if r.partial() { // htmx takes nothing else; the part says what is wrong
		status = http.StatusOK
	}
	return r.render(status, "maintenance", page{Title: body.Title, Nav: navMaintenance, Body: body})
}

// previewOf fills in when the window of a posted form would occur. What is wrong with the
// form is shown in it.
func (r *request) previewOf(f *maintenanceForm, body *maintenanceBody) error {
	typed := f.body()
	if f.lacksDays() {
		return nil
	}
	answer, err := r.api.PreviewMaintenanceWindowWithResponse(r.Context(), client.PreviewMaintenanceWindowJSONRequestBody{
		StartsAt: *typed.StartsAt, Timezone: typed.Timezone, DurationSeconds: *typed.DurationSeconds, Rrule: typed.Rrule, Cron: typed.Cron,
		Until: typed.Until,
	})
	if err != nil {
		body.Next = nil
		if f.Message != "" || len(f.Problems) > 0 || f.refused(err) {
			return nil // said already, or now
		}
		return err
	}
	body.Next = occurrenceRows(answer.JSON200.Data)
	body.Next = body.Next[:min(len(body.Next), editedOccurrences)]
	return nil
}

func occurrenceRows(next []client.Occurrence) []occurrenceRow {
	rows := make([]occurrenceRow, 0, shownOccurrences)
	for _, o := range next[:min(len(next), shownOccurrences)] {
		row := occurrenceRow{Starts: localText(o.LocalStartsAt), Ends: localText(o.LocalEndsAt)}
		switch change := secondsOf(o.ClockChangeSeconds); {
		case o.Shifted:
			row.Note = "Clocks skip the planned time; it starts right after the gap."
		case change > 0:
			row.Note = fmt.Sprintf("Clocks are set forward by %s meanwhile.", spanExact(change))
		case change < 0:
			row.Note = fmt.Sprintf("Clocks are set back by %s meanwhile.", spanExact(-change))
		}
		rows = append(rows, row)
	}
	return rows
}

// localText is a wall time of the API as people read it.
func localText(text string) string {
	for _, form := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if at, err := time.Parse(form, text); err == nil {
			return at.Format("Mon 2 Jan 2006, 15:04")
		}
	}
	return text
}

// offerChecks returns the checks that can be chosen, those that are first.
func (r *request) offerChecks(chosen []string) (offered []option, err error) {
	limit, sort := int64(formChecks), client.ListChecksParamsSort("name")
	list, err := r.api.ListChecksWithResponse(r.Context(), &client.ListChecksParams{Limit: &limit, Sort: &sort})
	if err != nil {
		return nil, err
	}
	others := make(map[string]bool, len(chosen))
	for _, id := range chosen {
		others[id] = true
	}
	for k := range list.JSON200.Data {
		id := list.JSON200.Data[k].Id.String()
		offered = append(offered, option{Value: id, Text: list.JSON200.Data[k].Name, Chosen: others[id]})
		delete(others, id)
	}
	ids := slices.Sorted(maps.Keys(others))
	found, err := r.checksByID(ids)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		name := id
		if check := found[id]; check != nil {
			name = check.Name
		}
		offered = append(offered, option{Value: id, Text: name, Chosen: true})
	}
	slices.SortStableFunc(offered, func(a, b option) int {
		switch {
		case a.Chosen == b.Chosen:
			return 0
		case a.Chosen:
			return -1
		}
		return 1
	})
	return offered, nil
}
