// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

var _ = addFixture(fixtureHTTP3)

// fixtureHTTP3 is the fixture of the http3 type.
func fixtureHTTP3(f *world) fixture {
	return webFixture(vigil.TypeHTTP3, probetest.OverQUIC(f, f.authority.Issue(f), echo), "https://"+silentUDP(f))
}

// silentUDP takes packets and answers none.
func silentUDP(tb testing.TB) string {
	tb.Helper()
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = packets.Close() })
	return packets.LocalAddr().String()
}

func TestHTTP3(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url := probetest.OverQUIC(t, w.authority.Issue(t), func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Alt-Svc", `h3=":443"`)
		switch r.URL.Path {
		case "/down":
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		case "/metadata":
			http.Redirect(w, r, "https://169.254.169.254/", http.StatusFound)
		default:
			site(w, r)
		}
	})
	for name, c := range map[string]struct {
		config object
		status int
		reason string
	}{
		"OK":               {object{"url": url + "/ok"}, 200, ""},
		"OtherStatus":      {object{"url": url + "/500"}, 500, "status 500, expected 200"},
		"Redirect":         {object{"url": url + "/moved"}, 200, ""},
		"RedirectLoop":     {object{"url": url + "/loop"}, 302, "stopped after 10 redirects"},
		"RedirectToHTTP":   {object{"url": url + "/down"}, 0, "redirected to an address that HTTP/3 does not serve"},
		"RedirectIsJudged": {object{"url": url + "/metadata"}, 0, "169.254.169.254:443 is a cloud metadata address"},
		"Body": {
			object{
				"url":        url + "/body",
				"method":     "POST",
				"body":       "abc",
				"assertions": []object{{"source": "body", "operator": "eq", "target": "abc"}},
			},
			200,
			"",
		},
		"BigBody":   {object{"url": url + "/big"}, 200, ""},
		"BasicAuth": {object{"url": url + "/auth", "basic_auth": object{"username": "ann", "password": "hunter2"}}, 200, ""},
		"UnknownAuthority": {
			object{"url": probetest.OverQUIC(t, probetest.NewAuthority(t, nil).Issue(t), site)},
			0,
			"signed by an unknown authority",
		},
		"OtherHost": {
			object{"url": probetest.OverQUIC(t, w.authority.Issue(t, probetest.ForNames("a.test")), site)},
			0,
			"the certificate is for a.test, not for 127.0.0.1",
		},
		"NotVerified": {
			object{"url": probetest.OverQUIC(t, probetest.NewAuthority(t, nil).Issue(t), site) + "/ok", "verify_tls": false},
			200,
			"",
		},
		"OnlyTCP": {
			object{"url": w.https(w.authority.Issue(t), site) + "/ok", "timeout_seconds": 1},
			0,
			"timed out after 1s while in the QUIC handshake",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := w.run(vigil.TypeHTTP3, c.config)
			if seen.StatusCode != c.status || seen.Success != (c.reason == "") || !strings.Contains(seen.Error, c.reason) {
				t.Errorf("got %d %q, want %d %q", seen.StatusCode, seen.Error, c.status, c.reason)
			}
		})
	}
	seen := w.run(vigil.TypeHTTP3, object{"url": url + "/ok"})
	if seen.Metadata["protocol"] != "HTTP/3.0" || seen.Metadata["alt_svc"] != `h3=":443"` || seen.Metadata["ip"] != "127.0.0.1" ||
		seen.Metadata["cert_days_remaining"] != 90.0 {
		t.Errorf("metadata %v", seen.Metadata)
	}
}

func TestHTTP3Phases(t *testing.T) { //nolint:paralleltest // measures time
	injected := &delays{dns: 30 * time.Millisecond, ttfb: 40 * time.Millisecond, transfer: 20 * time.Millisecond}
	server := probetest.Resolver(t, late(func() { injected.wait("dns_ms", injected.dns) }))
	w := newWorld(t, egress.WithNameServer(server))
	url := probetest.OverQUIC(t, w.authority.Issue(t, probetest.ForNames("slow.test")), func(w http.ResponseWriter, _ *http.Request) {
		injected.wait("ttfb_ms", injected.ttfb)
		_, _ = w.Write([]byte("o"))
		_ = http.NewResponseController(w).Flush()
		injected.wait("transfer_ms", injected.transfer)
		_, _ = w.Write([]byte("k"))
	})
	checkPhases(t, w.must(vigil.TypeHTTP3, object{"url": strings.Replace(url, "127.0.0.1", "slow.test", 1)}), injected)
}

func TestHTTP3IsGuarded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, egress.WithNameServer(probetest.Resolver(t, probetest.At("169.254.169.254"))))
	_, err := w.Parse(vigil.TypeHTTP3, encode(t, object{"url": "https://169.254.169.254/"}), minute)
	rejected(t, err, "config.url")
	_, err = w.Parse(vigil.TypeHTTP3, encode(t, object{"url": "http://example.com/"}), minute)
	rejected(t, err, "config.url")
	seen := w.run(vigil.TypeHTTP3, object{"url": "https://innocent.test/"})
	if !strings.Contains(seen.Error, "metadata address") {
		t.Errorf("a name that leads to a metadata address: %q", seen.Error)
	}
}
