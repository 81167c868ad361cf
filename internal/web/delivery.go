// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/vigil-monitor/vigil/client"
)

// deliveryBody is what the page of a delivery shows.
type deliveryBody struct {
	ID, Title, Channel string
	Badge              badge
	Lead               []leadPart
	Run                string
	Ruler              []rulerPlace
	Attempts           []attemptLine
	Message            string // the body, as JSON with indents
	MessageGone        string // why there is none
	Facts              []fact
	Redelivering       bool
}

// leadPart is a part of the sentence on top; a link where it has an address.
type leadPart struct{ Text, Href string }

// rulerPlace is a place of the schedule: an attempt that was made or may be.
type rulerPlace struct {
	Number string
	Wait   string // before it
	State  string // failed, delivered, due, or empty for later
	Dotted bool   // the wait before it has passed or is passing
	Due    *stamp
}

// attemptLine is one attempt.
type attemptLine struct {
	Mark          mark
	Number        int64
	Text, Code    string
	Meta, ErrCode string
	Answer        string // the first lines
	Next          string // the wait after it
	Time          stamp
	Manual        bool
}

func (s *Server) deliveryRoutes(on *routes) {
	on.page("GET /app/deliveries/{id}", s.deliveryPage)
	on.page("POST /app/deliveries/{id}/redeliver", s.redeliver)
}

func (s *Server) deliveryPage(r *request) error {
	id, err := r.pathID("id")
	if err != nil {
		return err
	}
	found, err := r.api.GetDeliveryWithResponse(r.Context(), id)
	if err != nil {
		return err
	}
	d := &found.JSON200.Data
	var attempts []client.Attempt
	var message *client.DeliveryMessage
	var payload []byte
	var incident *client.Incident
	gone := ""
	work, ctx := errgroup.WithContext(r.Context())
	work.Go(func() error {
		limit := int64(100)
		list, err := r.api.ListDeliveryAttemptsWithResponse(ctx, id, &client.ListDeliveryAttemptsParams{Limit: &limit})
		if err == nil {
			attempts = list.JSON200.Data
		}
		return err
	})
	work.Go(func() error {
		answer, err := r.api.GetDeliveryMessageWithResponse(ctx, id)
		if err == nil {
			message, payload = &answer.JSON200.Data, answer.Body
		} else if hasCode(err, "not_found") {
			gone = err.Error()
		}
		return unlessMissing(err)
	})
	work.Go(func() error {
		if d.IncidentId == nil {
			return nil
		}
		answer, err := r.api.GetIncidentWithResponse(ctx, *d.IncidentId)
		if err == nil {
			incident = &answer.JSON200.Data
		}
		return unlessMissing(err)
	})
	if err := work.Wait(); err != nil {
		return err
	}
	body := &deliveryBody{
		ID: id.String(), Title: aboutOf(d), Channel: d.ChannelName, Badge: deliveryBadge(d, attempts), Lead: deliveryLead(d, incident, attempts),
		Ruler: ruler(r, d, attempts), Attempts: attemptLines(r, attempts), Message: indented(message, payload), MessageGone: gone,
		Facts: deliveryFacts(r, d, message), Redelivering: d.Redelivering,
	}
	if d.RunUrl != nil && r.keptInTemporal(d.FinishedAt) {
		body.Run = *d.RunUrl
	}
	return r.render(http.StatusOK, "delivery", page{Title: body.Title + " → " + body.Channel, Nav: navDeliveries, Body: body})
}

// deliveryBadge is the state of a delivery.
func deliveryBadge(d *client.Delivery, attempts []client.Attempt) badge {
	switch d.Status {
	case client.DeliveryStatusDelivered:
		if first := firstDelivered(attempts); first != nil && first.Number > 1 {
			return badge{State: "done", Text: fmt.Sprintf("Delivered at attempt %d", first.Number)}
		}
		return badge{State: "done", Text: "Delivered"}
	case client.DeliveryStatusExhausted:
		return badge{State: "failed", Text: "Every attempt failed"}
	case client.DeliveryStatusSuperseded:
		return badge{State: "paused", Text: "Superseded"}
	case client.DeliveryStatusCanceled:
		return badge{State: "paused", Text: "Canceled"}
	case client.DeliveryStatusPending:
	}
	if d.Attempts > 0 {
		return badge{State: "warn", Text: "Waiting for attempt " + number(d.Attempts+1)}
	}
	return badge{State: "unknown", Text: "Pending"}
}

// firstDelivered is the attempt with which a message arrived: later ones were requested.
// It is nil when none has, and when attempts are no longer kept.
func firstDelivered(attempts []client.Attempt) *client.Attempt {
	for k := len(attempts) - 1; k >= 0; k-- { // newest first
		if attempts[k].Delivered {
			return &attempts[k]
		}
	}
	return nil
}

