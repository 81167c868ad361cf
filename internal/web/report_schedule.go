// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/vigil-monitor/vigil/client"
)

// reportScheduleRow is a schedule in the list below the reports.
type reportScheduleRow struct {
	Name, Href  string
	Mark        mark
	To, Repeats string
	Next, Last  string
	Skipped     string // the time that was left out, in words
}

// reportScheduleBody is what the page of a schedule shows.
type reportScheduleBody struct {
	Form           *form
	Channels       *field
	Options        []option
	Title          string
	Action, Button string
	Revision       int64
	Href           string // empty for a new one
	Enabled        bool
	ReadOnly       bool
	Badge          *badge
	Facts          []fact
}

const reportSchedulesPath = "/app/reports/schedules"

func (s *Server) reportScheduleRoutes(on *routes) {
	on.page("GET "+reportSchedulesPath+"/new", s.newReportSchedule)
	on.page("POST "+reportSchedulesPath, s.createReportSchedule)
	on.page("GET "+reportSchedulesPath+"/{id}", s.reportSchedulePage)
	on.page("POST "+reportSchedulesPath+"/{id}", s.updateReportSchedule)
	on.page("POST "+reportSchedulesPath+"/{id}/enabled", s.switchReportSchedule)
	on.page("GET "+reportSchedulesPath+"/{id}/delete", s.confirmReportScheduleDelete)
	on.page("POST "+reportSchedulesPath+"/{id}/delete", s.deleteReportSchedule)
}

// reportSchedules are the rows of all schedules.
func (r *request) reportSchedules() ([]reportScheduleRow, error) {
	list, err := r.api.ListReportSchedulesWithResponse(r.Context(), &client.ListReportSchedulesParams{Limit: new(int64(100))})
	if err != nil || len(list.JSON200.Data) == 0 {
		return nil, err
	}
	names, err := r.channelNames()
	if err != nil {
		return nil, err
	}
	var rows []reportScheduleRow
	for k := range list.JSON200.Data {
		rows = append(rows, reportScheduleRowOf(&list.JSON200.Data[k], names))
	}
	return rows, nil
}

func reportScheduleRowOf(one *client.ReportSchedule, names map[string]string) reportScheduleRow {
	row := reportScheduleRow{
		Name: one.Name, Href: reportSchedulesPath + "/" + one.Id.String(), Mark: newMark("up", "Enabled"), Next: "–", Last: "none yet",
		Repeats: reportRepeats(&one.Recurrence),
	}
	if !one.Enabled {
		row.Mark, row.Next = newMark("paused", "Paused"), "paused"
	}
	zone := one.Recurrence.Timezone
	if one.NextAt != nil {
		row.Next = zoned(*one.NextAt, zone)
	}
	if one.LastAt != nil {
		row.Last = zoned(*one.LastAt, zone)
	}
	if one.SkippedAt != nil {
		row.Skipped = "The report of " + zoned(*one.SkippedAt, zone) + " was skipped."
	}
	var to []string
	for _, id := range one.ChannelIds {
		if name := names[id]; name != "" {
			to = append(to, name)
		}
	}
	if row.To = listed(to); len(to) < len(one.ChannelIds) || len(to) > mostDrillNames {
		row.To = counted(int64(len(one.ChannelIds)), "channel")
	}
	return row
}

// reportRepeats words when the reports of a schedule are sent, and what they are about.
func reportRepeats(c *client.ReportRecurrence) string {
	on := "monthly on day " + strconv.FormatInt(c.Day, 10)
	switch c.Every {
	case client.ReportRecurrenceEveryWeekly:
		on = "weekly on " + weekday(c.Day)
	case client.ReportRecurrenceEveryQuarterly:
		on = "quarterly on day " + strconv.FormatInt(c.Day, 10)
	case client.ReportRecurrenceEveryMonthly:
	}
	return fmt.Sprintf("%s, %02d:00 (%s)", on, c.Hour, c.Timezone)
}

func readReportSchedule(r *request) (*client.ReportSchedule, error) {
	id, err := r.pathID("id")
	if err != nil {
		return nil, err
	}
	found, err := r.api.GetReportScheduleWithResponse(r.Context(), id, nil)
	if err != nil {
		return nil, err
	}
	return &found.JSON200.Data, nil
}

