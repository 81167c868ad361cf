// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"

	"github.com/vigil-monitor/vigil/client"
)

// testOutcome is the result of a test by hand.
type testOutcome struct {
	Row    resultRow
	Stored bool
	Error  string
}

// checkRegions answers with the regions as their workflows say.
func (s *Server) checkRegions(r *request) error {
	id, err := r.checkID()
	if err != nil {
		return err
	}
	many, period := int64(100), client.GetUptimeParamsPeriodN24h
	got, err := r.api.ListCheckRegionsWithResponse(r.Context(), id, &client.ListCheckRegionsParams{Limit: &many})
	if err != nil {
		return err
	}
	up, err := r.api.GetUptimeWithResponse(r.Context(), id, &client.GetUptimeParams{Period: &period})
	if err != nil {
		return err
	}
	table := loopTable{Path: "/app/checks/" + id.String(), Live: true, Rows: r.loopRows(got.JSON200.Data, up.JSON200.Data)}
	if !r.partial() {
		return r.redirect(table.Path)
	}
	return r.renderPart(http.StatusOK, "check", "loops", table)
}

// testCheck runs the check now and shows its result.
func (s *Server) testCheck(r *request) error {
	id, err := r.checkID()
	if err != nil {
		return err
	}
	form, err := r.posted()
	if err != nil {
		return err
	}
	params := &client.TestCheckParams{}
	if region := form.Get("region"); region != "" {
		params.Region = &region
	}
	out := testOutcome{}
	done, err := r.api.TestCheckWithResponse(r.Context(), id, params)
	if err != nil {
		out.Error = err.Error()
	} else {
		result := done.JSON200.Data
		out.Row = r.resultRow(&result, resultBar/max(float64(result.ResponseTimeMs), 1))
		out.Row.ID = ""
		test, _ := metadataOf(&result)["test"].(bool)
		out.Stored = !test
	}
	if r.partial() {
		return r.renderPart(http.StatusOK, "check", "tested", out)
	}
	f := flash{Mark: out.Row.Mark.State, Text: out.Row.City + ": " + out.Row.Text + " in " + out.Row.MS}
	if out.Error != "" {
		f = flash{Mark: "down", Text: out.Error}
	}
	r.flash(f)
	return r.redirect("/app/checks/" + id.String())
}

// switchCheck pauses or resumes the check.
func (s *Server) switchCheck(r *request) error {
	id, err := r.checkID()
	if err != nil {
		return err
	}
	form, err := r.posted()
	if err != nil {
		return err
	}
	action, word, undo := client.CheckBulkRequestActionDisable, "Paused", "true"
	if form.Get("enabled") == "true" {
		action, word, undo = client.CheckBulkRequestActionEnable, "Resumed", "false"
	}
	ids := []string{id.String()}
	done, err := r.api.ChangeChecksWithResponse(r.Context(), client.CheckBulkRequest{Action: action, Ids: &ids})
	if err != nil {
		return err
	}
	path := "/app/checks/" + id.String()
	note := flash{
		Mark:     "done",
		Text:     word,
		Post:     true,
		Link:     path + "/enabled",
		LinkText: "Undo",
		Fields:   map[string][]string{"enabled": {undo}},
	}
	r.flash(note.warn(warningsOf(done.JSON200.Data.Checks)...))
	return r.redirect(path)
}

func (s *Server) confirmCheckDelete(r *request) error {
	id, err := r.checkID()
	if err != nil {
		return err
	}
	check, err := r.api.GetCheckWithResponse(r.Context(), id, nil)
	if err != nil {
		return err
	}
	path := "/app/checks/" + id.String()
	return r.render(http.StatusOK, "confirm", page{Title: "Delete a check", Nav: navChecks, Body: confirm{
		Title: "Delete this check?", Names: []string{check.JSON200.Data.Name}, Button: "Delete check", Action: path + "/delete", Back: path,
		Text: "Its results, rules and incidents are deleted with it. This cannot be undone.",
	}})
}

func (s *Server) deleteCheck(r *request) error {
	id, err := r.checkID()
	if err != nil {
		return err
	}
	ids := []string{id.String()}
	done, err := r.api.ChangeChecksWithResponse(r.Context(), client.CheckBulkRequest{Action: client.CheckBulkRequestActionDelete, Ids: &ids})
	if err != nil {
		return err
	}
	r.s.nav.forget(r.who.UserID)
	name := "The check"
	if checks := done.JSON200.Data.Checks; len(checks) > 0 {
		name = checks[0].Name
	}
	r.flash(flash{Mark: "done", Text: name + " is deleted"})
	return r.redirect("/app")
}