// deliveryLead says in a sentence what became of the delivery.
func deliveryLead(d *client.Delivery, i *client.Incident, attempts []client.Attempt) []leadPart {
	switch {
	case d.UnobservedId != nil:
		return unobservedLead(d, attempts)
	case d.IncidentId == nil:
		return systemLead(d, attempts)
	case d.EventType == client.DeliveryEventTypeIncidentAcknowledged, d.EventType == client.DeliveryEventTypeIncidentUpdated:
		return betweenLead(d, i, attempts)
	}
	first, opening := "The message that ", d.EventType == client.DeliveryEventTypeIncidentTriggered
	if opening {
		first = "The first message of "
	}
	lead := []leadPart{{Text: first}, {Text: "this incident", Href: "/app/incidents/" + d.IncidentId.String()}}
	rest := " to " + withArticle(d.ChannelType) + "."
	if !opening {
		rest = " has ended, to " + withArticle(d.ChannelType) + "."
	}
	return append(lead, leadPart{Text: rest + " " + deliveryEnd(d, i, attempts)})
}

// unobservedLead is deliveryLead for a message about a check that is not probed.
func unobservedLead(d *client.Delivery, attempts []client.Attempt) []leadPart {
	rest := " is not probed, to "
	if d.EventType != client.DeliveryEventTypeCheckUnobserved {
		rest = " is probed again, or need not be, to "
	}
	return []leadPart{
		{Text: "The message that "},
		{Text: "this check", Href: "/app/checks/" + d.CheckId.String()},
		{Text: rest + withArticle(d.ChannelType) + ". " + deliveryEnd(d, nil, attempts)},
	}
}

// deliveryEnd is the sentence of each end state.
func deliveryEnd(d *client.Delivery, i *client.Incident, attempts []client.Attempt) string {
	switch d.Status {
	case client.DeliveryStatusDelivered:
		text := "It arrived."
		if d.FinishedAt != nil {
			since, what := d.CreatedAt, "incident opened"
			switch {
			case d.IncidentId == nil:
				what = "event"
			case d.EventType == client.DeliveryEventTypeIncidentAcknowledged:
				what = "acknowledgement"
			case d.EventType == client.DeliveryEventTypeIncidentUpdated:
				what = "update"
			case d.EventType != client.DeliveryEventTypeIncidentTriggered:
				what = "incident was resolved"
			}
			if i != nil && i.CreatedAt.Before(since) && what == "incident opened" {
				since = i.CreatedAt
			}
			arrived := *d.FinishedAt
			if first := firstDelivered(attempts); first != nil && first.FinishedAt != nil {
				arrived = *first.FinishedAt
			}
			text = "It arrived " + offset(arrived.Sub(since)) + " after the " + what + "."
		}
		if d.Merged {
			both := "the opening and the recovery"
			if d.IncidentId == nil {
				both = "the beginning and the end"
			}
			text += " It reported both " + both + "."
		}
		return text
	case client.DeliveryStatusExhausted:
		return "Every attempt failed, so no more are made by themselves."
	case client.DeliveryStatusSuperseded:
		if d.IncidentId == nil {
			return "The check was probed again, or need not be, before this message was delivered, so it was not sent any more."
		}
		return "The incident ended before this message was delivered, so it was not sent any more."
	case client.DeliveryStatusCanceled:
		return "It was canceled, because its channel was disabled or deleted."
	case client.DeliveryStatusPending:
	}
	if d.Attempts == 0 {
		return "Its first attempt is about to be made."
	}
	return "It is not delivered yet."
}

// withArticle names a channel by its type, as a sentence does.
func withArticle(channelType string) string {
	switch channelType {
	case "email":
		return "an email channel"
	case "webhook":
		return "a webhook"
	}
	return "a " + channelType + " channel"
}

// ruler lays the attempts on the schedule. Redeliveries are counted apart.
func ruler(r *request, d *client.Delivery, attempts []client.Attempt) []rulerPlace {
	if d.RetryWaitsSeconds == nil {
		return nil
	}
	places := []rulerPlace{{Wait: "at once"}}
	for _, seconds := range *d.RetryWaitsSeconds {
		places = append(places, rulerPlace{Wait: "+" + scheduleWait(seconds)})
	}
	made := 0
	for k := len(attempts) - 1; k >= 0 && made < len(places); k-- {
		a := &attempts[k]
		if a.Manual || a.FinishedAt == nil {
			continue
		}
		places[made].State, places[made].Dotted = "failed", made > 0
		if a.Delivered {
			places[made].State = "delivered"
		}
		made++
	}
	if d.Status == client.DeliveryStatusPending && made < len(places) {
		places[made].State, places[made].Dotted = "due", made > 0
		if d.NextAttemptAt != nil {
			due := r.stamp(*d.NextAttemptAt)
			due.Text = inOrSoon(d.NextAttemptAt.Sub(r.now))
			places[made].Due = &due
		}
	}
	for i := range places {
		places[i].Number = strconv.Itoa(i + 1)
	}
	return places
}

