// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil/client"
)

// drillScheduleRow is a schedule in the list of drills.
type drillScheduleRow struct {
	ID, Name, Href string
	Mark           mark
	What, Repeats  string
	Next           string
	Skipped        string // the time that was left out, in words
	Last           *lastDrill
}

// drillScheduleBody is what the page of a schedule shows.
type drillScheduleBody struct {
	Form           *drillForm
	Title          string
	Action, Button string
	Revision       int64
	Href           string // empty for a new one
	Enabled        bool
	Badge          *badge
	Facts          []fact
	Last           *lastDrill
}

func (s *Server) drillScheduleRoutes(on *routes) {
	on.page("GET /app/drill-schedules/new", s.newDrillSchedule)
	on.page("POST /app/drill-schedules", s.createDrillSchedule)
	on.page("GET /app/drill-schedules/{id}", s.drillSchedulePage)
	on.page("POST /app/drill-schedules/{id}", s.updateDrillSchedule)
	on.page("POST /app/drill-schedules/{id}/enabled", s.switchDrillSchedule)
	on.page("GET /app/drill-schedules/{id}/delete", s.confirmDrillScheduleDelete)
	on.page("POST /app/drill-schedules/{id}/delete", s.deleteDrillSchedule)
}

// drillSchedules are the rows of all schedules.
func (r *request) drillSchedules() ([]drillScheduleRow, error) {
	limit := int64(100)
	list, err := r.api.ListDrillSchedulesWithResponse(r.Context(), &client.ListDrillSchedulesParams{Limit: &limit})
	if err != nil || len(list.JSON200.Data) == 0 {
		return nil, err
	}
	offers, err := r.readDrillOffers()
	if err != nil {
		return nil, err
	}
	var rows []drillScheduleRow
	for k := range list.JSON200.Data {
		rows = append(rows, r.drillScheduleRow(&list.JSON200.Data[k], offers))
	}
	return rows, nil
}

func (r *request) drillScheduleRow(d *client.DrillSchedule, offers drillOffers) drillScheduleRow {
	row := drillScheduleRow{
		ID: d.Id.String(), Name: d.Name, Href: "/app/drill-schedules/" + d.Id.String(), Mark: newMark("up", "Enabled"),
		What: drillWhat(d, offers), Repeats: recurrenceText(&d.Recurrence), Next: "–", Last: r.lastDrill(d.LastDrill),
	}
	if !d.Enabled {
		row.Mark, row.Next = newMark("paused", "Paused"), "paused"
	}
	if d.NextAt != nil {
		row.Next = zoned(*d.NextAt, d.Recurrence.Timezone)
	}
	if d.SkippedAt != nil {
		row.Skipped = "The drill of " + zoned(*d.SkippedAt, d.Recurrence.Timezone) + " was skipped."
	}
	return row
}

// scheduledSubject is what the drills of a schedule are about.
func scheduledSubject(d *client.DrillSchedule) (subject string, ids []string) {
	switch {
	case d.RuleIds != nil:
		return drillOfRules, *d.RuleIds
	case d.SubscriptionIds != nil:
		return drillOfSubscriptions, *d.SubscriptionIds
	case d.ChannelIds != nil:
		return drillOfChannels, *d.ChannelIds
	}
	return drillOfChannels, nil
}

// drillWhat names what the drills of a schedule are about, or counts it where it is much.
func drillWhat(d *client.DrillSchedule, offers drillOffers) string {
	subject, ids := scheduledSubject(d)
	noun := map[string]string{drillOfChannels: "channel", drillOfRules: "alert rule", drillOfSubscriptions: "subscription"}[subject]
	var names []string
	for _, id := range ids {
		if name := offers.name(subject, id); name != "" {
			names = append(names, name)
		}
	}
	count := counted(int64(len(ids)), noun)
	if len(names) < len(ids) || len(names) > mostDrillNames {
		return count
	}
	_, noun, _ = strings.Cut(count, " ")
	return noun + " " + listed(names)
}

// recurrenceText words when the drills of a schedule run: monthly on day 1, 09:00 (UTC).
func recurrenceText(c *client.DrillRecurrence) string {
	on := "monthly on day " + strconv.FormatInt(c.Day, 10)
	if c.Every == client.DrillRecurrenceEveryWeekly {
		on = "weekly on " + weekday(c.Day)
	}
	return fmt.Sprintf("%s, %02d:00 (%s)", on, c.Hour, c.Timezone)
}

// weekday is the name of a day from 1, Monday, to 7.
func weekday(day int64) string { return time.Weekday(day % 7).String() }

func readDrillSchedule(r *request) (*client.DrillSchedule, error) {
	id, err := r.pathID("id")
	if err != nil {
		return nil, err
	}
	found, err := r.api.GetDrillScheduleWithResponse(r.Context(), id, nil)
	if err != nil {
		return nil, err
	}
	return &found.JSON200.Data, nil
}

