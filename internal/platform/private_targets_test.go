// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/egress"
)

func TestPrivateTargets(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	guard := egress.New(egress.Policy{AllowPrivate: true})
	private := &privateTargets{guard: guard, log: slog.New(slog.NewTextHandler(&log, nil))}
	if !private.Open() || private.Closed() != "" {
		t.Fatal("they are not open")
	}
	private.Close("a proxy")
	private.Close("another proxy")
	if private.Open() || guard.Check("tcp", "127.0.0.1:80") == nil || private.Closed() != "a proxy" {
		t.Errorf("open %v, closed because of %q", private.Open(), private.Closed())
	}
	if text := log.String(); strings.Count(text, "level=WARN") != 1 || !strings.Contains(text, `reason="a proxy"`) {
		t.Errorf("the log says %s", text)
	}
}

func TestMetricsAreForThisMachine(t *testing.T) {
	t.Parallel()
	handler := loopbackHosts(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for host, want := range map[string]int{"127.0.0.1:9090": 200, "localhost:9090": 200, "evil.example": 403, "127.0.0.1.nip.io:9090": 403} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody)
		request.Host = host
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		if answer.Code != want {
			t.Errorf("Host %s: status %d, want %d", host, answer.Code, want)
		}
	}
}

// closedElsewhere is what the API of another process has written.
type closedElsewhere struct{ reason chan string }

func (c closedElsewhere) ClosePrivateTargets(_ context.Context, reason string) error {
	c.reason <- reason
	return nil
}

func (closedElsewhere) OpenPrivateTargets(context.Context) error { return nil }

func (c closedElsewhere) PrivateTargetsClosed(context.Context) (string, error) {
	select {
	case reason := <-c.reason:
		return reason, nil
	default:
		return "", nil
	}
}

func TestWorkersFollowTheAPI(t *testing.T) {
	t.Parallel()
	between := closedElsewhere{make(chan string, 1)}
	api := &privateTargets{guard: egress.New(egress.Policy{AllowPrivate: true}), store: between, log: slog.New(slog.DiscardHandler)}
	worker := &privateTargets{guard: egress.New(egress.Policy{AllowPrivate: true}), store: between, log: slog.New(slog.DiscardHandler)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		worker.Follow(t.Context(), time.Millisecond)
	}()
	api.Close("a proxy")
	<-done
	if worker.Open() || worker.Closed() != "a proxy" {
		t.Errorf("open %v, closed because of %q", worker.Open(), worker.Closed())
	}
}

func TestWarnsOfListenersWithoutALogin(t *testing.T) {
	t.Parallel()
	for args, want := range map[string][]string{
		"":                         {},
		"--ui-listen=0.0.0.0:8233": {"VIGIL_UI_LISTEN"},
		"--temporal-listen=:7233":  {"VIGIL_TEMPORAL_LISTEN"},
		"--ui-listen=10.0.0.1:8233 --temporal-listen=[::]:7233":               {"VIGIL_TEMPORAL_LISTEN", "VIGIL_UI_LISTEN"},
		"--ui-listen=0.0.0.0:8233 --temporal-address=temporal.example.com:80": {},
	} {
		var log bytes.Buffer
		s := settingsFrom(t, strings.Fields(args)...)
		warnOpenListeners(t.Context(), &s, slog.New(slog.NewTextHandler(&log, nil)))
		if n := strings.Count(log.String(), "a listener without a login"); n != len(want) {
			t.Errorf("%s: %d warnings, want %d: %s", args, n, len(want), log.String())
		}
		for _, setting := range want {
			if !strings.Contains(log.String(), "setting="+setting) {
				t.Errorf("%s: no warning of %s", args, setting)
			}
		}
	}
}

// TestEveryPortOfThePlatformIsRefused holds that listeners on every address, and on a
// port that the system chose, are refused at the address that was bound.
func TestEveryPortOfThePlatformIsRefused(t *testing.T) {
	t.Parallel()
	bound, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bound.Close() }()
	port := netip.MustParseAddrPort(bound.Addr().String()).Port()
	in := inputs{
		dsn:      "host=/var/run/postgresql port=5439 user=vigil dbname=vigil",
		temporal: TemporalServer{address: "127.0.0.1:7233", listens: []string{":7300", "[::]:7301", "0.0.0.0:7302", "127.0.0.1:7303"}},
		metrics:  MetricsServer{address: bound.Addr().String()},
	}
	guard := egress.New(egress.Policy{AllowPrivate: true, Refused: resolveAll(t.Context(), ownAddresses(in))})
	for _, refused := range []uint16{5439, 7233, 7300, 7301, 7302, 7303, port} {
		for _, host := range []string{"127.0.0.1", "::1", "127.1.1.1"} {
			if address := netip.AddrPortFrom(netip.MustParseAddr(host), refused).String(); guard.Check("tcp", address) == nil {
				t.Errorf("%s can be reached", address)
			}
		}
	}
	if err := guard.Check("tcp", "127.0.0.1:8080"); err != nil {
		t.Errorf("the API's own port: %v", err)
	}
	if hosts := webOrigin("https://Temporal.example.com:8443").hosts(); !slices.Equal(hosts, []string{"temporal.example.com"}) {
		t.Errorf("hosts of the UI: %v", hosts)
	}
}
