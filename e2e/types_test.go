// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

type object = map[string]any

// specimen is a check of one type with its expected results.
type specimen struct {
	config object
	shows  []string // paths of the metadata of a good result

	// Then either the target fails, or the check gets another config.
	fail  func()
	wrong object

	reason  string   // part of the error message
	explain []string // paths of the metadata of the failure
}

// TestTypes creates one check of each type with a real target: it is healthy with
// the promised metadata, then fails with a reason.
func TestTypes(t *testing.T) {
	timingtest.Parallel(t)
	_, c := shared(t)
	specimens := specimens(t, common.authority)
	if len(specimens) < 13 {
		t.Errorf("%d specimens, want one for each of the 13 types", len(specimens))
	}
	for kind, s := range specimens {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			c := c
			c.t = t
			if kind == vigil.TypePing && len(unavailableTypes(c)) > 0 {
				t.Skip("this machine forbids ICMP")
			}
			s.run(t, c, kind)
		})
	}
	t.Run("Retry", func(t *testing.T) {
		t.Parallel()
		c := c
		c.t = t
		retries(t, c)
	})
}

// run creates the check and waits until it is healthy, then until it fails.
func (s specimen) run(t *testing.T, c client, kind vigil.CheckType) {
	t.Helper()
	var made check
	c.into(&made, http.MethodPost, "/v1/checks", object{
		"name": string(kind), "type": kind, "interval_seconds": 3, "regions": []string{clusterRegion}, "config": s.config,
	})
	path := "/v1/checks/" + made.ID
	// A probe may time out on a busy machine; a later one succeeds.
	seen := awaitResult(c, path, func(s sampledResult) bool { return s.Success })
	if seen.Error != "" {
		t.Fatalf("a result succeeded with an error: %+v", seen)
	}
	seen.has(t, s.shows)

	if s.fail != nil {
		s.fail()
	} else {
		c.into(nil, http.MethodPut, path, object{"config": s.wrong})
	}
	seen = awaitResult(c, path, func(seen sampledResult) bool { return !seen.Success && strings.Contains(seen.Error, s.reason) })
	seen.has(t, s.explain)
	if c.into(&made, http.MethodGet, path, nil); made.HealthStatus != "unhealthy" {
		t.Errorf("health_status %q, want unhealthy", made.HealthStatus)
	}
	t.Logf("fails: %s", seen.Error)
}

// sampledResult is a result with its error and metadata.
type sampledResult struct {
	Success  bool   `json:"success"`
	Error    string `json:"error_message"`
	Metadata object `json:"metadata"`
}

// awaitResult waits until the newest result of a check is as wanted and returns it.
func awaitResult(c client, path string, wanted func(sampledResult) bool) sampledResult {
	c.t.Helper()
	var newest []sampledResult
	found := false
	defer func() {
		if !found {
			c.t.Logf("the newest result is %+v", newest)
		}
	}()
	eventually(c.t, "the newest result is as wanted", func() bool {
		c.into(&newest, http.MethodGet, path+"/results?limit=1", nil)
		found = len(newest) > 0 && wanted(newest[0])
		return found
	})
	return newest[0]
}

// has fails the test when the metadata lacks a path.
func (s sampledResult) has(t *testing.T, paths []string) {
	t.Helper()
	for _, path := range paths {
		var at any = s.Metadata
		for name := range strings.SplitSeq(path, ".") {
			members, _ := at.(object)
			at = members[name]
		}
		if at == nil {
			t.Errorf("the metadata has no %s: %v", path, s.Metadata)
		}
	}
}

// unavailableTypes returns the check types that clusterRegion cannot run.
func unavailableTypes(c client) []string {
	c.t.Helper()
	var regions []struct {
		Key         string   `json:"key"`
		Unavailable []string `json:"unavailable_types"`
	}
	c.into(&regions, http.MethodGet, "/v1/regions?limit=100", nil)
	for _, region := range regions {
		if region.Key == clusterRegion {
			return region.Unavailable
		}
	}
	c.t.Fatalf("%s is not among the regions", clusterRegion)
	return nil
}

