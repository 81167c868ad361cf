// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil"
)

// TestCookies: a run keeps cookies, and the next one begins without any.
func TestCookies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url := w.http(func(w http.ResponseWriter, r *http.Request) {
		set := func(name string) { http.SetCookie(w, &http.Cookie{Name: name, Value: name + "-value", Path: "/"}) }
		_, first := r.Cookie("first")
		_, second := r.Cookie("second")
		switch {
		case r.URL.Path == "/self" && first != nil:
			set("first")
			http.Redirect(w, r, "/self", http.StatusFound)
		case r.URL.Path == "/login":
			set("first")
			set("second")
			http.Redirect(w, r, "/account", http.StatusSeeOther)
		case r.URL.Path == "/leak":
			set("first")
			w.Header().Set("X-Leak", "first-value")
		case r.URL.Path == "/set":
			set("first")
			set("second")
			w.Header().Set("X-Token", "second-value")
		case r.URL.Path == "/account" && (first != nil || second != nil):
			w.WriteHeader(http.StatusForbidden)
		case r.URL.Path == "/echo":
			_, _ = io.WriteString(w, r.Header.Get("Cookie")+" "+r.URL.Query().Get("token"))
		}
	})
	for name, c := range map[string]struct {
		config object
		status int
	}{
		"RedirectToItself": {object{"url": url + "/self"}, 200},
		"Login":            {object{"url": url + "/login", "method": "POST", "body": "user=ann"}, 200},
		"OwnHeaderStays":   {object{"url": url + "/login", "headers": object{"Cookie": "own=1"}}, 200},
		"TurnedOff":        {object{"url": url + "/login", "cookies": false, "expected_status_code": 403}, 403},
		"NextRunIsNew":     {object{"url": url + "/account", "expected_status_code": 403}, 403},
	} {
		if seen := w.run(vigil.TypeHTTP, c.config); !seen.Success || seen.StatusCode != c.status {
			t.Errorf("%s: %d %q", name, seen.StatusCode, seen.Error)
		}
	}
	leak := w.run(vigil.TypeHTTP, object{"url": url + "/leak", "assertions": []object{
		{"source": "header", "property": "X-Leak", "operator": "eq", "target": "x"},
	}})
	if leak.Success || strings.Contains(leak.Error, "first-value") {
		t.Errorf("a session is shown: %q", leak.Error)
	}
	step := func(name, path string, more object) object {
		config := object{"url": url + path}
		for member, value := range more {
			config[member] = value
		}
		return object{"name": name, "type": "http", "config": config}
	}
	set := step("set", "/set", nil)
	set["extract"] = []object{
		{"name": "all", "source": "header", "property": "Set-Cookie"},
		{"name": "token", "source": "header", "property": "X-Token"},
	}
	for name, steps := range map[string][]object{
		"Shared": {step("set", "/set", nil), step("account", "/account", nil)},
		"Off":    {step("set", "/set", object{"cookies": false}), step("account", "/account", object{"expected_status_code": 403})},
		"Extracted": {set, step("echo", "/echo?token={{token}}", object{"headers": object{"X-All": "{{all}}"}, "assertions": []object{
			{"source": "body", "operator": "eq", "target": "first=first-value; second=second-value second-value"},
		}})},
	} {
		seen := w.run(vigil.TypeMultistep, object{"steps": steps})
		if !seen.Success {
			t.Errorf("%s: %q", name, seen.Error)
		}
	}
}
