// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil/client"
)

// deliveriesBody is what the list of deliveries shows.
type deliveriesBody struct {
	Filters []choice
	Limits  []link // what else the list is limited to; each link drops it
	Rows    []deliveryRow
	Pager   pager
	Empty   *empty
}

// deliveryRow is a row of the list.
type deliveryRow struct {
	ID           string
	Mark         mark
	Title, Href  string
	Reason       string
	Next         stamp // when the next attempt is due; none for a delivery without one
	Channel      string
	ChannelHref  string
	Type, Event  string
	Attempts     string
	Took         string
	Created      stamp
	Run          string
	StateClass   string
	IncidentHref string
}

func (s *Server) deliveryListRoutes(on *routes) {
	on.page("GET /app/deliveries", s.deliveryList)
}

// deliveryStates are the filters of the list, with the marks and words of their states.
func deliveryStates() []choice {
	return []choice{
		{Text: "Pending", State: "unknown", Href: "pending"},
		{Text: "Delivered", State: "done", Href: "delivered"},
		{Text: "Exhausted", State: "failed", Href: "exhausted"},
		{Text: "Superseded", State: "paused", Href: "superseded"},
		{Text: "Canceled", State: "paused", Href: "canceled"},
	}
}

func (s *Server) deliveryList(r *request) error {
	p, err := s.readDeliveries(r)
	if err != nil {
		return err
	}
	return r.render(http.StatusOK, "deliveries", p)
}

// readDeliveries reads the list of deliveries that the address of the request asks for.
func (s *Server) readDeliveries(r *request) (page, error) {
	states := deliveryStates()
	values := make([]string, len(states))
	for i := range states {
		values[i] = states[i].Href
	}
	status := r.oneOf("status", values...)
	limit := int64(listPage)
	params := client.ListDeliveriesParams{
		Limit: &limit, Cursor: r.cursor(), IncidentId: r.idParameter("incident_id"), ChannelId: r.idParameter("channel_id"),
	}
	if status != "" {
		chosen := client.ListDeliveriesParamsStatus(status)
		params.Status = &chosen
	}
	list, err := r.api.ListDeliveriesWithResponse(r.Context(), &params)
	if err != nil {
		return page{}, err
	}
	body := &deliveriesBody{
		Pager:   r.pager(list.JSON200.Meta, len(list.JSON200.Data), "delivery"),
		Filters: []choice{{Text: "All", Href: r.filterURL("status", ""), Chosen: status == ""}},
	}
	for _, state := range states {
		body.Filters = append(body.Filters, choice{
			Text: state.Text, State: state.State, Href: r.filterURL("status", state.Href), Chosen: status == state.Href,
		})
	}
	for k := range list.JSON200.Data {
		body.Rows = append(body.Rows, deliveryRowOf(r, &list.JSON200.Data[k]))
	}
	if err := body.limits(r, &params, list.JSON200.Data); err != nil {
		return page{}, err
	}
	if len(body.Rows) == 0 {
		if body.Empty, err = noDelivery(r); err != nil {
			return page{}, err
		}
	}
	return page{Title: "Deliveries", Nav: navDeliveries, Live: "page=" + liveDeliveries, Body: body}, nil
}

// limits names the incident and the channel that the list is limited to.
func (b *deliveriesBody) limits(r *request, params *client.ListDeliveriesParams, rows []client.Delivery) error {
	if params.IncidentId != nil {
		text := "one incident"
		if len(rows) > 0 && rows[0].IncidentTitle != nil {
			text = *rows[0].IncidentTitle
		}
		b.Limits = append(b.Limits, link{Text: "Incident: " + text, Href: r.filterURL("incident_id", "")})
	}
	if params.ChannelId == nil {
		return nil
	}
	text := "one channel"
	channel, err := r.api.GetNotificationChannelWithResponse(r.Context(), *params.ChannelId, nil)
	if err == nil {
		text = channel.JSON200.Data.Name
	}
	b.Limits = append(b.Limits, link{Text: "Channel: " + text, Href: r.filterURL("channel_id", "")})
	return unlessMissing(err)
}

