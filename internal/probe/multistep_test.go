// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
)

var _ = addFixture(fixtureMultistep)

// fixtureMultistep is the fixture of the multistep type.
func fixtureMultistep(f *world) fixture {
	url := f.http(shop)
	login := object{
		"name":    "log in",
		"type":    "http",
		"config":  object{"url": url + "/login", "method": "POST", "basic_auth": object{"username": "ann", "password": "hunter2"}},
		"extract": []object{{"name": "token", "source": "json", "property": "$.token"}},
	}
	show := func(path string) object {
		return object{"name": "show", "type": "http", "config": object{"url": url + path, "headers": object{"Authorization": "Bearer {{token}}"}}}
	}
	return fixture{
		kind:    vigil.TypeMultistep,
		healthy: object{"steps": []object{login, show("/cart")}},
		failing: object{"steps": []object{login, {"name": "leak", "type": "http", "config": object{
			"url": url + "/repeat?{{token}}", "assertions": []object{{"source": "json", "property": "$.said", "operator": "eq", "target": "x"}},
		}}}},
		silent:  object{"steps": []object{{"name": "wait", "type": "http", "config": object{"url": "http://" + tcp(f, drain)}}}},
		secrets: []string{"hunter2", "token-0815"},
	}
}

// shop hands out a token, wants it back, and repeats what it receives.
func shop(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/login":
		if _, password, _ := r.BasicAuth(); password != "hunter2" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		w.Header().Set("X-Id", "id/7?&")
		_, _ = io.WriteString(
			w,
			`{"token": "token-0815", "n": 7, "quote": "a\"b", "page": "`+"http://"+r.Host+
				`/cart2", "evil": "@evil.test/", "dots": "a.evil.test", "crlf": "a\r\nX: y"}`,
		)
	case "/cart":
		if r.Header.Get("Authorization") != "Bearer token-0815" {
			w.WriteHeader(http.StatusForbidden)
		}
	case "/repeat":
		_, _ = io.WriteString(w, `{"said": "`+r.URL.RawQuery+` hunter2"}`)
	case "/body":
		_, _ = io.Copy(w, r.Body)
	default:
		_, _ = fmt.Fprintf(w, "%s|%s|%s", r.URL.EscapedPath(), r.URL.RawQuery, r.Header.Get("X-Value"))
	}
}