// scheduleWait words a wait of the schedule: 200 ms, 5 s, 10 min, 24 h.
func scheduleWait(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	if d <= 48*time.Hour && d%time.Hour == 0 {
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return spanExact(d)
}

func attemptLines(r *request, attempts []client.Attempt) []attemptLine {
	lines := make([]attemptLine, len(attempts))
	for k := range attempts {
		a := &attempts[k]
		line := attemptLine{Number: a.Number, Time: r.clock(a.StartedAt, true), Manual: a.Manual}
		line.Time.Full = r.date(a.StartedAt).Full
		if !sameDay(r, a.StartedAt) {
			line.Time = r.stamp(a.StartedAt)
		}
		took := distance(time.Duration(a.DurationMs) * time.Millisecond)
		switch {
		case a.FinishedAt == nil:
			line.Mark, line.Text = newMark("unknown", "Under way"), "is under way"
		case a.Delivered:
			line.Mark, line.Text, line.Meta = newMark("done", "Delivered"), "delivered", took
			if a.StatusCode != nil {
				line.Text, line.Code = "delivered,", fmt.Sprint(*a.StatusCode)
			}
		case unknownOutcome(a):
			line.Mark, line.Text, line.Meta = newMark("unknown", "Outcome not known"), "may have arrived: its outcome is not known", took
		default:
			line.Mark, line.Text, line.Meta = newMark("failed", "Attempt failed"), "failed: "+errorOf(a), took
		}
		if a.ErrorCode != nil {
			line.ErrCode = *a.ErrorCode
		}
		if a.ResponseBody != nil {
			line.Answer = *a.ResponseBody
		}
		if a.NextAttemptAt != nil && !a.Delivered {
			line.Next = "next after " + distance(a.NextAttemptAt.Sub(a.StartedAt).Round(time.Second))
		}
		lines[k] = line
	}
	return lines
}

func sameDay(r *request, t time.Time) bool {
	a, b := t.In(r.prefs.Zone), r.now.In(r.prefs.Zone)
	return a.Year() == b.Year() && a.YearDay() == b.YearDay()
}

// indented writes the body of a message for people, in the order of its members: the
// generated type has lost it, the answer has not.
func indented(m *client.DeliveryMessage, answer []byte) string {
	if m == nil {
		return ""
	}
	var raw struct {
		Data struct {
			Payload json.RawMessage `json:"payload"`
		} `json:"data"`
	}
	var out bytes.Buffer
	if json.Unmarshal(answer, &raw) != nil || json.Indent(&out, raw.Data.Payload, "", "  ") != nil {
		return m.Body
	}
	return out.String()
}

func deliveryFacts(r *request, d *client.Delivery, message *client.DeliveryMessage) []fact {
	facts := []fact{{Name: "Event", Value: string(d.EventType), Mono: true}}
	if d.ChannelType == "webhook" {
		facts = append(facts, fact{Name: "webhook-id", Value: short(d.EventId.String()), Mono: true})
	}
	if message != nil && d.ChannelType != "webhook" {
		facts = append(facts, fact{Name: "Title", Value: message.Title})
	}
	facts = append(facts, fact{Name: "Channel", Value: d.ChannelName, Link: "/app/channels/" + d.ChannelId.String()})
	if f := d.FallbackFor; f != nil {
		facts = append(facts, fact{Name: "In the place of", Value: f.ChannelName, Link: "/app/deliveries/" + f.DeliveryId.String()})
	}
	facts = append(facts, recipientFacts(d)...)
	made := r.date(d.CreatedAt)
	facts = append(facts, fact{Name: "Made", Time: &made})
	workflow := fact{Name: "Workflow", Value: short(d.WorkflowId), Mono: true}
	if d.RunUrl != nil && r.keptInTemporal(d.FinishedAt) {
		workflow.Link = *d.RunUrl
	}
	return append(facts, workflow)
}

func (s *Server) redeliver(r *request) error {
	id, err := r.pathID("id")
	if err != nil {
		return err
	}
	path := "/app/deliveries/" + id.String()
	if _, err := r.api.RedeliverWithResponse(r.Context(), id, nil); err != nil {
		if f := newForm(r); f.refused(err) {
			r.flash(flash{Mark: "down", Text: f.text()})
			return r.redirect(path)
		}
		return err
	}
	r.flash(flash{Mark: "done", Text: "One more attempt is made now"})
	return r.redirect(path)
}
