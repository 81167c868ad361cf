// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestServeMetrics(t *testing.T) {
	t.Parallel()

	t.Run("NothingListensUnlessAsked", func(t *testing.T) {
		t.Parallel()
		p := NewProcess(slog.New(slog.DiscardHandler), Program{Version: "v1.2.3", Env: os.LookupEnv})
		if m, err := p.ServeMetrics(t.Context(), Settings{}); m.url() != "" || err != nil || m.metrics != nil || p.stops != nil {
			t.Errorf("serves %q, %v", m.url(), err)
		}
	})

	t.Run("UntilTheProcessStops", func(t *testing.T) {
		t.Parallel()
		var taken error
		for range 3 { // another process may take the port, but not every time
			again, err := net.Listen("tcp", metricsServed(t))
			if err == nil {
				_ = again.Close()
				return
			}
			taken = err
		}
		t.Errorf("the port is not free again: %v", taken)
	})
}

// metricsServed proves that a process serves metrics which no probe may reach, and
// returns the address that it served them on before it stopped.
func metricsServed(t *testing.T) string {
	t.Helper()
	p := NewProcess(slog.New(slog.DiscardHandler), Program{Version: "v1.2.3", Env: os.LookupEnv})
	m, err := p.ServeMetrics(t.Context(), Settings{MetricsListen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, m.url(), nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil || !strings.Contains(string(body), `vigil_build_info{version="v1.2.3"} 1`) {
		t.Errorf("shows %s, %v", body, err)
	}
	address := strings.TrimSuffix(strings.TrimPrefix(m.url(), "http://"), "/metrics")
	if !slices.Contains(resolveAll(t.Context(), ownAddresses(inputs{metrics: m})), netip.MustParseAddrPort(address)) {
		t.Errorf("probes may reach %s", address)
	}
	p.Stop(t.Context())
	return address
}
