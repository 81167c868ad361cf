// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/probe"
)

func TestConfigText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for config, want := range map[string]string{
		``: "config: is required", `null`: "config: is required", `[]`: "config: must be an object",
		`{"url"`: "config: is not valid JSON", `{"url": "http://a.b"} x`: "config: is not valid JSON",
		`{"url": "http://a.b", "url": "http://a.c"}`:             "config.url: is given twice",
		`{"url": "http://a.b", "headers": {"A": "1", "A": "2"}}`: "config.headers.A: is given twice",
		`{"url": "http://a.b", "URL": "http://a.c"}`:             "config.URL: is not a member here; the known ones are method, url",
		`{"url": "http://a.b", "": 1}`:                           "config.: is not a member here",
		`{"url": "http://a.b", "body": {}}`:                      "config.body: must be a string",
		`{"url": "http://a.b", "verify_tls": "yes"}`:             "config.verify_tls: must be true or false",
		`{"url": "http://a.b", "timeout_seconds": 1e99}`:         "config.timeout_seconds: must be a whole number from 1 to 60",
		`{"url": "http://a.b", "timeout_seconds": "5"}`:          "config.timeout_seconds: must be a whole number from 1 to 60",
		`{"url": "http://a.b", "assertions": {}}`:                "config.assertions: must be a list",
		`{"url": "http://a.b", "assertions": [1]}`:               "config.assertions[0]: must be an object",
		`{"url": "http://a.b", "headers": []}`:                   "config.headers: must be an object",
		`{"url": "http://a.b", "method": "get"}`:                 "config.method: must be one of GET, HEAD",
		`{"headers": {}}`:                                        "config.url: is required: address to request",

		`{"url": "http://a.b", "x` + strings.Repeat("y", 500) + `": 1}`:              "config.xyyy",
		strings.Repeat(`{"url":`, 1000):                                              "is nested too deeply",
		`{"url": "http://a.b", "body": "` + strings.Repeat("x", 300<<10) + `"}`:      "config: must be at most 256 KiB",
		`{"url": "http://a.b", "body": "` + strings.Repeat("x", 100_001) + `"}`:      "config.body: must have at most 100000 characters",
		`{"url": "http://a.b", "assertions": [` + strings.Repeat("{},", 20) + `{}]}`: "config.assertions: must have at most 20 entries",
		`{"url": "http://a.b", "body": null}`:                                        "config.body: must not be null; leave it out instead",
		`{"url": "http://a.b", "expected_status_codes": [null]}`:                     "config.expected_status_codes[0]: must not be null",
	} {
		_, err := w.Parse(vigil.TypeHTTP, json.RawMessage(config), minute)
		if vigil.ErrorCode(err) != vigil.CodeInvalid || !strings.Contains(vigil.ErrorMessage(err), want) {
			t.Errorf("%.60s: got %v, want %s", config, err, want)
		}
		if len(vigil.ErrorMessage(err)) > 600 {
			t.Errorf("%.60s: the error has %d bytes", config, len(vigil.ErrorMessage(err)))
		}
	}
}

