// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Handler serves /metrics and the profiles below /debug/pprof/, without
// authentication. With loopback it answers only requests to a loopback address.
func (m *Metrics) Handler(loopback bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		// A metric that cannot be read must not hide the others.
		ErrorHandling: promhttp.ContinueOnError,
		ErrorLog:      slog.NewLogLogger(m.log.Handler(), slog.LevelWarn),
	}))
	// Without cmdline, since flags may hold secrets.
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	if !loopback {
		return mux
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// No credential protects this: without the check, a web page whose name
		// resolves to 127.0.0.1 could read everything (DNS rebinding).
		if !isLoopback(r.Host) {
			http.Error(w, "this address answers requests to localhost only", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && addr.Unmap().IsLoopback()
}
