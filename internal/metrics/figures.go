// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
)

// figure is one metric of the platform's own. It has these labels and no others:
// values with other tags, such as those that the SDK adds to everything, are summed
// up. So no label identifies a check, an organization or a URL.
type figure struct {
	name, help string
	labels     []attribute.Key
	buckets    []float64 // of a histogram: upper bounds
}

// figures are all metrics of the platform's own, which docs/operations.md explains.
func figures() []figure {
	return []figure{
		{name: "vigil_build_info", help: "Version of the program; the value is always 1.", labels: []attribute.Key{"version"}},

		{name: "vigil_results_total", help: "Results stored.", labels: []attribute.Key{"type", "region", "success"}},
		{
			name:   "vigil_slots_missed_total",
			help:   "Slots without a result, counted when a later result is stored.",
			labels: []attribute.Key{"region"},
		},
		{
			name:   "vigil_slots_blind_total",
			help:   "Slots missed because the machine had lost its line.",
			labels: []attribute.Key{"region"},
		},
		{name: "vigil_blind", help: "1 while no canary answers and failures of public targets are missed slots, else 0."},
		{
			name:    "vigil_probe_lateness_seconds",
			help:    "Time from a slot to the start of its probe.",
			buckets: []float64{.001, .01, .1, .5, 1, 2.5, 5, 10, 30, 60},
		},
		{name: "vigil_probes_in_flight", help: "Probes running now."},
		{name: "vigil_worker_parked", help: "1 while the worker takes no turns and starts no probes, else 0."},
		{name: "vigil_clock_difference_seconds", help: "By how much the worker's clock is ahead of the database's; negative when it is behind."},
		{name: "vigil_probes_waiting", help: "Probes that are due and wait for a place."},
		{name: "vigil_slot_lateness_seconds", help: "How late the slots of the last ten seconds were probed, 90th percentile."},
		{name: "vigil_overloaded", help: "1 while slots are more than a second late for ten seconds, else 0."},

		{name: "vigil_turns_total", help: "Turns that ended.", labels: []attribute.Key{"end"}},
		{name: "vigil_turn_budget", help: "Turns a second that the process may make; 0 without a bound."},
		{name: "vigil_turn_budget_tokens", help: "Turns that the process may make beyond its budget."},
		{name: "vigil_turn_slots", help: "Slots that a turn covers to keep within the budget."},
		{name: "vigil_slots_due", help: "Slots a second of the loops of the process."},

		{name: "vigil_results_waiting", help: "Results waiting to be stored."},
		{
			name: "vigil_results_kept_total",
			help: "Results that were stored with the definitions because their own database was away.",
		},
		{
			name:    "vigil_result_commit_seconds",
			help:    "Duration of a transaction that stores results.",
			buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, 1, 5, 30},
		},
		{name: "vigil_result_commit_rows", help: "Results per transaction.", buckets: []float64{1, 4, 16, 64, 128, 256}},

		{name: "vigil_incidents_opened_total", help: "Incidents opened."},
		{name: "vigil_incidents_resolved_total", help: "Incidents resolved.", labels: []attribute.Key{"resolution"}},
		{
			name: "vigil_agent_results_refused_total", help: "Results of agents that were not stored, as an agent that works sends none.",
			labels: []attribute.Key{"reason"},
		},
		{name: "vigil_agent_streams_open", help: "Streams of agents that are open."},
		{name: "vigil_drills_total", help: "Drills that ended.", labels: []attribute.Key{"verdict"}},
		{name: "vigil_delivery_attempts_total", help: "Attempts to notify a channel.", labels: []attribute.Key{"channel", "outcome"}},

		{
			name: "vigil_api_reads_total", help: "Requests that a standby could answer, by where they were answered.",
			labels: []attribute.Key{"from"},
		},
		{name: "vigil_api_requests_total", help: "Requests answered.", labels: []attribute.Key{"method", "route", "status"}},
		{
			name:    "vigil_api_request_duration_seconds",
			help:    "Duration of a request; for a stream, how long it was open.",
			labels:  []attribute.Key{"method", "route"},
			buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		},
		{name: "vigil_alert_streams_open", help: "Alert streams open now."},

		{
			name:   "vigil_loops_overdue",
			help:   "Loops whose newest result is older than three intervals and the deadline of a probe, of all organizations.",
			labels: []attribute.Key{"region"},
		},
		{name: "vigil_sweep_shards", help: "Shards of the sweep that this process has, of 17."},
	}
}

// views give every figure its help, labels and buckets, and the SDK's timers buckets in
// seconds: the defaults of OpenTelemetry are meant for milliseconds.
func views() []metric.View {
	timers := metric.Stream{Aggregation: histogram(.001, .005, .025, .1, .5, 1, 5, 10, 60, 300)}
	all := []metric.View{metric.NewView(metric.Instrument{Name: "temporal_*", Kind: metric.InstrumentKindHistogram}, timers)}
	for _, f := range figures() {
		stream := metric.Stream{Description: f.help, AttributeFilter: attribute.NewAllowKeysFilter(f.labels...)}
		if f.buckets != nil {
			stream.Aggregation = histogram(f.buckets...)
		}
		all = append(all, metric.NewView(metric.Instrument{Name: f.name}, stream))
	}
	return all
}

func histogram(bounds ...float64) metric.Aggregation {
	return metric.AggregationExplicitBucketHistogram{Boundaries: bounds, NoMinMax: true}
}
