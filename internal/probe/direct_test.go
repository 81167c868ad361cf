// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

// paths are the two ways to make an HTTP exchange: directly, and over the transport of net/http. All that a
// probe says of a target must be the same by both.
type paths struct {
	*world

	transport *probe.Registry
}

func newPaths(t *testing.T, opts ...egress.Option) *paths {
	t.Helper()
	w := newWorld(t, opts...)
	guard := egress.New(egress.Policy{AllowPrivate: true}, opts...)
	return &paths{w, probe.NewRegistry(guard, probe.WithRoots(w.authority.Pool()), probe.OverTransport())}
}

// comparison is a config that both paths run.
type comparison struct {
	name   string
	kind   vigil.CheckType
	config object
	limit  time.Duration // zero: the timeout of the config
	// racy says why the same path may say one thing or another: what chance decides is left out, and both are compared a few times.
	racy string
}

// joinedParts is why a stream may end sooner or later.
const joinedParts = "a part of a body may come with the one before it"

// compare runs all configs by both paths.
func (p *paths) compare(t *testing.T, all []comparison) {
	t.Helper()
	var runs sync.WaitGroup
	slots := make(chan struct{}, 8)
	for _, one := range all {
		slots <- struct{}{}
		runs.Go(func() {
			defer func() { <-slots }()
			p.compareOne(t, one)
		})
	}
	runs.Wait()
	t.Logf("%d comparisons", len(all))
}

func (p *paths) compareOne(t *testing.T, c comparison) {
	t.Helper()
	var direct, transport string
	for range 5 {
		direct, transport = reported(t, p.Registry, c), reported(t, p.transport, c)
		if c.racy != "" {
			direct, transport = chance.ReplaceAllString(direct, ""), chance.ReplaceAllString(transport, "")
		}
		switch {
		case direct == transport:
			if testing.Verbose() {
				t.Logf("%s: %s", c.name, direct)
			}
			return
		case strings.Contains(direct+transport, "timed out"):
			c.limit *= 2 // a busy machine was late
		case c.racy == "":
			t.Errorf("%s:\ndirect    %s\ntransport %s", c.name, direct, transport)
			return
		}
	}
	t.Errorf("%s, five times:\ndirect    %s\ntransport %s", c.name, direct, transport)
}

var (
	// waited matches how long something took.
	waited = regexp.MustCompile(`after \S+ while`)
	// chance matches what a race decides: how a connection ended, and how much came at once.
	chance = regexp.MustCompile(`closed|reset|"text":"[^"]*",|bytes":\d+`)
	// dated matches when an answer was sent, or a certificate judged.
	dated = regexp.MustCompile(`\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT|current time \S+`)
)

// reported is all that a probe says, without durations.
func reported(t *testing.T, registry *probe.Registry, c comparison) string {
	t.Helper()
	parsed, err := registry.Parse(c.kind, encode(t, c.config), minute)
	if err != nil {
		return err.Error()
	}
	ctx := probe.KeepEvidence(t.Context(), func(vigil.Observation) bool { return true })
	if c.limit > 0 {
		limited, cancel := context.WithTimeout(ctx, c.limit)
		defer cancel()
		ctx = limited
	}
	seen := parsed.Run(ctx)
	metadata := maps.Clone(seen.Metadata)
	timings, _ := metadata["timings"].(map[string]any)
	metadata["timings"] = slices.Sorted(maps.Keys(timings))
	if waited.MatchString(seen.Error) { // how much came in this time is chance
		delete(metadata, "body_bytes")
	}
	text, err := json.Marshal(object{
		"success": seen.Success, "status": seen.StatusCode, "error": waited.ReplaceAllString(seen.Error, "after a while while"),
		"network": seen.NetworkFailure, "metadata": metadata, "evidence": seen.Evidence,
	})
	if err != nil {
		t.Error(err)
	}
	return dated.ReplaceAllString(string(text), "some day")
}

// asking are configs that ask an address in several ways.
func asking(url string) map[string]object {
	return map[string]object{
		"plain":    {"url": url},
		"head":     {"url": url, "method": "HEAD"},
		"options":  {"url": url, "method": "OPTIONS", "headers": object{"X-One": "two"}},
		"body":     {"url": url, "assertions": []object{{"source": "body", "operator": "contains", "target": "fine"}}},
		"headers":  {"url": url, "assertions": []object{{"source": "header", "property": "X", "operator": "eq", "target": "y"}}},
		"stays":    {"url": url, "follow_redirects": false, "expected_status_codes": []string{"2xx", "3xx"}},
		"cut":      {"url": url, "max_body_bytes": 3, "cookies": false},
		"stream":   {"url": url, "stream": true, "assertions": []object{{"source": "body", "operator": "exists"}}},
		"posts":    {"url": url, "method": "POST", "body": "hello"},
		"a range":  {"url": url, "headers": object{"Range": "bytes=0-1"}, "expected_status_codes": []string{"2xx"}},
		"upgrades": {"url": url, "headers": object{"Upgrade": "x"}, "expected_status_code": 101},
	}
}

