// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/overview"
)

// readTimeout bounds reading the figures of checks.
const readTimeout = 20 * time.Second

// checks produces the figures of checks, beside those of the process. They do not go through
// instruments, which would keep every series that there ever was.
type checks struct {
	now  func() time.Time
	log  *slog.Logger
	read atomic.Pointer[func(context.Context) ([]overview.CheckFigures, error)]
}

func (c *checks) set(read func(context.Context) ([]overview.CheckFigures, error)) {
	c.read.Store(&read)
}

// Produce returns the figures as they are now. Without them the others are exported.
func (c *checks) Produce(ctx context.Context) ([]metricdata.ScopeMetrics, error) {
	read := c.read.Load()
	if read == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	list, err := (*read)(ctx)
	if err != nil {
		c.log.WarnContext(ctx, "the figures of checks were not exported", "error", err)
		return nil, nil
	}
	if len(list) == 0 {
		return nil, nil
	}
	return []metricdata.ScopeMetrics{{Scope: instrumentation.Scope{Name: "vigil/checks"}, Metrics: families(list, c.now())}}, nil
}

// family is a gauge while it is collected. Names are those of GET /v1/metrics.
type family struct {
	name, unit, help string
	points           []metricdata.DataPoint[float64]
}

func families(list []overview.CheckFigures, now time.Time) []metricdata.Metrics {
	up := family{name: "vigil_check_up", help: "1 when the newest result in the region succeeded, else 0."}
	response := family{name: "vigil_check_response_seconds", unit: "s", help: "Response time of the newest result in the region."}
	days := family{name: "vigil_check_ssl_days_remaining", unit: "d", help: "Days that the certificate has left."}
	open := family{name: "vigil_check_incident_open", help: "1 while an incident of the check is open, else 0."}
	held := family{name: "vigil_check_in_maintenance", help: "1 while a maintenance window covers the check, else 0."}
	for i := range list {
		check := &list[i]
		base := []attribute.KeyValue{
			attribute.String("organization", check.OrgID.String()), attribute.String("check", check.ID.String()),
			attribute.String("name", check.Name), attribute.String("type", string(check.Type)),
		}
		whole := attribute.NewSet(base...)
		open.add(whole, now, oneIf(check.IncidentOpen))
		if check.Enabled {
			held.add(whole, now, oneIf(check.InMaintenance))
		}
		for n := range check.Regions {
			region := &check.Regions[n]
			set := attribute.NewSet(append(base[:len(base):len(base)], attribute.String("region", region.Region))...)
			if region.Health != vigil.Unknown {
				up.add(set, now, oneIf(region.Health == vigil.Healthy))
			}
			if region.Response >= 0 {
				response.add(set, now, region.Response.Seconds())
			}
			if region.SSLDays != nil {
				days.add(set, now, *region.SSLDays)
			}
		}
	}
	var metrics []metricdata.Metrics
	for _, f := range []*family{&up, &response, &days, &open, &held} {
		if len(f.points) > 0 {
			metrics = append(metrics, metricdata.Metrics{
				Name: f.name, Unit: f.unit, Description: f.help, Data: metricdata.Gauge[float64]{DataPoints: f.points},
			})
		}
	}
	return metrics
}

func (f *family) add(set attribute.Set, at time.Time, value float64) {
	f.points = append(f.points, metricdata.DataPoint[float64]{Attributes: set, Time: at, Value: value})
}

func oneIf(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}
