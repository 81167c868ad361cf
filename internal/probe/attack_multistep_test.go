// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

// TestAttackSteps: a server that answers the first step cannot lead the second
// elsewhere.
func TestAttackSteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	values := []string{
		"169.254.169.254",
		"@169.254.169.254/",
		"/../..//169.254.169.254/",
		"http://169.254.169.254/",
		".evil.test",
		"\r\nHost: evil.test\r\n\r\n",
		"x\r\nX-Injected: yes",
		"127.0.0.1:25",
		"a b",
		"\x00",
		"[::ffff:a9fe:a9fe]",
		"?x#y",
		strings.Repeat("A", 3000),
	}
	for _, value := range values {
		var got []*http.Request
		url := w.http(func(w http.ResponseWriter, r *http.Request) {
			got = append(got, r)
			_, _ = w.Write(encode(t, object{"v": value}))
		})
		host, port := hostPort(t, strings.TrimPrefix(url, "http://"))
		for place, config := range map[string]object{
			"path": {"url": url + "/x/{{v}}/y"}, "query": {"url": url + "/x?v={{v}}"}, "whole": {"url": "{{v}}"},
			"host": {"url": fmt.Sprintf("http://{{v}}:%d/", port)}, "port": {"url": "http://" + host + ":{{v}}/"},
			"header": {"url": url + "/x/", "headers": object{"X-Value": "{{v}}"}},
		} {
			got = nil
			parsed := w.must(vigil.TypeMultistep, object{"steps": []object{
				{
					"name":    "first",
					"type":    "http",
					"config":  object{"url": url + "/first"},
					"extract": []object{{"name": "v", "source": "json", "property": "$.v"}},
				},
				{"name": "second", "type": "http", "config": config},
			}})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			parsed.Run(ctx)
			cancel()
			for _, request := range got[min(1, len(got)):] {
				if !strings.HasPrefix(request.URL.Path, "/x") || request.Header.Get("X-Injected") != "" ||
					request.Host != strings.TrimPrefix(url, "http://") {
					t.Errorf("%q in %s led to %s %v", value, place, request.URL, request.Header)
				}
			}
		}
	}
}

// TestAttackFormedURLs: a step's answer cannot make the URL of the next one that
// of the canary. Only the server that answers is permitted, by a setting.
func TestAttackFormedURLs(t *testing.T) {
	t.Parallel()
	aim := newCanary(t)
	listener, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Skipf("no second loopback address: %v", err)
	}
	var value atomic.Value
	server := &httptest.Server{
		Listener: listener,
		Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(encode(t, object{"v": value.Load()}))
		})},
	}
	server.Start()
	t.Cleanup(server.Close)
	policy := egress.Policy{AllowedCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}}
	resolver := probetest.Resolver(t, probetest.At("127.0.0.1"))
	registry := probe.NewRegistry(egress.New(policy, egress.WithNameServer(resolver)))
	for _, c := range []struct {
		kind        vigil.CheckType
		host, value string
		reason      string
	}{
		{vigil.TypeHTTP, "{{v}}", server.URL, ""},
		{vigil.TypeHTTP, "http://{{v}}:" + aim.port, "127.0.0.1", egress.Setting},
		{vigil.TypeHTTP, "http://{{v}}:" + aim.port, "localhost", egress.Setting},
		{vigil.TypeHTTP, "http://{{v}}:" + aim.port, "innocent.test", egress.Setting},
		{vigil.TypeHTTP, "http://{{v}}:" + aim.port, "2130706433", "an IPv4 address is written as four decimal numbers"},
		{vigil.TypeHTTP, "http://{{v}}:" + aim.port, "a@127.0.0.1", "not a host name"},
		{vigil.TypeHTTP, "http://{{v}}:" + aim.port, "[::ffff:127.0.0.1]", "not a host name"},
		{vigil.TypeHTTP, "{{v}}", "http://127.0.0.1:" + aim.port, egress.Setting},
		{vigil.TypeHTTP, "{{v}}", "http://[::ffff:7f00:1]:" + aim.port, egress.Setting},
		{vigil.TypeHTTP, "{{v}}", "http://[64:ff9b::7f00:1]:" + aim.port, egress.Setting},
		{vigil.TypeHTTP, "{{v}}", "http://example.com@127.0.0.1:" + aim.port, "must not hold a user name"},
		{vigil.TypeHTTP, "{{v}}", "http://169.254.169.254/latest/meta-data/", "cloud metadata address"},
		{vigil.TypeHTTP, "{{v}}", "file:///etc/passwd", "must begin with http"},
		{vigil.TypeHTTP3, "{{v}}", "https://127.0.0.1:" + aim.port, egress.Setting},
		{vigil.TypeThroughput, "{{v}}", "http://127.0.0.1:" + aim.port, egress.Setting},
		{vigil.TypeTCP, "{{v}}", "127.0.0.1", egress.Setting},
		{vigil.TypeTCP, "{{v}}", "::ffff:127.0.0.1", egress.Setting},
		{vigil.TypePing, "{{v}}", "169.254.169.254", "cloud metadata address"},
		{vigil.TypeSSL, "{{v}}", "innocent.test:" + aim.port, egress.Setting},
	} {
		value.Store(c.value)
		var second object
		switch c.kind {
		case vigil.TypeTCP:
			second = object{"host": c.host, "port": number(aim.port)}
		case vigil.TypePing, vigil.TypeSSL:
			second = object{"host": c.host}
		default:
			second = object{"url": c.host}
		}
		parsed, err := registry.Parse(vigil.TypeMultistep, encode(t, object{"steps": []object{
			{
				"name":    "ask",
				"type":    "http",
				"config":  object{"url": server.URL},
				"extract": []object{{"name": "v", "source": "json", "property": "$.v"}},
			},
			{"name": "go", "type": c.kind, "config": second},
		}}), minute)
		if err != nil {
			t.Errorf("%s %s: %v", c.kind, c.host, err)
			continue
		}
		if seen := parsed.Run(t.Context()); seen.Success != (c.reason == "") || !strings.Contains(seen.Error, c.reason) {
			t.Errorf("%s %s with %q: %q, want %q", c.kind, c.host, c.value, seen.Error, c.reason)
		}
	}
	if n := aim.reached.Load(); n != 0 {
		t.Errorf("the canary was reached %d times", n)
	}
}
