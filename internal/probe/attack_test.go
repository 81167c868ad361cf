// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

// Attacks on those who run the platform. In each case below the aim is a canary
// on the loopback, or an address that must never be reached; the policy permits
// public addresses only. The canary counts connections: there must be none.

// canary is a server that must not be reached, over TCP and UDP on one port.
type canary struct {
	host, port string
	reached    atomic.Int32
}

func newCanary(tb testing.TB) *canary {
	tb.Helper()
	c := &canary{}
	address := tcp(tb, func(conn net.Conn) {
		c.reached.Add(1)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	})
	c.host, c.port, _ = net.SplitHostPort(address)
	packets, err := net.ListenPacket("udp", address)
	if err != nil {
		tb.Skipf("the port is taken for UDP: %v", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buffer := make([]byte, 2048)
		for {
			if _, _, err := packets.ReadFrom(buffer); err != nil {
				return
			}
			c.reached.Add(1)
		}
	}()
	tb.Cleanup(func() {
		_ = packets.Close()
		<-done
	})
	return c
}

// TestAttackSpellings gives every spelling to every type that names a target:
// none is accepted.
func TestAttackSpellings(t *testing.T) {
	t.Parallel()
	aim := newCanary(t)
	registry := probe.NewRegistry(egress.New(egress.Policy{}))
	cases := 0
	for _, host := range probetest.Forbidden() {
		bare := strings.Trim(strings.ReplaceAll(host, "%25", "%"), "[]")
		for kind, config := range attacksOn(host, bare, aim.port) {
			cases++
			if parsed, err := registry.Parse(kind, encode(t, config), minute); vigil.ErrorCode(err) != vigil.CodeInvalid {
				t.Errorf("%s %s: %v, %v", kind, host, parsed, err)
			}
		}
	}
	t.Logf("%d spellings, %d cases", len(probetest.Forbidden()), cases)
	// The canary can be reached: without the guard's refusal this test would fail.
	for kind, config := range attacksOn("127.0.0.1", "127.0.0.1", aim.port) {
		before := aim.reached.Load()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		newWorld(t).must(kind, config).Run(ctx)
		cancel()
		if kind != vigil.TypePing {
			eventually(t, string(kind)+" reaches the canary where it may", func() bool { return aim.reached.Load() > before })
		}
	}
}

// attacksOn are configs of all types that lead to a host, in the spelling for
// URLs and in the one for hosts.
func attacksOn(host, bare, port string) map[vigil.CheckType]any {
	return map[vigil.CheckType]any{
		vigil.TypeHTTP:       object{"url": "http://" + host + ":" + port + "/"},
		vigil.TypeHTTPS:      object{"url": "https://" + host + ":" + port + "/"},
		vigil.TypeHTTP3:      object{"url": "https://" + host + ":" + port + "/", "timeout_seconds": 1},
		vigil.TypeThroughput: object{"url": "http://" + host + ":" + port + "/"},
		vigil.TypeTCP:        object{"host": bare, "port": number(port)},
		vigil.TypeGRPC:       object{"host": bare, "port": number(port), "security": "none"},
		vigil.TypeWebSocket:  object{"url": "ws://" + host + ":" + port + "/"},
		vigil.TypeDomain:     object{"domain": "example.com", "rdap_server": "http://" + host + ":" + port + "/"},
		vigil.TypePing:       object{"host": bare},
		vigil.TypeSSL:        object{"host": bare, "port": number(port)},
		vigil.TypeDNS:        object{"host": "example.com", "resolvers": []string{host + ":" + port}},
		vigil.TypeSMTPIMAP:   object{"smtp": object{"host": bare, "port": number(port)}},
		vigil.TypeMultistep: object{
			"steps": []object{{"name": "x", "type": "http", "config": object{"url": "http://" + host + ":" + port + "/"}}},
		},
	}
}

func number(port string) int {
	n := 0
	_, _ = fmt.Sscan(port, &n)
	return n
}

// TestAttackNames gives every type a name that a name server leads to the
// canary, at once or when it is asked again.
func TestAttackNames(t *testing.T) {
	t.Parallel()
	aim := newCanary(t)
	for name, answer := range map[string]func(asked int32) string{
		"Loopback":          func(int32) string { return "127.0.0.1" },
		"Unspecified":       func(int32) string { return "0.0.0.0" },
		"Private":           func(int32) string { return "10.0.0.1" },
		"Metadata":          func(int32) string { return "169.254.169.254" },
		"AzureHost":         func(int32) string { return "168.63.129.16" },
		"RebindsTheSecond":  rebinding(1),
		"RebindsTheFourth":  rebinding(3),
		"RebindsEveryOther": func(asked int32) string { return []string{"127.0.0.1", "240.0.0.1"}[asked%2] },
	} {
		var asked atomic.Int32
		server := probetest.Resolver(t, func(question dns.Question) []string {
			if question.Qtype != dns.TypeA {
				return nil
			}
			return probetest.At(answer(asked.Add(1)))(question)
		})
		registry := probe.NewRegistry(egress.New(egress.Policy{}, egress.WithNameServer(server)))
		for kind, config := range map[vigil.CheckType]any{
			vigil.TypeHTTP:       object{"url": "http://rebind.test:" + aim.port + "/"},
			vigil.TypeHTTP3:      object{"url": "https://rebind.test:" + aim.port + "/"},
			vigil.TypeThroughput: object{"url": "http://rebind.test:" + aim.port + "/"},
			vigil.TypeTCP:        object{"host": "rebind.test", "port": number(aim.port)},
			vigil.TypeGRPC:       object{"host": "rebind.test", "port": number(aim.port)},
			vigil.TypeWebSocket:  object{"url": "ws://rebind.test:" + aim.port + "/"},
			vigil.TypeDomain:     object{"domain": "example.com", "rdap_server": "http://rebind.test:" + aim.port + "/"},
			vigil.TypePing:       object{"host": "rebind.test", "packet_count": 1},
			vigil.TypeSSL:        object{"host": "rebind.test", "port": number(aim.port)},
			vigil.TypeSMTPIMAP:   object{"imap": object{"host": "rebind.test", "port": number(aim.port)}},
			vigil.TypeDNS:        object{"host": "www.test", "protocol": "tcp", "resolvers": []string{"rebind.test:" + aim.port}},
		} {
			parsed, err := registry.Parse(kind, encode(t, config), minute)
			if err != nil {
				t.Errorf("%s %s: a name is judged when it is dialled: %v", name, kind, err)
				continue
			}
			for range 4 {
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				seen := parsed.Run(ctx)
				cancel()
				if seen.Success {
					t.Errorf("%s %s: succeeded", name, kind)
				}
			}
		}
	}
	if n := aim.reached.Load(); n != 0 {
		t.Errorf("the canary was reached %d times", n)
	}
}

// rebinding answers so often with an address that leads nowhere, then with the
// loopback.
func rebinding(honest int32) func(int32) string {
	return func(asked int32) string {
		if asked <= honest {
			return "240.0.0.1"
		}
		return "127.0.0.1"
	}
}

// forbiddenAims are what redirects must not lead to, with a part of the reason.
func forbiddenAims() map[string]string {
	return map[string]string{
		"http://169.254.169.254/latest/meta-data/": "metadata",
		"http://[fd00:ec2::254]/":                  "metadata",
		"http://[::ffff:169.254.169.254]/":         "metadata",
		"http://[64:ff9b::a9fe:a9fe]/":             "metadata",
		"http://[2002:a9fe:a9fe::]/":               "metadata",
		"http://100.100.100.200/":                  "metadata",
		"http://168.63.129.16/":                    "metadata",
		"http://0.0.0.0/":                          "not an address of a host",
		"http://224.0.0.1/":                        "multicast",
		"file:///etc/passwd":                       "neither http nor https",
		"gopher://127.0.0.1:25/_HELO":              "neither http nor https",
		"ftp://127.0.0.1/":                         "neither http nor https",
		"javascript:alert(1)":                      "neither http nor https",
		"//169.254.169.254/":                       "metadata",
		"http://user:pass@169.254.169.254/":        "metadata",
		"http://127.0.0.1:99999/":                  "",
		"http://169.254.169.254#@127.0.0.1/":       "metadata",
		"http://[::1":                              "",
		"http://2852039166/":                       "",
		"http://0xa9fea9fe/":                       "",
		"http:///nohost":                           "",
		"http://169.254.169.254\\@127.0.0.1/":      "",
		"http://a.test\r\nSet-Cookie: x=y/":        "",
		"https://169.254.169.254/":                 "metadata",
		"http://①⑥⑨.②⑤④.①⑥⑨.②⑤④/latest/meta-data/": "",
	}
}

// TestAttackRedirects: what may not be named in a config may not be named by a
// server either. The server is on the loopback, which is permitted here; the
// aims are what no setting permits.
func TestAttackRedirects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for aim, reason := range forbiddenAims() {
		url := w.http(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Location"] = []string{aim}
			w.WriteHeader(http.StatusFound)
		})
		for _, kind := range []vigil.CheckType{vigil.TypeHTTP, vigil.TypeThroughput} {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			seen := w.must(kind, object{"url": url}).Run(ctx)
			cancel()
			if seen.Success || seen.Error == "" || !strings.Contains(seen.Error, reason) {
				t.Errorf("%s to %q: %q, want %q", kind, aim, seen.Error, reason)
			}
		}
	}
}

// TestAttackSecrets: credentials never leave for the host that a redirect names.
func TestAttackSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var leaked atomic.Int32
	thief := func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(fmt.Sprint(r.Header, r.URL, string(body)), "hunter2") {
			leaked.Add(1)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Skipf("no second loopback address: %v", err)
	}
	other := &http.Server{Handler: http.HandlerFunc(thief)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = other.Serve(listener)
	}()
	t.Cleanup(func() {
		_ = other.Close()
		<-done
	})
	samePlace := w.http(thief) // another port of the same host
	for _, aim := range []string{"http://" + listener.Addr().String(), samePlace} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			url := w.http(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, aim, status) })
			for _, method := range []string{"GET", "POST"} {
				config := object{
					"url":        url + "/?token=hunter2",
					"method":     method,
					"headers":    object{"X-Secret": "hunter2", "Cookie": "a=hunter2"},
					"basic_auth": object{"username": "a", "password": "hunter2"},
				}
				if method == "POST" {
					config["body"] = "password=hunter2"
				}
				w.run(vigil.TypeHTTP, config)
			}
		}
	}
	if n := leaked.Load(); n != 0 {
		t.Errorf("secrets left %d times", n)
	}
}
