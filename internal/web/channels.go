// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil/client"
)

// channelsBody is what the list of channels shows.
type channelsBody struct {
	Rows  []channelRow
	Pager pager
	Empty *empty
}

// channelRow is a row of the list.
type channelRow struct {
	ID, Name, Href string
	Mark           mark
	Type, Target   string
	Reason         string // why the platform disabled it
	Enabled        bool
	Outcome        *channelOutcome // of the test that was just made
}

// channelOutcome is what came of a test.
type channelOutcome struct {
	ID     string // of the channel
	Mark   mark
	Text   string
	Code   string
	Answer string
}

func (s *Server) channelRoutes(on *routes) {
	on.page("GET /app/channels", s.channelList)
	on.page("POST /app/channels/{id}/test", s.testChannel)
	on.page("POST /app/channels/{id}/enabled", s.switchChannel)
}

func (s *Server) channelList(r *request) error { return s.showChannels(r, nil) }

// showChannels shows the list, with the outcome of a test in its row.
func (s *Server) showChannels(r *request, outcome *channelOutcome) error {
	types, err := r.channelTypes()
	if err != nil {
		return err
	}
	limit := int64(100)
	list, err := r.api.ListNotificationChannelsWithResponse(r.Context(),
		&client.ListNotificationChannelsParams{Limit: &limit, Cursor: r.cursor()})
	if err != nil {
		return err
	}
	body := &channelsBody{Pager: r.pager(list.JSON200.Meta, len(list.JSON200.Data), "channel")}
	for k := range list.JSON200.Data {
		row := channelRowOf(&list.JSON200.Data[k], types)
		if outcome != nil && outcome.ID == row.ID {
			row.Outcome = outcome
		}
		body.Rows = append(body.Rows, row)
	}
	if len(body.Rows) == 0 {
		body.Empty = &empty{
			Icon: "channels", Title: "No channel yet",
			Text:   "A channel is where messages go when a rule fires: a webhook, mail, a push service, a chat or a pager.",
			Action: &link{Text: "New channel", Href: "/app/channels/new"}, Key: "c",
		}
	}
	return r.render(http.StatusOK, "channels", page{Title: "Channels", Nav: navChannels, Body: body})
}

func channelRowOf(c *client.NotificationChannel, types []client.ChannelType) channelRow {
	row := channelRow{
		ID: c.Id.String(), Name: c.Name, Href: "/app/channels/" + c.Id.String(), Type: string(c.Type), Target: channelTarget(c, types),
		Enabled: c.Enabled, Mark: newMark("up", "Enabled"),
	}
	if state, failing := healthMark(&c.Delivery); failing {
		row.Mark = state
		if c.Delivery.LastError != nil {
			row.Reason = *c.Delivery.LastError
		}
	}
	if !c.Enabled {
		row.Mark = newMark("paused", "Disabled")
	}
	if c.DisabledReason != nil {
		row.Mark, row.Reason = newMark("down", "Disabled by the platform"), *c.DisabledReason
	}
	return row
}

// healthMark is the state of a channel whose messages do not arrive.
func healthMark(d *client.ChannelDelivery) (mark, bool) {
	switch d.State {
	case client.ChannelDeliveryStateFailing:
		return newMark("warn", "Failing"), true
	case client.ChannelDeliveryStateDown:
		return newMark("down", "Down"), true
	case client.ChannelDeliveryStateOk:
	}
	return mark{}, false
}

// healthFacts are what the page of a channel says of how its messages arrive.
func healthFacts(r *request, d *client.ChannelDelivery) []fact {
	facts := []fact{{Name: "State", Value: string(d.State)}}
	if d.FailingSince != nil {
		facts = append(facts, fact{Name: "Failing since", Time: new(r.date(*d.FailingSince))})
	}
	if d.ConsecutiveFailures > 0 {
		facts = append(facts, fact{Name: "Failures in a row", Value: number(d.ConsecutiveFailures)})
	}
	if d.LastDeliveredAt != nil {
		facts = append(facts, fact{Name: "Last delivered", Time: new(r.date(*d.LastDeliveredAt))})
	}
	if d.LastError != nil {
		facts = append(facts, fact{Name: "Last error", Value: *d.LastError})
	}
	return facts
}

