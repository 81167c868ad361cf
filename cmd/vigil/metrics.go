package main

import (
	"context"
	"time"

	"vigil/metrics"
)

// serveMetrics shows the figures of this process at VIGIL_METRICS_LISTEN and
// returns their URL, "" when that is not set. It is the first part to start, so
// that every other one is measured, and the last to stop.
func (p *platform) serveMetrics(ctx context.Context) (string, error) {
	if p.settings.MetricsListen == "" {
		return "", nil
	}
	listener, err := listen(ctx, string(p.settings.MetricsListen), "VIGIL_METRICS_LISTEN")
	if err != nil {
		return "", err
	}
	if p.metrics, err = metrics.New(version, p.log); err != nil {
		_ = listener.Close()
		return "", err
	}
	address := listener.Addr().String()
	p.refuse(address)
	// A profile may take a minute; nobody waits for it.
	p.serve("the metrics", listener, p.metrics.Handler(p.settings.MetricsListen.loopback()), 200*time.Millisecond)
	p.log.InfoContext(ctx, "metrics are served", "address", address)
	return "http://" + hostPort(address).reachable() + "/metrics", nil
}
