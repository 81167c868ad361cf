package activities

import (
	"context"
	"strconv"

	"go.temporal.io/sdk/activity"

	"vigil"
)

// Activities record metrics with the handler in their context, which does nothing in a
// process without a metrics endpoint. The values of a label come from a short list: never
// an id, a name or an address.

// labels are the labels of a metric.
type labels = map[string]string

// countResult counts a stored result once: a slot that already had a result adds nothing.
func countResult(ctx context.Context, t vigil.CheckType, stored vigil.StoredResult) {
	if !stored.Inserted {
		return
	}
	r, handler := stored.Result, activity.GetMetricsHandler(ctx)
	handler.WithTags(labels{"type": string(t), "region": r.Region, "success": strconv.FormatBool(r.Success)}).
		Counter("vigil_results_total").Inc(1)
	// Zero is added too, so that the time series exists before its first increase.
	handler.WithTags(labels{"region": r.Region}).Counter("vigil_slots_missed_total").Inc(stored.Missed)
	if !r.Manual {
		handler.Timer("vigil_probe_lateness_seconds").Record(max(0, r.Time.Sub(r.Slot)))
	}
}

// countAttempt counts a delivery attempt by its outcome. It adds zero to the other
// outcomes, so that their time series exist before their first increase.
func countAttempt(ctx context.Context, t vigil.ChannelType, set vigil.AttemptOutcome, rest vigil.Remaining) {
	outcome := "failed"
	switch {
	case set.Delivered:
		outcome = "delivered"
	case rest.Status == vigil.DeliveryExhausted:
		outcome = "exhausted"
	case set.Attempt.ErrorCode == vigil.AttemptUnknown:
		outcome = "unknown"
	}
	for _, o := range []string{"delivered", "failed", "exhausted", "unknown"} {
		var n int64
		if o == outcome {
			n = 1
		}
		activity.GetMetricsHandler(ctx).WithTags(labels{"channel": string(t), "outcome": o}).
			Counter("vigil_delivery_attempts_total").Inc(n)
	}
}

// countOpened counts an incident when this call opened it.
func countOpened(ctx context.Context, out vigil.IncidentOutcome, err error) {
	if err == nil && out.Changed {
		activity.GetMetricsHandler(ctx).Counter("vigil_incidents_opened_total").Inc(1)
	}
}

// countResolved counts an incident when this call resolved it.
func countResolved(ctx context.Context, how vigil.Resolution, out vigil.IncidentOutcome, err error) {
	if err == nil && out.Changed {
		activity.GetMetricsHandler(ctx).WithTags(labels{"resolution": string(how)}).Counter("vigil_incidents_resolved_total").Inc(1)
	}
}