// reportScheduleForm is the form of what is stored, nil for a new schedule, and the page that it is on.
func reportScheduleForm(r *request, one *client.ReportSchedule) (*reportScheduleBody, error) {
	names, err := r.channelNames()
	if err != nil {
		return nil, err
	}
	f := newForm(r)
	body := &reportScheduleBody{
		Form: f, Title: "New schedule", Action: reportSchedulesPath, Button: "Create schedule", Enabled: true, ReadOnly: r.readOnly(),
	}
	begin := client.ReportSchedule{
		TargetPercentage: 99.9,
		Recurrence: client.ReportRecurrence{
			Every: client.ReportRecurrenceEveryMonthly, Day: 1, Hour: 9, Timezone: r.prefs.Zone.String(),
		},
	}
	if one == nil {
		f.Heading = "Not created yet."
	} else {
		begin = *one
		row := reportScheduleRowOf(one, names)
		body.Title, body.Action, body.Button, body.Revision, body.Href = one.Name, row.Href, "Save", one.Revision, row.Href
		body.Enabled, body.Badge = one.Enabled, &badge{State: row.Mark.State, Text: row.Mark.Word}
		body.Facts = []fact{{Name: "Repeats", Value: row.Repeats}, {Name: "Next report", Value: row.Next}, {Name: "Last report", Value: row.Last}}
		if one.SkippedAt != nil {
			body.Facts = append(body.Facts, fact{Name: "Skipped", Value: zoned(*one.SkippedAt, one.Recurrence.Timezone)})
		}
	}
	f.add(field{Name: "name", Label: "Name", Value: begin.Name, Required: true, Focus: one == nil, Placeholder: "Shop, monthly"})
	addReportRecurrence(f, &begin.Recurrence)
	f.add(field{
		Name: "labels", Label: "Labels", Value: strings.Join(begin.Labels, " "), Placeholder: "team=shop", Mono: true, Autofill: "off",
		Help: "Checks that have all of these, key=value or key, with spaces between them. Empty: every check.",
	})
	f.add(field{
		Name: "target_percentage", Label: "Target, %", Mode: "decimal", Required: true, Autofill: "off",
		Value: strconv.FormatFloat(begin.TargetPercentage, 'f', -1, 64), Help: "For the error budget.",
	})
	body.Channels = f.add(field{Name: "channel_ids", Label: "Channels"})
	body.Options = channelOptions(f, names, begin.ChannelIds)
	return body, nil
}

// channelOptions are all channels by name, those that are chosen first.
func channelOptions(f *form, names map[string]string, chosen []string) []option {
	if f.values != nil {
		chosen = f.values["channel_ids"]
	}
	var list []option
	for _, id := range sortedKeys(names) {
		list = append(list, option{Value: id, Text: names[id], Chosen: slices.Contains(chosen, id)})
	}
	slices.SortStableFunc(list, func(a, b option) int {
		if a.Chosen != b.Chosen {
			return map[bool]int{true: -1, false: 1}[a.Chosen]
		}
		return cmp.Compare(strings.ToLower(a.Text), strings.ToLower(b.Text))
	})
	return list
}

// addReportRecurrence declares when reports are sent.
func addReportRecurrence(f *form, at *client.ReportRecurrence) {
	day, week := "1", "1"
	if at.Every == client.ReportRecurrenceEveryWeekly {
		week = strconv.FormatInt(at.Day, 10)
	} else {
		day = strconv.FormatInt(at.Day, 10)
	}
	f.add(field{
		Name: "recurrence.every", Label: "Sent", Type: "select", Value: string(at.Every),
		Options: words("monthly", "each month, about the month before", "quarterly", "each quarter, about the quarter before",
			"weekly", "each week, about the week before"),
	})
	var days []option
	for n := range int64(7) {
		days = append(days, option{Value: strconv.FormatInt(n+1, 10), Text: weekday(n + 1)})
	}
	f.add(field{
		Name: "recurrence.day", Label: "Day of the month", Type: "number", Min: "1", Max: "28", Mode: "numeric", Value: day,
		Help: "1 to 28, which each month has; of a quarter, in its first month.",
	})
	f.add(field{Name: "weekday", Label: "Weekday", Type: "select", Value: week, Options: days})
	f.add(field{
		Name: "recurrence.hour", Label: "Hour", Type: "number", Min: "0", Max: "23", Mode: "numeric", Value: strconv.FormatInt(at.Hour, 10),
		Required: true,
	})
	f.add(field{
		Name: "recurrence.timezone", Label: "Time zone", Value: at.Timezone, Required: true, Mono: true,
		Help: "An IANA name, such as Europe/Berlin; also that of the days of the report.",
	})
}

func (b *reportScheduleBody) render(r *request) error {
	return r.render(b.Form.Status, "report_schedule", page{Title: b.Title, Nav: navReports, Body: b})
}

func (s *Server) newReportSchedule(r *request) error {
	body, err := reportScheduleForm(r, nil)
	if err != nil {
		return err
	}
	return body.render(r)
}

func (s *Server) reportSchedulePage(r *request) error {
	one, err := readReportSchedule(r)
	if err != nil {
		return err
	}
	body, err := reportScheduleForm(r, one)
	if err != nil {
		return err
	}
	return body.render(r)
}

func (s *Server) confirmReportScheduleDelete(r *request) error {
	one, err := readReportSchedule(r)
	if err != nil {
		return err
	}
	back := reportSchedulesPath + "/" + one.Id.String()
	return r.render(http.StatusOK, "confirm", page{Title: "Delete " + one.Name, Nav: navReports, Body: confirm{
		Title: "Delete the schedule “" + one.Name + "”?", Button: "Delete", Back: back, Action: back + "/delete",
		Text: "No further report of it is sent. Those that were sent stay among the deliveries.",
	}})
}
