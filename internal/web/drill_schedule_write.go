// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"

	"github.com/vigil-monitor/vigil/client"
)

func (s *Server) createDrillSchedule(r *request) error {
	body, err := drillScheduleForm(r, nil)
	if err != nil {
		return err
	}
	f := body.Form
	made, err := r.api.CreateDrillScheduleWithResponse(r.Context(), nil, client.DrillScheduleCreate{
		Name: f.get("name"), Recurrence: f.recurrence(),
		ChannelIds: f.ids(drillOfChannels), RuleIds: f.ids(drillOfRules), SubscriptionIds: f.ids(drillOfSubscriptions),
		Regions: f.regionIDs(), Severity: of(client.DrillScheduleCreateSeverity(f.get("severity"))), ExpectWithinSeconds: f.seconds(),
		ConfirmPager: of(f.values.Has("confirm_pager")),
	})
	if err != nil {
		if f.turnedDown(err) {
			return renderDrillSchedule(r, body)
		}
		return err
	}
	r.flash(flash{Mark: "done", Text: made.JSON201.Data.Name + " is created"})
	return r.redirect("/app/drill-schedules/" + made.JSON201.Data.Id.String())
}

func (s *Server) updateDrillSchedule(r *request) error {
	d, err := readDrillSchedule(r)
	if err != nil {
		return err
	}
	body, err := drillScheduleForm(r, d)
	if err != nil {
		return err
	}
	f := body.Form
	_, err = r.api.UpdateDrillScheduleWithResponse(r.Context(), d.Id, &client.UpdateDrillScheduleParams{IfMatch: f.ifMatch()},
		client.DrillScheduleUpdate{
			Name: of(f.get("name")), Recurrence: of(f.recurrence()),
			ChannelIds: f.ids(drillOfChannels), RuleIds: f.ids(drillOfRules), SubscriptionIds: f.ids(drillOfSubscriptions),
			Regions: f.regionIDs(), Severity: of(client.DrillScheduleUpdateSeverity(f.get("severity"))), ExpectWithinSeconds: f.seconds(),
			ConfirmPager: of(f.values.Has("confirm_pager")),
		})
	if err != nil {
		if f.turnedDown(err) {
			return renderDrillSchedule(r, body)
		}
		return err
	}
	r.flash(flash{Mark: "done", Text: "Saved"})
	return r.redirect(body.Href)
}

// switchDrillSchedule pauses or enables a schedule.
func (s *Server) switchDrillSchedule(r *request) error {
	id, err := r.pathID("id")
	if err != nil {
		return err
	}
	posted, err := r.posted()
	if err != nil {
		return err
	}
	path, enable := "/app/drill-schedules/"+id.String(), posted.Get("enabled") == "true"
	answer, err := r.api.UpdateDrillScheduleWithResponse(r.Context(), id, nil, client.DrillScheduleUpdate{Enabled: &enable})
	if err != nil {
		if f := newForm(r); f.refused(err) {
			r.flash(flash{Mark: "down", Text: f.text()})
			return r.redirect(path)
		}
		return err
	}
	done := flash{Mark: "done", Text: answer.JSON200.Data.Name + " is enabled"}
	if !enable {
		done = flash{Mark: "paused", Text: answer.JSON200.Data.Name + " is paused: it runs no drill"}
	}
	r.flash(done)
	return r.redirect(path)
}

func (s *Server) confirmDrillScheduleDelete(r *request) error {
	d, err := readDrillSchedule(r)
	if err != nil {
		return err
	}
	back := "/app/drill-schedules/" + d.Id.String()
	return r.render(http.StatusOK, "confirm", page{Title: "Delete " + d.Name, Nav: navDrills, Body: confirm{
		Title: "Delete the schedule “" + d.Name + "”?", Button: "Delete", Back: back, Action: back + "/delete",
		Text: "Its drills and their receipts stay, also one that runs.",
	}})
}

func (s *Server) deleteDrillSchedule(r *request) error {
	d, err := readDrillSchedule(r)
	if err != nil {
		return err
	}
	if _, err := r.api.DeleteDrillScheduleWithResponse(r.Context(), d.Id, nil); err != nil {
		return err
	}
	r.flash(flash{Mark: "done", Text: d.Name + " is deleted"})
	return r.redirect("/app/drills")
}
