package main

import (
	"bytes"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"vigil/egress"
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
		s := settingsOf(t, strings.Fields(args)...)
		warnOpenListeners(t.Context(), &s, slog.New(slog.NewTextHandler(&log, nil)))
		if n := strings.Count(log.String(), "has no login"); n != len(want) {
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
		temporal: temporalServer{address: "127.0.0.1:7233", listens: []string{":7300", "[::]:7301", "0.0.0.0:7302", "127.0.0.1:7303"}},
		metrics:  metricsServer{address: bound.Addr().String()},
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
