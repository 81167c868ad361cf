// SPDX-License-Identifier: Apache-2.0

package web

import (
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
)

// resendBody is what the page shows that sends again what a channel did not get.
type resendBody struct {
	Name, Action, Back string
	Form               *form
}

// recoveryBody is what the page of a recovery shows.
type recoveryBody struct {
	Name, Back string
	Path       string // of the page
	Mark       mark
	Running    bool
	Share      string // in percent
	Done       string // how far it is, in words
	Facts      []fact
}

// recoveryLine is a recovery in the list of the page of a channel.
type recoveryLine struct {
	Href    string
	Mark    mark
	Started stamp
	Text    string
}

func (s *Server) recoveryRoutes(on *routes) {
	on.page("GET /app/channels/{id}/recover", s.resendPage)
	on.page("POST /app/channels/{id}/recover", s.resendMessages)
	on.page("GET /app/channels/{id}/recoveries/{recovery}", s.recoveryPage)
	on.page("POST /app/channels/{id}/recoveries/{recovery}/cancel", s.cancelRecovery)
}

// timeField is the layout of a field of the type datetime-local.
const timeField = "2006-01-02T15:04"

// resendForm asks which messages are sent again: those since the channel began to fail, or of the
// last day.
func resendForm(r *request, channel *client.NotificationChannel) *resendBody {
	back := "/app/channels/" + channel.Id.String()
	body := &resendBody{Name: channel.Name, Action: back + "/recover", Back: back, Form: newForm(r)}
	since := r.now.Add(-24 * time.Hour)
	if began := channel.Delivery.FailingSince; began != nil && began.Before(since) {
		since = *began
	}
	body.Form.Heading = "Nothing is sent yet."
	body.Form.add(field{
		Name: "since", Label: "Since", Type: "datetime-local", Required: true, Focus: true,
		Value: since.In(r.prefs.Zone).Format(timeField), Help: "Messages that were due from then on, in " + r.prefs.Zone.String() + ".",
	})
	body.Form.add(field{Name: "until", Label: "Until", Type: "datetime-local", Help: "Empty: until now."})
	for _, status := range recoveryStatuses() {
		body.Form.add(field{
			Name: "statuses." + string(status.of), Label: status.label, Type: "checkbox", Help: status.help,
			Checked: status.of == client.ChannelRecoveryRequestStatusesExhausted,
		})
	}
	body.Form.add(field{Name: "statuses", Label: "Which messages"})
	return body
}

// recoveryStatus is a state of a delivery that can be sent again.
type recoveryStatus struct {
	of          client.ChannelRecoveryRequestStatuses
	label, help string
}

func recoveryStatuses() []recoveryStatus {
	return []recoveryStatus{
		{client.ChannelRecoveryRequestStatusesExhausted, "Given up", "Every attempt failed."},
		{client.ChannelRecoveryRequestStatusesCanceled, "Canceled", "The channel was disabled, or its receiver answered 410."},
		{client.ChannelRecoveryRequestStatusesSuperseded, "Superseded", "Their incident ended before they arrived."},
	}
}

// body is what was posted. What is no time is said in the form.
func (b *resendBody) body(r *request) (client.ChannelRecoveryRequest, bool) {
	var request client.ChannelRecoveryRequest
	ok := true
	at := func(name string) (when time.Time) {
		text := b.Form.get(name)
		if text == "" && name == "until" {
			return when
		}
		var err error
		if when, err = time.ParseInLocation(timeField, text, r.prefs.Zone); err != nil {
			ok = false
			b.Form.Status = http.StatusUnprocessableEntity
			b.Form.reject(name, "must be a date and a time")
		}
		return when
	}
	request.Since = at("since")
	if until := at("until"); !until.IsZero() {
		request.Until = &until
	}
	statuses := []client.ChannelRecoveryRequestStatuses{}
	for _, status := range recoveryStatuses() {
		if b.Form.values.Has("statuses." + string(status.of)) {
			statuses = append(statuses, status.of)
		}
	}
	request.Statuses = &statuses
	return request, ok
}

func (s *Server) resendPage(r *request) error {
	channel, err := readChannel(r)
	if err != nil {
		return err
	}
	return renderResend(r, resendForm(r, channel))
}

func renderResend(r *request, body *resendBody) error {
	return r.render(body.Form.Status, "channel_recover", page{Title: "Send again to " + body.Name, Nav: navChannels, Body: body})
}

