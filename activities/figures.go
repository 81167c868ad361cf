// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"strconv"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"github.com/vigil-monitor/vigil"
)

// What activities know is counted by the handler that the SDK puts into their
// context. It does nothing in a process that shows no metrics. A label is a word
// of a short list: never an id, a name or an address.

// figuresOf returns the handler of an activity, or of a turn that runs apart from it.
func figuresOf(ctx context.Context) client.MetricsHandler {
	if call := callIn(ctx); call != nil {
		return call.figures
	}
	return activity.GetMetricsHandler(ctx)
}

// labels is the labels of a figure.
type labels = map[string]string

// countResult counts a result that was stored, once: not a row that was there, and none of a drill.
func countResult(ctx context.Context, t vigil.CheckType, recorded vigil.StoredResult) {
	if !recorded.Inserted || t == vigil.TypeDrill {
		return
	}
	r, to := recorded.Result, figuresOf(ctx)
	to.WithTags(labels{"type": string(t), "region": r.Region, "success": strconv.FormatBool(r.Success)}).
		Counter("vigil_results_total").Inc(1)
	// None missed is counted too, so that the figure is there before it moves.
	to.WithTags(labels{"region": r.Region}).Counter("vigil_slots_missed_total").Inc(recorded.Missed)
	countBlind(ctx, r.Region, 0)
	if !r.Manual {
		to.Timer("vigil_probe_lateness_seconds").Record(max(0, r.Time.Sub(r.Slot)))
	}
}

// countBlind counts slots that are missed because this machine has lost its line.
func countBlind(ctx context.Context, region string, slots int64) {
	figuresOf(ctx).WithTags(labels{"region": region}).Counter("vigil_slots_blind_total").Inc(slots)
}

// countTurn counts a turn by its end; one that ended with an error is lost.
func countTurn(ctx context.Context, result *TurnResult, err error) {
	end := "lost"
	if err == nil {
		end = string(result.End)
	}
	figuresOf(ctx).WithTags(labels{"end": end}).Counter("vigil_turns_total").Inc(1)
}

// countAttempt counts an attempt to notify a channel, by its outcome. It adds zero
// to the other outcomes, so that their counters exist before the first such attempt.
func countAttempt(ctx context.Context, t vigil.ChannelType, attempted vigil.AttemptOutcome, remaining vigil.Remaining) {
	outcome := "failed"
	switch {
	case attempted.Delivered:
		outcome = "delivered"
	case remaining.Status == vigil.DeliveryExhausted:
		outcome = "exhausted"
	case attempted.Attempt.ErrorCode == vigil.AttemptUnknown:
		outcome = "unknown"
	}
	for _, o := range []string{"delivered", "failed", "exhausted", "unknown"} {
		var n int64
		if o == outcome {
			n = 1
		}
		figuresOf(ctx).WithTags(labels{"channel": string(t), "outcome": o}).
			Counter("vigil_delivery_attempts_total").Inc(n)
	}
}

// countOpened counts an incident that was opened just now.
func countOpened(ctx context.Context, out vigil.IncidentOutcome, err error) {
	if err == nil && out.Changed && !out.Drill {
		figuresOf(ctx).Counter("vigil_incidents_opened_total").Inc(1)
	}
}

// countResolved counts an incident that was resolved just now.
func countResolved(ctx context.Context, how vigil.Resolution, out vigil.IncidentOutcome, err error) {
	if err == nil && out.Changed && !out.Drill {
		figuresOf(ctx).WithTags(labels{"resolution": string(how)}).Counter("vigil_incidents_resolved_total").Inc(1)
	}
}