// specimens returns one for each type. Their servers run until the test ends.
func specimens(t *testing.T, authority *probetest.Authority) map[vigil.CheckType]specimen {
	t.Helper()
	site, shop := newService(t), newShop(t)
	trusted, dated := authority.Issue(t), authority.Issue(t, probetest.Expired())
	greeter, closeGreeter := newGreeter(t)
	resolver, remove := newZone(t)
	post := probetest.NewPostOffice(t, authority, "starttls", "tls")
	mail := object{"timeout_seconds": 1, "max_delivery_seconds": 1}
	health, stopServing := newHealth(t)
	live, registry := newLive(t), newRegistry(t)
	slow := httptest.NewServer(http.HandlerFunc(drizzle))
	t.Cleanup(slow.Close)
	phases := []string{"timings.connect_ms", "timings.ttfb_ms", "timings.transfer_ms", "ip", "protocol"}
	dates := []string{"days_remaining", "not_after", "issuer", "subject", "sans", "chain_valid"}
	return map[vigil.CheckType]specimen{
		vigil.TypeHTTP: {
			config: object{"url": site.URL + "/http"}, shows: phases,
			fail: func() { site.fail("/http") }, reason: "status 500, expected 200", explain: phases,
		},
		vigil.TypeHTTPS: {
			config: object{"url": "https://" + overTLS(t, trusted)}, shows: append(phases, "timings.tls_ms", "cert_days_remaining"),
			wrong: object{"url": "https://" + overTLS(t, dated)}, reason: "the certificate expired on ",
		},
		vigil.TypeHTTP3: {
			config: object{"url": probetest.OverQUIC(t, trusted, advertise)}, shows: append(phases, "timings.tls_ms", "alt_svc"),
			wrong: object{"url": "https://" + overTLS(t, trusted), "timeout_seconds": 1}, reason: "while in the QUIC handshake",
		},
		vigil.TypeTCP: {
			config: object{"host": "127.0.0.1", "port": greeter, "expect": "ready"}, shows: []string{"timings.connect_ms", "ip"},
			fail: closeGreeter, reason: "connection refused by 127.0.0.1:",
		},
		vigil.TypePing: {
			config: object{"host": "127.0.0.1", "packet_count": 2}, shows: []string{"rtt_min_ms", "rtt_avg_ms", "rtt_max_ms", "packet_loss_percent"},
			wrong: object{"host": "nowhere.onion"}, reason: "no suitable address", // RFC 7686: never looked up
		},
		vigil.TypeDNS: {
			config: object{"host": "www.test", "resolvers": []string{resolver}, "expected_values": []string{"192.0.2.1"}},
			shows:  []string{"answers", "rcode", "ttl", "resolver", "fingerprint"},
			fail:   remove, reason: "NXDOMAIN", explain: []string{"rcode", "resolver"},
		},
		vigil.TypeSSL: {
			config: object{"host": overTLS(t, trusted), "alert_days_before": 14}, shows: dates,
			wrong: object{"host": overTLS(t, dated)}, reason: "the certificate expired on ", explain: append(dates, "problem"),
		},
		vigil.TypeMultistep: {
			config: object{"steps": []object{
				{
					"name": "log in", "type": "http", "config": object{"url": shop.URL + "/login", "method": "POST"},
					"extract": []object{{"name": "token", "source": "json", "property": "$.token"}},
				},
				{"name": "see the cart", "type": "http", "config": object{
					"url": shop.URL + "/cart", "headers": object{"Authorization": "Bearer {{token}}"},
				}},
			}},
			shows: []string{"steps"}, fail: func() { shop.fail("/cart") }, reason: "see the cart", explain: []string{"steps"},
		},
		vigil.TypeThroughput: {
			config:  object{"url": slow.URL, "max_duration_seconds": 1, "timeout_seconds": 1, "min_mbps": 0.01},
			shows:   []string{"bytes", "seconds", "mbps"},
			wrong:   object{"url": slow.URL, "max_duration_seconds": 1, "timeout_seconds": 1, "min_mbps": 1000},
			reason:  "Mbit/s, expected at least 1000",
			explain: []string{"bytes", "seconds", "mbps"},
		},
		vigil.TypeGRPC: {
			config: object{"host": "127.0.0.1", "port": health, "security": "none", "service": "shop"}, shows: []string{"status", "code", "ip"},
			fail: stopServing, reason: `the service "shop" is NOT_SERVING`, explain: []string{"status"},
		},
		vigil.TypeWebSocket: {
			config: object{"url": live, "send": "ping", "expect": "ping"}, shows: []string{"timings.connect_ms", "ip", "messages"},
			wrong: object{"url": "ws" + strings.TrimPrefix(site.URL, "http") + "/live"}, reason: "the HTTP status 200, expected 101",
		},
		vigil.TypeDomain: {
			config: object{"domain": "www.shop.example", "rdap_server": registry, "alert_days_before": 14},
			shows:  []string{"domain", "server", "expires_at", "domain_days_remaining", "statuses", "answered_at"},
			wrong:  object{"domain": "shop.example", "rdap_server": registry, "alert_days_before": 60},
			reason: "the registration of shop.example expires in ", explain: []string{"domain_days_remaining"},
		},
		vigil.TypeSMTPIMAP: {
			config:  post.Config(mail),
			shows:   []string{"phases.smtp_connect_ms", "phases.smtp_send_ms", "phases.imap_login_ms", "delivery_ms", "deleted"},
			wrong:   post.Config(object{"timeout_seconds": 1, "max_delivery_seconds": 1, "imap": post.IMAPServer("wrong")}),
			reason:  "the IMAP server answered NO",
			explain: []string{"phases.imap_connect_ms"},
		},
	}
}

