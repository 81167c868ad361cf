// SPDX-License-Identifier: Apache-2.0

package web

import (
	"math"
	"strconv"
	"strings"

	"github.com/vigil-monitor/vigil/client"
)

// number is the whole number of a field; what is none is one that the API refuses.
func (b *reportScheduleBody) number(name string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(b.Form.get(name)), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// recurrence is what was posted about when reports are sent.
func (b *reportScheduleBody) recurrence() client.ReportRecurrence {
	at := client.ReportRecurrence{
		Every: client.ReportRecurrenceEvery(b.Form.get("recurrence.every")), Day: b.number("recurrence.day"),
		Hour: b.number("recurrence.hour"), Timezone: strings.TrimSpace(b.Form.get("recurrence.timezone")),
	}
	if at.Every == client.ReportRecurrenceEveryWeekly {
		at.Day = b.number("weekday")
	}
	return at
}

func (b *reportScheduleBody) target() float64 {
	n, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(b.Form.get("target_percentage"), "%")), 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0 // which the API refuses
	}
	return n
}

func (b *reportScheduleBody) labels() []string {
	return append([]string{}, strings.Fields(b.Form.get("labels"))...)
}

func (b *reportScheduleBody) channels() []string {
	return append([]string{}, b.Form.values["channel_ids"]...)
}

// turnedDown is refused, with the message of a channel by its name.
func (b *reportScheduleBody) turnedDown(err error) bool {
	if !b.Form.refused(err) {
		return false
	}
	for i, id := range b.Form.values["channel_ids"] {
		for _, known := range b.Options {
			if rest, ok := strings.CutPrefix(b.Channels.Error, "["+strconv.Itoa(i)+"]: "); ok && known.Value == id {
				b.Channels.Error = known.Text + " " + rest
			}
		}
	}
	return true
}

func (s *Server) createReportSchedule(r *request) error {
	body, err := reportScheduleForm(r, nil)
	if err != nil {
		return err
	}
	made, err := r.api.CreateReportScheduleWithResponse(r.Context(), nil, client.ReportScheduleCreate{
		Name: body.Form.get("name"), ChannelIds: body.channels(), Labels: of(body.labels()), TargetPercentage: of(body.target()),
		Recurrence: body.recurrence(),
	})
	if err != nil {
		if body.turnedDown(err) {
			return body.render(r)
		}
		return err
	}
	r.flash(flash{Mark: "done", Text: made.JSON201.Data.Name + " is created"})
	return r.redirect(reportSchedulesPath + "/" + made.JSON201.Data.Id.String())
}

func (s *Server) updateReportSchedule(r *request) error {
	one, err := readReportSchedule(r)
	if err != nil {
		return err
	}
	body, err := reportScheduleForm(r, one)
	if err != nil {
		return err
	}
	_, err = r.api.UpdateReportScheduleWithResponse(r.Context(), one.Id, &client.UpdateReportScheduleParams{IfMatch: body.Form.ifMatch()},
		client.ReportScheduleUpdate{
			Name: of(body.Form.get("name")), ChannelIds: of(body.channels()), Labels: of(body.labels()), TargetPercentage: of(body.target()),
			Recurrence: of(body.recurrence()),
		})
	if err != nil {
		if body.turnedDown(err) {
			return body.render(r)
		}
		return err
	}
	r.flash(flash{Mark: "done", Text: "Saved"})
	return r.redirect(body.Href)
}

// switchReportSchedule pauses or enables a schedule.
func (s *Server) switchReportSchedule(r *request) error {
	id, err := r.pathID("id")
	if err != nil {
		return err
	}
	posted, err := r.posted()
	if err != nil {
		return err
	}
	path, enable := reportSchedulesPath+"/"+id.String(), posted.Get("enabled") == "true"
	answer, err := r.api.UpdateReportScheduleWithResponse(r.Context(), id, nil, client.ReportScheduleUpdate{Enabled: &enable})
	if err != nil {
		if f := newForm(r); f.refused(err) {
			r.flash(flash{Mark: "down", Text: f.text()})
			return r.redirect(path)
		}
		return err
	}
	done := flash{Mark: "done", Text: answer.JSON200.Data.Name + " is enabled"}
	if !enable {
		done = flash{Mark: "paused", Text: answer.JSON200.Data.Name + " is paused: it sends no report"}
	}
	r.flash(done)
	return r.redirect(path)
}

func (s *Server) deleteReportSchedule(r *request) error {
	one, err := readReportSchedule(r)
	if err != nil {
		return err
	}
	if _, err := r.api.DeleteReportScheduleWithResponse(r.Context(), one.Id, nil); err != nil {
		return err
	}
	r.flash(flash{Mark: "done", Text: one.Name + " is deleted"})
	return r.redirect("/app/reports")
}
