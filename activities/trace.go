// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"strconv"
	"time"

	"github.com/vigil-monitor/vigil"
)

// spanRecorder receives the steps of traces. Record never waits.
type spanRecorder interface {
	Record(ctx context.Context, span vigil.Span)
}

// record sends a span to a recorder, which may be nil, with the workflow that it belongs to,
// so that a reader of the trace finds it in the Temporal UI.
func record(ctx context.Context, to spanRecorder, span *vigil.Span) {
	if to == nil {
		return
	}
	call := callIn(ctx)
	if call == nil {
		call = callOf(ctx)
	}
	span.Attributes["temporal.workflow_id"] = call.workflow
	span.Attributes["temporal.run_id"] = call.run
	if span.Start.IsZero() {
		span.Start = call.started
	}
	to.Record(ctx, *span)
}

// traceNews logs and records that a turn saw other rules fire. The vote of the region has the
// same slot, so that the incident that it opens has the same trace.
func (t *turnRun) traceNews(ctx context.Context) {
	slot, rules := t.state.Slot, len(t.state.Firing)
	trace := vigil.SlotTrace(t.turn.CheckID, t.turn.Region, slot)
	t.Log.InfoContext(ctx, "the firing rules of a region changed", "check", t.turn.CheckID, "region", t.turn.Region,
		"slot", slot.UTC().Format(time.RFC3339Nano), "rules", rules, "trace_id", trace)
	record(ctx, t.Spans, &vigil.Span{
		TraceID: trace, ID: vigil.SpanID(trace, vigil.SpanTurn), Name: vigil.SpanTurn, Start: slot,
		Attributes: map[string]string{
			"vigil.check_id": t.turn.CheckID.String(), "vigil.region": t.turn.Region, "vigil.firing_rules": strconv.Itoa(rules),
			"vigil.health": string(t.state.Health), "vigil.worker": t.Worker,
		},
	})
}

// traceVote records that the vote of a region was stored. While an incident is open the span
// belongs to the trace of the incident, with a link to the turn.
func (w *Watcher) traceVote(ctx context.Context, span vigil.Span, vote *vigil.Vote, ack *vigil.VoteAck) {
	turn := vigil.SpanID(span.TraceID, vigil.SpanTurn)
	span.Name, span.Parent = vigil.SpanVote, turn
	span.ID = vigil.SpanID(span.TraceID, vigil.SpanVote, vote.Region)
	if ack.TraceID != "" && ack.TraceID != span.TraceID {
		span.LinkTrace, span.LinkSpan = span.TraceID, turn
		span.TraceID, span.Parent = ack.TraceID, vigil.SpanID(ack.TraceID, vigil.SpanOpen)
	}
	span.Attributes = map[string]string{"vigil.region": vote.Region, "vigil.firing_rules": strconv.Itoa(len(vote.Firing))}
	record(ctx, w.Spans, &span)
}

// traceIncident logs and records a change of an incident. One that an earlier attempt of the
// activity stored has the same span again: that attempt may have ended before it was recorded.
func (i *Incidents) traceIncident(ctx context.Context, name string, out *vigil.IncidentOutcome, err error) {
	trace := out.Incident.TraceID
	if err != nil || trace == "" {
		return
	}
	i.Log.InfoContext(ctx, "incident changed", "change", name, "incident", out.Incident.ID, "status", out.Incident.Status,
		"deliveries", len(out.PendingDeliveries), "trace_id", trace)
	span := vigil.Span{
		TraceID: trace, ID: vigil.SpanID(trace, name), Name: name, Parent: vigil.SpanID(trace, vigil.SpanOpen),
		Attributes: map[string]string{
			"vigil.incident_id": out.Incident.ID.String(), "vigil.deliveries": strconv.Itoa(len(out.PendingDeliveries)),
			"vigil.repeated": strconv.FormatBool(!out.Changed),
		},
	}
	if name == vigil.SpanOpen {
		span.Parent = vigil.SpanID(trace, vigil.SpanTurn)
	}
	record(ctx, i.Spans, &span)
}

// attemptSpan is the ID of the span of an attempt, which a receiver gets as its parent.
func attemptSpan(attempt *vigil.Attempt) string {
	return vigil.SpanID(vigil.SpanAttempt, attempt.ID.String())
}

// traceAttempt logs and records the outcome of an attempt.
func (d *Deliveries) traceAttempt(ctx context.Context, next *vigil.NextAttempt, attempt *vigil.Attempt, remaining *vigil.Remaining) {
	delivery := &next.Delivery
	log := []any{
		"delivery", delivery.ID, "incident", delivery.IncidentID, "channel", delivery.ChannelID, "attempt", attempt.Number,
		"status", remaining.Status,
	}
	if attempt.ErrorCode != "" {
		log = append(log, "error_code", attempt.ErrorCode)
	}
	d.Log.InfoContext(ctx, "delivery attempt", append(log, "trace_id", next.TraceID)...)
	record(ctx, d.Spans, &vigil.Span{
		TraceID: next.TraceID, ID: attemptSpan(attempt), Name: vigil.SpanAttempt, Parent: vigil.SpanID(next.TraceID, vigil.SpanOpen),
		Start: attempt.StartedAt, Error: attempt.ErrorCode,
		Attributes: map[string]string{
			"vigil.incident_id": delivery.IncidentID.String(), "vigil.delivery_id": delivery.ID.String(),
			"vigil.channel_id": delivery.ChannelID.String(), "vigil.channel_type": string(delivery.ChannelType),
			"vigil.event_type": string(delivery.EventType), "vigil.attempt": strconv.Itoa(attempt.Number),
			"vigil.delivery_status": string(remaining.Status), "http.response.status_code": strconv.Itoa(attempt.StatusCode),
		},
	})
}