func TestTimeoutDefaults(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct {
		given    int
		interval time.Duration
		deadline time.Duration // zero: rejected
	}{
		{0, minute, 10 * time.Second},
		{0, 5 * time.Second, 5 * time.Second},
		{0, time.Second, time.Second},
		{60, minute, minute},
		{1, time.Second, time.Second},
		{2, time.Second, 0},
		{60, 59 * time.Second, 0},
	} {
		config := object{"host": "example.com", "port": 80}
		if c.given != 0 {
			config["timeout_seconds"] = c.given
		}
		parsed, err := w.Parse(vigil.TypeTCP, encode(t, config), c.interval)
		switch {
		case c.deadline == 0:
			rejected(t, err, "config.timeout_seconds")
		case err != nil:
			t.Errorf("%+v: %v", c, err)
		case parsed.Deadline() != c.deadline:
			t.Errorf("%+v: deadline %s", c, parsed.Deadline())
		}
	}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for kind, cases := range map[vigil.CheckType]map[string]string{
		vigil.TypeHTTP: {
			`{"url": "https://example.com/a?token=b#c"}`: "example.com", `{"url": "http://EXAMPLE.com.:8080"}`: "example.com:8080",
			`{"url": "http://[2606:4700::1]:81/"}`: "[2606:4700::1]:81", `{"url": "http://bücher.example/"}`: "xn--bcher-kva.example",
		},
		vigil.TypeTCP:  {`{"host": "2606:4700::1", "port": 1}`: "[2606:4700::1]:1", `{"host": "a.b", "port": 1}`: "a.b:1"},
		vigil.TypePing: {`{"host": "[2606:4700::1]"}`: "2606:4700::1"},
	} {
		for config, want := range cases {
			parsed, err := w.Parse(kind, json.RawMessage(config), minute)
			if err != nil || parsed.Target() != want {
				t.Errorf("%s: %v, %v, want %s", config, parsed, err, want)
			}
		}
	}
}

// TestRefusedTargets: an address that may not be reached is refused when the
// check is made, with the setting that would permit it.
func TestRefusedTargets(t *testing.T) {
	t.Parallel()
	registry := probe.NewRegistry(egress.New(egress.Policy{}))
	_, err := registry.Parse(vigil.TypeHTTP, json.RawMessage(`{"url": "http://10.0.0.1:8080/"}`), minute)
	rejected(t, err, "config.url")
	if !strings.Contains(err.Error(), egress.Setting) {
		t.Errorf("got %v", err)
	}
	parsed, err := registry.Parse(vigil.TypeHTTP, json.RawMessage(`{"url": "http://example.invalid/"}`), minute)
	if err != nil || parsed == nil {
		t.Errorf("a name is not resolved before it is probed: %v", err)
	}
}

// FuzzParse: no text makes any type panic, and what is rejected is rejected
// with a member's name and a bounded text.
func FuzzParse(f *testing.F) {
	registry := probe.NewRegistry(egress.New(egress.Policy{}))
	for _, kind := range registry.Types() {
		for _, seed := range []string{
			`{}`,
			`{"url":"https://example.com/?q","headers":{"A":"b"},` +
				`"assertions":[{"source":"json","property":"$..a[?(@.b==1)]","operator":"matches","target":"x"}]}`,
			`{"host":"example.com","port":25,"send":"a","expect":"b","timeout_seconds":5}`, `{"host":"[::1%eth0]","packet_count":3}`,
			`{"steps":[{"name":"a","type":"http","config":{"url":"http://a.b/{{c}}"},"extract":[{"name":"c","source":"json","property":"$.x"}]}]}`,
			`{"host":"a.b","record_type":"MX","resolvers":["1.1.1.1:53"],"expected_values":["x"],"match":"all"}`,
			`{"smtp":{"host":"a.b","port":25,"security":"starttls"},"imap":{"host":"a.b"},"from":"a@b.c","to":"d@e.f"}`,
			`{"url":"https://a.b","direction":"upload","min_mbps":1,"max_bytes":10}`,
		} {
			f.Add(string(kind), seed, int64(time.Minute))
		}
	}
	f.Fuzz(func(t *testing.T, kind, config string, interval int64) {
		parsed, err := registry.Parse(vigil.CheckType(kind), json.RawMessage(config), time.Duration(interval))
		if err == nil {
			if interval >= int64(time.Second) && (parsed.Deadline() <= 0 || parsed.Deadline() > time.Duration(interval)) {
				t.Errorf("deadline %s of an interval of %s", parsed.Deadline(), time.Duration(interval))
			}
			return
		}
		rejection, ok := errors.AsType[*vigil.Error](err)
		if !ok || rejection.Code != vigil.CodeInvalid || rejection.Details["member"] == nil || len(rejection.Message) > 4<<10 {
			t.Errorf("got %v", err)
		}
	})
}