// behindTLS makes a server speak TLS.
func behindTLS(certificate tls.Certificate, serve func(net.Conn)) func(net.Conn) {
	return func(conn net.Conn) {
		secured := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{certificate}})
		defer func() { _ = secured.Close() }()
		serve(secured)
	}
}

// comparisons ask one server in several ways, over plain HTTP and over TLS.
func (p *paths) comparisons(t *testing.T, name string, serve func(net.Conn), limit time.Duration) []comparison {
	t.Helper()
	racy := ""
	if strings.Contains(name, "reset") || strings.Contains(name, "at once") {
		racy = "the end of a connection overtakes what was sent before it, or the request"
	}
	if strings.Contains(name, "goes on") || strings.Contains(name, "slow") || name == "events" || name == "sound" {
		racy = joinedParts
	}
	secured := "https://" + tcp(t, behindTLS(p.authority.Issue(t), serve))
	var all []comparison
	for asker, config := range asking("http://" + tcp(t, serve)) {
		if config["body"] != nil { // the other path as well
			continue
		}
		all = append(all, comparison{name + "/http/" + asker, vigil.TypeHTTP, config, limit, racy})
		if asker == "options" || asker == "headers" || asker == "cut" || asker == "a range" { // TLS makes no difference to these
			continue
		}
		config = maps.Clone(config)
		config["url"] = secured
		all = append(all, comparison{name + "/https/" + asker, vigil.TypeHTTPS, config, limit, racy})
	}
	return all
}

func TestDirectHostileServers(t *testing.T) {
	t.Parallel()
	p := newPaths(t)
	var all []comparison
	for name, serve := range hostileServers() {
		all = append(all, p.comparisons(t, name, serve, 300*time.Millisecond)...)
	}
	p.compare(t, all)
}

func TestDirectStallingServers(t *testing.T) {
	t.Parallel()
	silent := probetest.NameServer(t, func(dns.ResponseWriter, *dns.Msg) {})
	p := newPaths(t, egress.WithNameServer(silent))
	var all []comparison
	for name, config := range stalls(p.world) {
		if config["url"] == nil {
			continue
		}
		one := comparison{name: name, kind: vigil.TypeHTTP, config: config, limit: time.Second}
		if strings.HasPrefix(name, "endless ") { // these end by themselves
			one.limit = minute
		}
		if name == "connecting" {
			one.racy = "the transport does not wait for the dial that it gave up"
		}
		all = append(all, one)
		if one.limit == minute {
			continue
		}
		one.name, one.limit, one.config = name+" by itself", 0, maps.Clone(config)
		one.config["timeout_seconds"] = 1
		if url, ok := config["url"].(string); ok { // a lookup that two wait for goes on without them
			one.config["url"] = strings.Replace(url, "silent.", "quiet.", 1)
		}
		all = append(all, one)
	}
	p.compare(t, all)
}

func TestDirectCostlyServers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in short mode: hostile targets send much data")
	}
	p := newPaths(t)
	var all []comparison
	for name, c := range resourceAttacks(p.world) {
		if c.kind != vigil.TypeHTTP && c.kind != vigil.TypeHTTPS || strings.Contains(c.reason, "assertions") {
			continue // another type, or one that is about what follows an exchange
		}
		one := comparison{name: name, kind: c.kind, config: c.config}
		if strings.HasPrefix(c.reason, "while ") {
			one.limit = time.Second
		}
		all = append(all, one)
	}
	p.compare(t, all)
}

func TestDirectRedirects(t *testing.T) {
	t.Parallel()
	p := newPaths(t)
	other, secure := p.http(site), p.https(p.authority.Issue(t), site)
	aims := []string{
		"/ok", "?x", "", "#x", "ok", "//127.0.0.1:1/", other + "/ok", secure + "/ok", "HTTP://user:hunter2@" + other[len("http://"):],
		"http://münchen.test/", "http://a b/", " " + other + " ", "http://:80/", "http://127.0.0.1:0/", "http://[::1%25lo]:1/", "\t/ok",
	}
	aims = append(aims, slices.Collect(maps.Keys(forbiddenAims()))...)
	var all []comparison
	for _, aim := range aims {
		for _, status := range []int{301, 303, 307, 300, 304} {
			handler := func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/" || r.URL.RawQuery != "" {
					site(w, r)
					return
				}
				w.Header()["Location"] = []string{aim}
				http.SetCookie(w, &http.Cookie{Name: "a", Value: "hunter2"})
				w.WriteHeader(status)
				_, _ = io.WriteString(w, "moved")
			}
			for kind, url := range map[vigil.CheckType]string{
				vigil.TypeHTTP: p.http(handler), vigil.TypeHTTPS: p.https(p.authority.Issue(t), handler),
			} {
				for _, method := range []string{"GET", "HEAD", "POST"} {
					all = append(all, comparison{
						name: aim + " by " + method, kind: kind, limit: 2 * time.Second,
						config: object{"url": url, "method": method, "headers": object{"X-Secret": "hunter2"}},
					})
				}
			}
		}
	}
	p.compare(t, all)
}
