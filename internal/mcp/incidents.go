// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"time"

	"github.com/vigil-monitor/vigil/client"
)

func (s *Server) incidentTools() []*tool {
	return []*tool{
		{
			name: "list_incidents", title: "Incidents", effect: reads, scopes: read(), run: does(listIncidents),
			input: s.schemas.members().query("list-incidents", "status").own("check", checkMember()).
				own("since", instant("Incidents that started at or after this instant.")).
				own("limit", number("How many to show; 25 by default.", 1, 50)).own("cursor", cursorMember()),
			description: "Lists incidents, newest first, with severity, state and times. Use get_incident for what happened and who was notified.",
		},
		{
			name: "get_incident", title: "Incident", effect: reads, scopes: read(), run: does(getIncident),
			input: s.schemas.members().own("incident", text("The id of the incident.")).require("incident"),
			description: "Shows one incident: why it opened, with the failing result, its timeline, its notifications and a link to its " +
				"workflow. Use get_results for what the check saw before and after.",
		},
		{
			name: "list_deliveries", title: "Deliveries", effect: reads, scopes: read(), run: does(listDeliveries),
			input: s.schemas.members().own("incident", text("Deliveries of one incident, by its id.")).
				own("channel", channelMember()).query("list-deliveries", "status").
				own("limit", number("How many to show; 10 by default.", 1, 25)).own("cursor", cursorMember()),
			description: "Lists notifications, newest first, each with its last attempt: what the receiver answered, and when the next attempt " +
				"is. Use send_message to try an exhausted one again.",
		},
	}
}

// incidentRow shows an incident in a list.
func incidentRow(incident object) object {
	return cleanObject(pick(incident, "id", "check_id", "title", "severity", "status", "started_at", "acknowledged_at", "acknowledged_by",
		"resolved_at", "resolution", "regions"))
}

type incidentsInput struct {
	Status, Check, Cursor string
	Since                 time.Time
	Limit                 int64
}

func listIncidents(c *call, in incidentsInput) (object, error) {
	params := client.ListIncidentsParams{Cursor: given(in.Cursor), Status: given(client.ListIncidentsParamsStatus(in.Status))}
	if in.Check != "" {
		id, err := c.check(in.Check)
		if err != nil {
			return nil, err
		}
		params.CheckId = &id
	}
	return listing("incidents", or(in.Limit, 25), func(limit int64) (page, error) {
		params.Limit = &limit
		part, err := list(c.api.ListIncidents(c.ctx, &params))
		return part.since(in.Since, "started_at"), err
	}, func(row object) (object, error) { return incidentRow(row), nil })
}

// Sizes of the parts of an incident.
const (
	timelineShown   = 40
	deliveriesShown = 20
)

func getIncident(c *call, in struct{ Incident string }) (object, error) {
	id, err := parseID("incident", in.Incident)
	if err != nil {
		return nil, err
	}
	incident, err := one(c.api.GetIncident(c.ctx, id))
	if err != nil {
		return nil, err
	}
	timeline, err := list(c.api.ListIncidentTimeline(c.ctx, id, &client.ListIncidentTimelineParams{Limit: new(int64(timelineShown))}))
	if err != nil {
		return nil, err
	}
	for _, entry := range timeline.rows {
		// The delivery of an attempt is among the deliveries.
		if delivery, ok := entry["delivery"].(object); ok {
			entry["delivery_id"] = delivery["id"]
			delete(entry, "delivery")
		}
	}
	deliveries, err := list(c.api.ListDeliveries(c.ctx, &client.ListDeliveriesParams{IncidentId: &id, Limit: new(int64(deliveriesShown))}))
	if err != nil {
		return nil, err
	}
	result := object{
		"incident": clean(incident), "timeline": cleanRows(timeline.rows),
		"deliveries": cleanRows(deliveries.rows, "incident_id", "check_id", "incident_title", "retry_waits_seconds"),
		"link":       c.s.deps.PublicURL + "/app/incidents/" + id.String(),
	}
	if len(timeline.rows) == timelineShown || deliveries.next != "" {
		result["truncated"] = true
	}
	return result, nil
}

type deliveriesInput struct {
	Incident, Channel, Status, Cursor string
	Limit                             int64
}

func listDeliveries(c *call, in deliveriesInput) (object, error) {
	params := client.ListDeliveriesParams{Cursor: given(in.Cursor), Status: given(client.ListDeliveriesParamsStatus(in.Status))}
	var err error
	if params.IncidentId, err = optionalID("incident", in.Incident); err != nil {
		return nil, err
	}
	if in.Channel != "" {
		id, err := c.channel(in.Channel)
		if err != nil {
			return nil, err
		}
		params.ChannelId = &id
	}
	return listing("deliveries", or(in.Limit, 10), func(limit int64) (page, error) {
		params.Limit = &limit
		return list(c.api.ListDeliveries(c.ctx, &params))
	}, c.delivery)
}

// delivery shows a delivery with its last attempt.
func (c *call) delivery(row object) (object, error) {
	shown := cleanObject(row)
	delete(shown, "retry_waits_seconds")
	text, _ := row["id"].(string)
	id, err := parseID("id", text)
	if err != nil {
		return nil, err
	}
	attempts, err := list(c.api.ListDeliveryAttempts(c.ctx, id, &client.ListDeliveryAttemptsParams{Limit: new(int64(100))}))
	if err != nil {
		return nil, err
	}
	last, newest := object(nil), int64(-1)
	for _, attempt := range attempts.rows {
		if n := intOf(attempt["number"]); n > newest {
			last, newest = attempt, n
		}
	}
	if last != nil {
		shown["last_attempt"] = clean(last)
	}
	return shown, nil
}