func TestMultistep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url := w.http(shop)
	host, port := hostPort(t, strings.TrimPrefix(url, "http://"))
	login := object{
		"name": "log in", "type": "http",
		"config": object{"url": url + "/login", "basic_auth": object{"username": "ann", "password": "hunter2"}},
		"extract": []object{
			{"name": "token", "source": "json", "property": "$.token"},
			{"name": "n", "source": "json", "property": "$.n"},
			{"name": "quote", "source": "json", "property": "$.quote"},
			{"name": "page", "source": "json", "property": "$.page"},
			{"name": "evil", "source": "json", "property": "$.evil"},
			{"name": "dots", "source": "json", "property": "$.dots"},
			{"name": "crlf", "source": "json", "property": "$.crlf"},
			{"name": "id", "source": "header", "property": "X-Id"},
			{"name": "word", "source": "body", "property": `"token": "(\w+)-`},
			{"name": "status", "source": "status"},
		},
	}
	then := func(kind string, config object) object {
		return object{"steps": []object{login, {"name": "next", "type": kind, "config": config}}}
	}
	says := func(operator, text string) []object {
		return []object{{"source": "body", "operator": operator, "target": text}}
	}
	for name, c := range map[string]struct {
		config object
		reason string
	}{
		"Header":        {then("http", object{"url": url + "/cart", "headers": object{"Authorization": "Bearer {{token}}"}}), ""},
		"PathIsEscaped": {then("http", object{"url": url + "/x/{{id}}/y", "assertions": says("contains", "/x/id%2F7%3F&/y|")}), ""},
		"QueryIsEscaped": {
			then("http", object{"url": url + "/x?a={{id}}&b={{ n }}", "assertions": says("contains", "|a=id%2F7%3F%26&b=7|")}),
			"",
		},
		"JSONBodyIsEscaped": {
			then("http", object{
				"url":        url + "/body",
				"method":     "POST",
				"body":       `{"a": "{{quote}}", "n": {{n}}}`,
				"assertions": says("eq", `{"a": "a\"b", "n": 7}`),
			}),
			"",
		},
		"FormIsEscaped": {
			then("http", object{
				"url":        url + "/body",
				"method":     "POST",
				"headers":    object{"content-type": "application/x-www-form-urlencoded"},
				"body":       "a={{id}}",
				"assertions": says("eq", "a=id%2F7%3F%26"),
			}),
			"",
		},
		"PlainBody": {
			then("http", object{"url": url + "/body", "method": "POST", "body": "a={{id}}", "assertions": says("eq", "a=id/7?&")}),
			"",
		},
		"BodyGroup": {
			then("http", object{"url": url + "/x", "headers": object{"X-Value": "{{word}}"}, "assertions": says("contains", "|token")}),
			"",
		},
		"Status": {
			then("http", object{"url": url + "/x", "headers": object{"X-Value": "{{status}}"}, "assertions": says("contains", "|200")}),
			"",
		},
		"WholeURL":       {then("http", object{"url": "{{page}}", "assertions": says("contains", "/cart2|")}), ""},
		"Host":           {then("tcp", object{"host": host, "port": port}), ""},
		"HostFromAnswer": {then("tcp", object{"host": "{{dots}}", "port": port, "timeout_seconds": 2}), `step "next": `},
		"LineBreakInHeader": {
			then("http", object{"url": url + "/x", "headers": object{"X-Value": "{{crlf}}"}}),
			"config.headers.X-Value: must be a header value",
		},
		"NotAHost":    {then("http", object{"url": "http://{{evil}}/"}), "is not a host name"},
		"NotAPort":    {then("http", object{"url": "http://" + host + ":{{evil}}/"}), "is not a port"},
		"NotAURL":     {then("http", object{"url": "{{evil}}"}), "config.url: must begin with http://"},
		"SecondFails": {then("http", object{"url": url + "/cart"}), `step "next": status 403, expected 200`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := w.run(vigil.TypeMultistep, c.config)
			if seen.Success != (c.reason == "") || !strings.Contains(seen.Error, c.reason) {
				t.Errorf("got %q, want %q", seen.Error, c.reason)
			}
			steps, _ := seen.Metadata["steps"].([]any)
			if len(steps) != 2 {
				t.Errorf("metadata %v", seen.Metadata)
			}
		})
	}
}

func TestMultistepStopsAtTheFirstFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url := w.http(site)
	step := func(name, path string) object {
		return object{"name": name, "type": "http", "config": object{"url": url + path}}
	}
	seen := w.run(vigil.TypeMultistep, object{"steps": []object{step("one", "/ok"), step("two", "/500"), step("three", "/ok")}})
	steps, _ := seen.Metadata["steps"].([]any)
	if seen.Success || len(steps) != 2 || seen.Error != `step "two": status 500, expected 200` {
		t.Fatalf("got %+v", seen)
	}
	first, _ := steps[0].(map[string]any)
	second, _ := steps[1].(map[string]any)
	if first["success"] != true || second["success"] != false || second["status_code"] != 500.0 || first["metadata"] == nil {
		t.Errorf("steps %v", steps)
	}
	one, _ := first["response_time_ms"].(float64)
	two, _ := second["response_time_ms"].(float64)
	if sum := time.Duration((one + two) * float64(time.Millisecond)); (seen.ResponseTime - sum).Abs() > 10*time.Microsecond {
		t.Errorf("the response time is %s, the steps make %s", seen.ResponseTime, sum)
	}
	missing := w.run(vigil.TypeMultistep, object{"steps": []object{{
		"name": "one", "type": "http", "config": object{"url": url + "/ok"},
		"extract": []object{{"name": "x", "source": "json", "property": "$.x"}},
	}}})
	if !strings.Contains(missing.Error, `step "one": nothing to extract as x`) {
		t.Errorf("got %q", missing.Error)
	}
}

func TestMultistepConfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ok := object{
		"name":    "a",
		"type":    "http",
		"config":  object{"url": "http://a.test/"},
		"extract": []object{{"name": "x", "source": "status"}},
	}
	with := func(step object) object {
		if step["name"] == nil {
			step["name"] = "b"
		}
		return object{"steps": []object{ok, step}}
	}
	web := func(config object) object { return with(object{"type": "http", "config": config}) }
	extract := func(e object) object {
		return with(object{"type": "http", "config": object{"url": "http://a.test/"}, "extract": []object{e}})
	}
	const second = "config.steps[1]"
	for name, c := range map[string]struct {
		config object
		member string
	}{
		"NoSteps":       {object{"steps": []object{}}, "config.steps"},
		"TooMany":       {object{"steps": make([]object, 11)}, "config.steps"},
		"NameTwice":     {with(object{"name": "a", "type": "http", "config": object{"url": "http://a.test/"}}), second + ".name"},
		"UnknownType":   {with(object{"type": "ftp", "config": object{}}), second + ".type"},
		"Nested":        {with(object{"type": "multistep", "config": object{"steps": []object{ok}}}), second + ".type"},
		"NoConfig":      {with(object{"type": "http"}), second + ".config"},
		"InnerMember":   {web(object{"url": "http://a.test/", "bogus": 1}), second + ".config.bogus"},
		"InnerURL":      {web(object{"url": "http://u:p@a.test/"}), second + ".config.url"},
		"InnerMetadata": {web(object{"url": "http://169.254.169.254/"}), second + ".config.url"},
		"UnknownName":   {web(object{"url": "http://a.test/{{y}}"}), second + ".config.url"},
		"OwnName": {
			object{
				"steps": []object{
					{"name": "a", "type": "http", "config": object{"url": "http://a.test/{{x}}"}, "extract": []object{{"name": "x", "source": "status"}}},
				},
			},
			"config.steps[0].config.url",
		},
		"UnknownInHeader":  {web(object{"url": "http://a.test/", "headers": object{"X": "{{y}}"}}), second + ".config.headers.X"},
		"ContinuesHost":    {web(object{"url": "http://a.test{{x}}"}), second + ".config.url"},
		"ContinuesHostDot": {web(object{"url": "http://a.{{x}}.test/"}), second + ".config.url"},
		"ContinuesURL":     {web(object{"url": "{{x}}{{x}}"}), second + ".config.url"},
		"Userinfo":         {web(object{"url": "http://{{x}}@a.test/"}), second + ".config.url"},
		"ExtractName":      {extract(object{"name": "a b", "source": "status"}), second + ".extract[0].name"},
		"ExtractSource":    {extract(object{"name": "a", "source": "cookie"}), second + ".extract[0].source"},
		"ExtractPath":      {extract(object{"name": "a", "source": "json"}), second + ".extract[0].property"},
		"ExtractHeader":    {extract(object{"name": "a", "source": "header"}), second + ".extract[0].property"},
		"ExtractPattern":   {extract(object{"name": "a", "source": "body", "property": "("}), second + ".extract[0].property"},
		"ExtractFromTCP": {
			with(object{"type": "tcp", "config": object{"host": "a.test", "port": 1}, "extract": []object{{"name": "a", "source": "status"}}}),
			second + ".extract",
		},
		"LongerThanMinute": {
			object{"steps": []object{ok, {"name": "b", "type": "http", "config": object{"url": "http://a.test/", "timeout_seconds": 55}}}},
			"config.steps",
		},
		"LongerThanAllowed": {web(object{"url": "http://a.test/", "timeout_seconds": 61}), second + ".config.timeout_seconds"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := w.Parse(vigil.TypeMultistep, encode(t, c.config), minute)
			rejected(t, err, c.member)
		})
	}
	ten := make([]object, 10)
	for i := range ten {
		ten[i] = object{"name": fmt.Sprint(i), "type": "http", "config": object{"url": "http://a.test/"}}
	}
	parsed, err := w.Parse(vigil.TypeMultistep, encode(t, object{"steps": ten}), minute)
	if err != nil || parsed.Deadline() != minute || parsed.Target() != "a.test" {
		t.Errorf("ten steps share the interval: %v, %v", parsed, err)
	}
	for i := range ten {
		ten[i] = object{"name": fmt.Sprint(i), "type": "http", "config": object{"url": "http://a.test/", "timeout_seconds": 60}}
	}
	parsed, err = w.Parse(vigil.TypeMultistep, encode(t, object{"steps": ten}), 100*minute)
	if err != nil || (vigil.Retry{Attempts: 3, Delay: 30 * time.Second}).Deadline(parsed.Deadline()) != vigil.LongestProbe {
		t.Errorf("the longest probe: %v, %v", parsed, err)
	}
}
