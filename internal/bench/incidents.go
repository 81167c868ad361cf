// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"
)

// IncidentOptions configure MeasureIncidents.
type IncidentOptions struct {
	Checks   int           // that fail at once, each with a rule
	Interval time.Duration // of every check; within it all of them fail
	Out      io.Writer     // where the report goes
}

// MeasureIncidents makes all checks fail at once, and prints when every incident has its
// first attempt of a delivery, counted from the first failure and from each check's own.
func MeasureIncidents(ctx context.Context, o IncidentOptions) error {
	alerts := AlertOptions{Checks: o.Checks, Interval: o.Interval}
	return withAlerts(ctx, alerts, func(s *cluster, scenario *alertScenario, _ *apiCaller) error {
		began := time.Now()
		scenario.broken.Store(true)
		if _, err := s.since(ctx, began, o.Checks, `SELECT count(DISTINCT d.incident_id) FROM attempts AS a
			JOIN deliveries AS d ON d.id = a.delivery_id WHERE a.number = $1`, 1); err != nil {
			return err
		}
		return s.reportIncidents(ctx, o)
	})
}

func (s *cluster) reportIncidents(ctx context.Context, o IncidentOptions) error {
	var all, detected, p50, p99 float64
	err := s.db.QueryRowContext(ctx, `
		WITH failed AS (
			SELECT check_id, min(time + response_time_ms * interval '1 ms') AS at FROM results WHERE NOT success GROUP BY 1
		), alerted AS (
			SELECT f.at AS failed, min(a.started_at) AS at
			FROM attempts AS a JOIN deliveries AS d ON d.id = a.delivery_id JOIN failed AS f ON f.check_id = d.check_id
			WHERE a.number = 1 AND d.event_type = 'incident.triggered' GROUP BY d.incident_id, f.at
		)
		SELECT extract(epoch FROM max(at) - min(failed)), extract(epoch FROM max(failed) - min(failed)),
			percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM at - failed)),
			percentile_cont(0.99) WITHIN GROUP (ORDER BY extract(epoch FROM at - failed)) FROM alerted`).
		Scan(&all, &detected, &p50, &p99)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d checks fail at once, interval %v, %d cores\n", o.Checks, o.Interval, runtime.NumCPU())
	fmt.Fprintf(&b, "  every first attempt  %.1f s after the first failure, of which the last check failed after %.1f s\n", all, detected)
	fmt.Fprintf(&b, "  from its own failure p50 %.2f s, p99 %.2f s\n\n", p50, p99)
	_, err = io.WriteString(o.Out, b.String())
	return err
}