// channelTarget is where the messages of a channel go, in a line.
func channelTarget(c *client.NotificationChannel, types []client.ChannelType) string {
	text := func(key string) string {
		value, _ := c.Config[key].(string)
		return value
	}
	switch c.Type {
	case client.NotificationChannelTypeEmail:
		if to, ok := c.Config["to"].([]any); ok {
			names := make([]string, len(to))
			for i, address := range to {
				names[i] = fmt.Sprint(address)
			}
			return strings.Join(names, ", ")
		}
		return text("email")
	case client.NotificationChannelTypePush:
		if text("topic") == "" {
			return cmp.Or(text("server"), text("format"))
		}
		return cmp.Or(text("server"), "https://ntfy.sh") + "/" + text("topic")
	case client.NotificationChannelTypeChat:
		return cmp.Or(text("webhook_url"), text("server"), text("format"))
	case client.NotificationChannelTypePager:
		return cmp.Or(text("url"), text("format"), "events.pagerduty.com")
	default: // the others say it by one member
	}
	of := slices.IndexFunc(types, func(t client.ChannelType) bool { return t.Type == string(c.Type) })
	if of < 0 {
		return ""
	}
	if target, _ := types[of].TargetMember(orNone(c.EffectiveFormat)); target != nil {
		return text(target.Name)
	}
	return ""
}

// testChannel sends a test and shows its outcome in the row of the channel.
func (s *Server) testChannel(r *request) error {
	id, err := r.pathID("id")
	if err != nil {
		return err
	}
	outcome := &channelOutcome{ID: id.String()}
	answer, err := r.api.TestNotificationChannelWithResponse(r.Context(), id, nil)
	if err != nil {
		f := newForm(r)
		if !f.refused(err) {
			return err
		}
		outcome.Mark, outcome.Text = newMark("failed", "Not sent"), f.text()
	} else {
		outcome.of(&answer.JSON200.Data)
	}
	if r.partial() {
		return r.renderPart(http.StatusOK, "channels", "channel-outcome", outcome)
	}
	if r.PostFormValue("back") == "channel" {
		return s.showChannel(r, outcome)
	}
	return s.showChannels(r, outcome)
}

// of words the attempt of a test.
func (o *channelOutcome) of(a *client.Attempt) {
	took := distance(time.Duration(a.DurationMs) * time.Millisecond)
	switch {
	case a.Delivered:
		o.Mark, o.Text = newMark("done", "Delivered"), "Test delivered in "+took
	case unknownOutcome(a):
		o.Mark, o.Text = newMark("unknown", "Outcome not known"), "The test may have arrived: its outcome is not known"
	default:
		o.Mark, o.Text = newMark("failed", "Failed"), "Test failed after "+took+": "+errorOf(a)
	}
	if a.StatusCode != nil {
		o.Code = fmt.Sprint(*a.StatusCode)
	}
	if a.ResponseBody != nil && !a.Delivered {
		o.Answer = *a.ResponseBody
	}
}

// switchChannel enables or disables a channel.
func (s *Server) switchChannel(r *request) error {
	id, err := r.pathID("id")
	if err != nil {
		return err
	}
	form, err := r.posted()
	if err != nil {
		return err
	}
	enable := form.Get("enabled") == "true"
	body := fmt.Sprintf(`{"enabled":%t}`, enable)
	answer, err := r.api.UpdateNotificationChannelWithBodyWithResponse(r.Context(), id, nil, "application/json", strings.NewReader(body))
	if err != nil {
		if f := newForm(r); f.refused(err) {
			r.flash(flash{Mark: "down", Text: f.text()})
			return r.redirect("/app/channels")
		}
		return err
	}
	done := flash{Mark: "done", Text: answer.JSON200.Data.Name + " is enabled"}
	if !enable {
		done = flash{
			Mark: "paused", Text: answer.JSON200.Data.Name + " is disabled: nothing is sent to it", Link: r.URL.Path, LinkText: "Undo", Post: true,
			Fields: map[string][]string{"enabled": {"true"}},
		}
	}
	r.flash(done)
	return r.redirect("/app/channels")
}