// resendMessages begins a recovery and shows it. Where one runs already, it shows that one.
func (s *Server) resendMessages(r *request) error {
	channel, err := readChannel(r)
	if err != nil {
		return err
	}
	body := resendForm(r, channel)
	request, ok := body.body(r)
	if !ok {
		return renderResend(r, body)
	}
	made, err := r.api.RecoverNotificationChannelWithResponse(r.Context(), channel.Id, nil, request)
	if err != nil {
		if !body.Form.refused(err) {
			return err
		}
		if running := recoveryThatRuns(err); running != "" {
			r.flash(flash{Mark: "warn", Text: "This recovery runs already. Another one can begin when it has ended."})
			return r.redirect(body.Back + "/recoveries/" + running)
		}
		return renderResend(r, body)
	}
	if made.JSON202.Data.Total == 0 {
		r.flash(flash{Mark: "done", Text: "There was nothing to send again in this time"})
		return r.redirect(body.Back)
	}
	return r.redirect(body.Back + "/recoveries/" + made.JSON202.Data.Id.String())
}

// recoveryThatRuns is the id of the recovery that an answer names; empty without one.
func recoveryThatRuns(err error) string {
	if known, ok := errors.AsType[*APIError](err); ok {
		if id, ok := known.Details["recovery_id"].(string); ok && uuid.Validate(id) == nil {
			return id
		}
	}
	return ""
}

// readRecovery reads the recovery in the path.
func readRecovery(r *request) (*client.NotificationChannel, *client.Recovery, error) {
	channel, err := readChannel(r)
	if err != nil {
		return nil, nil, err
	}
	id, err := r.pathID("recovery")
	if err != nil {
		return nil, nil, err
	}
	found, err := r.api.GetRecoveryWithResponse(r.Context(), channel.Id, id)
	if err != nil {
		return nil, nil, err
	}
	return channel, &found.JSON200.Data, nil
}

// recoveryPage shows how far a recovery is. The part that changes asks for itself while it runs.
func (s *Server) recoveryPage(r *request) error {
	channel, recovery, err := readRecovery(r)
	if err != nil {
		return err
	}
	body := recoveryBodyOf(r, channel, recovery)
	if r.partial() {
		return r.renderPart(http.StatusOK, "channel_recovery", "recovery", body)
	}
	return r.render(http.StatusOK, "channel_recovery", page{Title: "Recovery of " + channel.Name, Nav: navChannels, Body: body})
}

func recoveryBodyOf(r *request, channel *client.NotificationChannel, recovery *client.Recovery) *recoveryBody {
	back := "/app/channels/" + channel.Id.String()
	ended := recovery.Sent + recovery.Skipped + recovery.Failed
	body := &recoveryBody{
		Name: channel.Name, Back: back, Path: back + "/recoveries/" + recovery.Id.String(), Mark: recoveryMark(recovery),
		Running: recovery.State == client.RecoveryStateRunning, Share: "100",
		Done: number(ended) + " of " + counted(recovery.Total, "message"),
	}
	if recovery.Total > 0 {
		body.Share = number(ended * 100 / recovery.Total)
	}
	body.Facts = []fact{
		{Name: "Arrived", Value: number(recovery.Sent)},
		{Name: "Not needed", Value: number(recovery.Skipped)},
		{Name: "Failed again", Value: number(recovery.Failed)},
		{Name: "Since", Time: new(r.date(recovery.Since))},
		{Name: "Until", Time: new(r.date(recovery.Until))},
		{Name: "Started", Time: new(r.date(recovery.StartedAt))},
	}
	if recovery.FinishedAt != nil {
		body.Facts = append(body.Facts, fact{Name: "Ended", Time: new(r.date(*recovery.FinishedAt))})
	}
	return body
}

func recoveryMark(recovery *client.Recovery) mark {
	switch {
	case recovery.State == client.RecoveryStateRunning:
		return newMark("unknown", "Running")
	case recovery.State == client.RecoveryStateCanceled:
		return newMark("paused", "Canceled")
	case recovery.Failed > 0:
		return newMark("warn", "Ended, "+number(recovery.Failed)+" failed again")
	}
	return newMark("done", "Done")
}

func (s *Server) cancelRecovery(r *request) error {
	channel, recovery, err := readRecovery(r)
	if err != nil {
		return err
	}
	if _, err := r.api.CancelRecoveryWithResponse(r.Context(), channel.Id, recovery.Id, nil); err != nil {
		return err
	}
	return r.redirect("/app/channels/" + channel.Id.String() + "/recoveries/" + recovery.Id.String())
}

// newestRecoveries are the recoveries that the page of a channel lists.
func newestRecoveries(r *request, channel uuid.UUID) ([]recoveryLine, error) {
	list, err := r.api.ListRecoveriesWithResponse(r.Context(), channel, &client.ListRecoveriesParams{Limit: new(int64(3))})
	if err != nil {
		return nil, err
	}
	var lines []recoveryLine
	for i := range list.JSON200.Data {
		one := &list.JSON200.Data[i]
		lines = append(lines, recoveryLine{
			Href: "/app/channels/" + channel.String() + "/recoveries/" + one.Id.String(), Mark: recoveryMark(one), Started: r.date(one.StartedAt),
			Text: number(one.Sent) + " of " + number(one.Total) + " arrived",
		})
	}
	return lines, nil
}