func deliveryRowOf(r *request, d *client.Delivery) deliveryRow {
	row := deliveryRow{
		ID: d.Id.String(), Title: aboutOf(d), Href: "/app/deliveries/" + d.Id.String(), Channel: d.ChannelName,
		ChannelHref: "/app/channels/" + d.ChannelId.String(), Type: d.ChannelType, Event: eventWord(string(d.EventType)),
		Attempts: number(d.Attempts), Created: r.stamp(d.CreatedAt), Mark: deliveryMark(d), Took: "–",
		IncidentHref: aboutHref(d),
	}
	if d.RunUrl != nil && r.keptInTemporal(d.FinishedAt) {
		row.Run = *d.RunUrl
	}
	if d.FinishedAt != nil && d.Status == client.DeliveryStatusDelivered {
		row.Took = distance(d.FinishedAt.Sub(d.CreatedAt))
	}
	switch {
	case d.Status == client.DeliveryStatusExhausted:
		row.Reason, row.StateClass = "every attempt failed", "red"
	case d.Status == client.DeliveryStatusPending && d.Attempts > 0:
		row.Reason, row.StateClass = counted(d.Attempts, "attempt")+" failed", "red"
		if d.NextAttemptAt != nil {
			row.Next = r.due(*d.NextAttemptAt)
		}
	}
	return row
}

// inOrSoon words when something is due.
func inOrSoon(left time.Duration) string {
	if left < time.Second {
		return "now"
	}
	return "in " + span(left)
}

// aboutHref is the page of what a delivery is about: of the incident, or of the check; that of the
// delivery where it is about neither.
func aboutHref(d *client.Delivery) string {
	switch {
	case d.IncidentId != nil:
		return "/app/incidents/" + d.IncidentId.String()
	case d.CheckId != nil:
		return "/app/checks/" + d.CheckId.String()
	}
	return "/app/deliveries/" + d.Id.String()
}

// aboutOf is what a delivery is about.
func aboutOf(d *client.Delivery) string {
	if d.IncidentTitle != nil && *d.IncidentTitle != "" {
		return *d.IncidentTitle
	}
	switch {
	case d.IncidentId != nil:
		return "An incident"
	case d.UnobservedId != nil:
		return "A check that is not probed"
	}
	return capital(eventWord(string(d.EventType)))
}

// eventWord is what happened, in a word.
func eventWord(event string) string {
	switch event {
	case "incident.triggered":
		return "opened"
	case "incident.resolved":
		return "resolved"
	case "check.unobserved":
		return "not probed"
	case "check.observed":
		return "probed again"
	}
	return strings.ReplaceAll(strings.TrimPrefix(event, "incident."), ".", " ")
}

func deliveryMark(d *client.Delivery) mark {
	switch d.Status {
	case client.DeliveryStatusDelivered:
		return newMark("done", "Delivered")
	case client.DeliveryStatusExhausted:
		return newMark("failed", "Exhausted")
	case client.DeliveryStatusSuperseded:
		return newMark("paused", "Superseded")
	case client.DeliveryStatusCanceled:
		return newMark("paused", "Canceled")
	case client.DeliveryStatusPending:
	}
	if d.Attempts > 0 {
		return newMark("warn", "Waiting for the next attempt")
	}
	return newMark("unknown", "Pending")
}

// noDelivery says why there is none.
func noDelivery(r *request) (*empty, error) {
	if r.filtered("status", "incident_id", "channel_id") {
		return &empty{
			Icon: "search", Title: "No delivery matches", Text: "The filter leaves none.",
			Action: &link{Text: "Clear filter", Href: r.URL.Path}, Key: "Esc",
		}, nil
	}
	limit := int64(1)
	channels, err := r.api.ListNotificationChannelsWithResponse(r.Context(), &client.ListNotificationChannelsParams{Limit: &limit})
	if err != nil {
		return nil, err
	}
	e := &empty{Icon: "deliveries", Title: "Nothing was sent yet", Text: "Messages to your channels appear here, with each attempt."}
	if len(channels.JSON200.Data) == 0 {
		e.Text += " There is no channel yet."
		e.Action = &link{Text: "Create a channel", Href: "/app/channels/new"}
		return e, nil
	}
	e.Text += " A test goes out at once and is shown on the page of its channel."
	e.Action = &link{Text: "Send a test to " + channels.JSON200.Data[0].Name, Href: "/app/channels"}
	return e, nil
}
