// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"net/http"
	"time"

	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/metrics"
	"github.com/vigil-monitor/vigil/internal/telemetry"
)

// MetricsServer serves the metrics of this process; the zero value serves none.
type MetricsServer struct {
	metrics  *metrics.Metrics    // nil measures nothing
	exporter *telemetry.Exporter // nil exports nothing
	address  string              // host:port on which it listens
}

// url is where the metrics are served, "" when they are not.
func (m MetricsServer) url() string {
	if m.address == "" {
		return ""
	}
	return "http://" + HostPort(m.address).Reachable() + "/metrics"
}

// ServeMetrics serves the metrics of this process at VIGIL_METRICS_LISTEN, if it is
// set, and exports them to VIGIL_OTLP_ENDPOINT, until the process stops.
func (p *Process) ServeMetrics(ctx context.Context, s Settings) (MetricsServer, error) {
	if s.MetricsListen == "" {
		return p.exportMetrics(ctx, s)
	}
	listener, err := p.Listen(ctx, s.MetricsListen, "VIGIL_METRICS_LISTEN")
	if err != nil {
		return MetricsServer{}, err
	}
	out, err := p.exportMetrics(ctx, s)
	if err == nil && out.metrics == nil {
		out.metrics, err = metrics.New(p.program.Version, p.Log)
	}
	if err != nil {
		return MetricsServer{}, err
	}
	out.address = listener.Addr().String()
	// A profile may take a minute; stopping does not wait for it.
	handler := out.metrics.Handler(s.MetricsListen.Loopback())
	if s.MetricsListen.Loopback() {
		handler = loopbackHosts(handler)
	}
	p.serve("the metrics", listener, rest.TimeBodies(handler, 0), 200*time.Millisecond)
	p.Log.InfoContext(ctx, "metrics are served", "address", out.address)
	return out, nil
}

// loopbackHosts serves only requests whose Host header names this machine, so that no web
// page reads the profiles of a process through a name that it binds to loopback.
func loopbackHosts(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !rest.LoopbackHost(r.Host) {
			http.Error(w, "The Host header does not name this machine.", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