// overTLS serves HTTP with a certificate and returns its address.
func overTLS(t *testing.T, certificate tls.Certificate) string {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// advertise announces HTTP/3.
func advertise(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Alt-Svc", `h3=":443"`) }

// drizzle sends 100,000 bytes slowly.
func drizzle(w http.ResponseWriter, _ *http.Request) {
	for range 10 {
		_, _ = w.Write(make([]byte, 10_000))
		_ = http.NewResponseController(w).Flush()
		time.Sleep(5 * time.Millisecond) // sleep: a slow target
	}
}

// newShop returns a token from /login and requires it on /cart.
func newShop(t *testing.T) *service {
	t.Helper()
	shop := newService(t)
	broken := shop.Config.Handler
	shop.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/login":
			_, _ = io.WriteString(w, `{"token": "t-1"}`)
		case r.Header.Get("Authorization") != "Bearer t-1":
			w.WriteHeader(http.StatusForbidden)
		default:
			broken.ServeHTTP(w, r)
		}
	})
	return shop
}

// newGreeter greets every client until it is closed.
func newGreeter(t *testing.T) (port int, closeGreeter func()) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "220 ready\r\n")
			_ = conn.Close()
		}
	}()
	return listener.Addr().(*net.TCPAddr).Port, func() { _ = listener.Close() }
}

// newZone serves www.test until the name is removed.
func newZone(t *testing.T) (resolver string, remove func()) {
	t.Helper()
	record, err := dns.NewRR("www.test. 60 IN A 192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	var removed atomic.Bool
	server := probetest.NameServer(t, func(w dns.ResponseWriter, query *dns.Msg) {
		reply := new(dns.Msg).SetReply(query)
		if removed.Load() {
			reply.Rcode = dns.RcodeNameError
		} else {
			reply.Answer = []dns.RR{record}
		}
		_ = w.WriteMsg(reply)
	})
	return server.String(), func() { removed.Store(true) }
}
