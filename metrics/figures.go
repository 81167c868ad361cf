package metrics

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
)

// figure is one metric of the platform's own. It has these labels and no others:
// whatever else comes with a value, such as the tags that the SDK puts on
// everything, is summed up. So no label can be one of a check, an organization
// or a URL, unless it is written here.
type figure struct {
	name, help string
	labels     []attribute.Key
	buckets    []float64 // of a histogram: upper bounds
}

// figures are all metrics of the platform's own. docs/operations.md explains
// each of them.
func figures() []figure {
	return []figure{
		{name: "vigil_build_info", help: "The version of the program; the value is 1.", labels: []attribute.Key{"version"}},

		{name: "vigil_results_total", help: "Results stored.", labels: []attribute.Key{"type", "region", "success"}},
		{name: "vigil_slots_missed_total", help: "Slots that were found without a result when a later one was stored.", labels: []attribute.Key{"region"}},
		{name: "vigil_probe_lateness_seconds", help: "Time from a slot to the start of its probe.", buckets: []float64{.001, .01, .1, .5, 1, 2.5, 5, 10, 30, 60}},
		{name: "vigil_probes_in_flight", help: "Probes that run now."},

		{name: "vigil_results_waiting", help: "Results that wait to be stored now."},
		{name: "vigil_result_commit_seconds", help: "Time that a transaction with results took.", buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, 1, 5, 30}},
		{name: "vigil_result_commit_rows", help: "Results in a transaction.", buckets: []float64{1, 4, 16, 64, 128, 256}},

		{name: "vigil_incidents_opened_total", help: "Incidents opened."},
		{name: "vigil_incidents_resolved_total", help: "Incidents resolved.", labels: []attribute.Key{"resolution"}},
		{name: "vigil_delivery_attempts_total", help: "Attempts to tell a channel.", labels: []attribute.Key{"channel", "outcome"}},

		{name: "vigil_api_requests_total", help: "Requests answered.", labels: []attribute.Key{"method", "route", "status"}},
		{name: "vigil_api_request_duration_seconds", help: "Time that a request took; of a stream, how long it was open.", labels: []attribute.Key{"method", "route"}, buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10}},
		{name: "vigil_alert_streams_open", help: "Alert streams that are open now."},
	}
}

// views give every figure its help, its labels and its buckets, and the timers of
// the SDK buckets of seconds: those of OpenTelemetry are meant for milliseconds.
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