// drillScheduleForm is the form of what is stored, nil for a new schedule, and the page that it is on.
func drillScheduleForm(r *request, d *client.DrillSchedule) (*drillScheduleBody, error) {
	offers, err := r.readDrillOffers()
	if err != nil {
		return nil, err
	}
	begin := newDrillAsked()
	name, at := "", client.DrillRecurrence{Every: client.DrillRecurrenceEveryMonthly, Day: 1, Hour: 9, Timezone: r.prefs.Zone.String()}
	if d != nil {
		name, at = d.Name, d.Recurrence
		begin = drillAsked{severity: string(d.Severity), within: d.ExpectWithinSeconds, pager: d.ConfirmPager}
		begin.subject, begin.ids = scheduledSubject(d)
		if d.Regions != nil {
			begin.regions = *d.Regions
		}
	}
	f, err := newDrillForm(r, &begin, offers)
	if err != nil {
		return nil, err
	}
	f.add(field{Name: "name", Label: "Name", Value: name, Required: true, Focus: d == nil, Placeholder: "On call, monthly"})
	f.addRecurrence(&at)
	body := &drillScheduleBody{Form: f, Title: "New schedule", Action: "/app/drill-schedules", Button: "Create schedule", Enabled: true}
	if d == nil {
		f.Heading = "Not created yet."
		return body, nil
	}
	row := r.drillScheduleRow(d, offers)
	body.Title, body.Action, body.Button, body.Revision, body.Href = d.Name, row.Href, "Save", d.Revision, row.Href
	body.Enabled, body.Badge, body.Last = d.Enabled, &badge{State: row.Mark.State, Text: row.Mark.Word}, row.Last
	body.Facts = []fact{{Name: "Repeats", Value: row.Repeats}, {Name: "Next drill", Value: row.Next}}
	if d.SkippedAt != nil {
		body.Facts = append(body.Facts, fact{Name: "Skipped", Value: zoned(*d.SkippedAt, d.Recurrence.Timezone)})
	}
	return body, nil
}

// addRecurrence declares when drills run.
func (f *drillForm) addRecurrence(at *client.DrillRecurrence) {
	day, week := "1", "1"
	if at.Every == client.DrillRecurrenceEveryWeekly {
		week = strconv.FormatInt(at.Day, 10)
	} else {
		day = strconv.FormatInt(at.Day, 10)
	}
	f.add(field{Name: "recurrence.every", Label: "Repeats", Type: "select", Value: string(at.Every), Options: []option{
		{Value: "monthly", Text: "each month"}, {Value: "weekly", Text: "each week"},
	}})
	days := make([]option, 0, 7)
	for n := range int64(7) {
		days = append(days, option{Value: strconv.FormatInt(n+1, 10), Text: weekday(n + 1)})
	}
	f.add(field{
		Name: "recurrence.day", Label: "Day of the month", Type: "number", Min: "1", Max: "28", Mode: "numeric", Value: day,
		Help: "1 to 28, which each month has.",
	})
	f.add(field{Name: "weekday", Label: "Weekday", Type: "select", Value: week, Options: days})
	f.add(field{
		Name: "recurrence.hour", Label: "Hour", Type: "number", Min: "0", Max: "23", Mode: "numeric", Value: strconv.FormatInt(at.Hour, 10),
		Required: true,
	})
	f.add(field{
		Name: "recurrence.timezone", Label: "Time zone", Value: at.Timezone, Required: true, Mono: true,
		Help: "An IANA name, such as Europe/Berlin.",
	})
}

// recurrence is what was posted about when drills run.
func (f *drillForm) recurrence() client.DrillRecurrence {
	at := client.DrillRecurrence{
		Every: client.DrillRecurrenceEvery(f.get("recurrence.every")), Day: f.number("recurrence.day"), Hour: f.number("recurrence.hour"),
		Timezone: strings.TrimSpace(f.get("recurrence.timezone")),
	}
	if at.Every == client.DrillRecurrenceEveryWeekly {
		at.Day = f.number("weekday")
	}
	return at
}

func renderDrillSchedule(r *request, body *drillScheduleBody) error {
	return r.render(body.Form.Status, "drill_schedule", page{Title: body.Title, Nav: navDrills, Body: body})
}

func (s *Server) newDrillSchedule(r *request) error {
	body, err := drillScheduleForm(r, nil)
	if err != nil {
		return err
	}
	return renderDrillSchedule(r, body)
}

func (s *Server) drillSchedulePage(r *request) error {
	d, err := readDrillSchedule(r)
	if err != nil {
		return err
	}
	body, err := drillScheduleForm(r, d)
	if err != nil {
		return err
	}
	return renderDrillSchedule(r, body)
}
