// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/secret"
)

// tokenServer gives tokens, each with a number, and a target takes those from some number on.
type tokenServer struct {
	given, wanted atomic.Int32
	life          string // the member expires_in, with a comma before it
}

func (s *tokenServer) token(w http.ResponseWriter, r *http.Request) {
	user, password, basic := r.BasicAuth()
	if !basic {
		user, password = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	w.Header().Set("Content-Type", "application/json")
	if user != "monitoring" || password != "hunter2" || r.PostFormValue("grant_type") != "client_credentials" ||
		r.PostFormValue("scope") != "a b" {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, `{"error":"invalid_client","error_description":"not with %s"}`, password)
		return
	}
	_, _ = fmt.Fprintf(w, `{"access_token":"token-%04d","token_type":"bearer"%s}`, s.given.Add(1), s.life)
}

func (s *tokenServer) target(w http.ResponseWriter, r *http.Request) {
	var n int32
	if _, err := fmt.Sscanf(r.Header.Get("Authorization"), "Bearer token-%04d", &n); err != nil || n < s.wanted.Load() {
		w.WriteHeader(http.StatusUnauthorized)
	}
	w.Header().Set("X-Echo", r.Header.Get("Authorization"))
}

func grant(server string) object {
	return object{"token_url": server, "client_id": "monitoring", "client_secret": "hunter2", "scopes": []string{"a", "b"}}
}

func TestOAuth2(t *testing.T) {
	t.Parallel()
	const times = 3
	for name, c := range map[string]struct {
		life   string
		more   object
		tokens int32 // for three runs
		revoke bool  // the target takes no token of before, from the second run on
	}{
		"KeptUntilItExpires": {life: `,"expires_in":3600`, tokens: 1},
		"WithoutAnEnd":       {tokens: 1},
		"InTheBody":          {more: object{"client_authentication": "body"}, tokens: 1},
		"EndsAtOnce":         {life: `,"expires_in":"0"`, tokens: 1},
		"Revoked":            {life: `,"expires_in":3600`, tokens: 2, revoke: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			server := &tokenServer{life: c.life}
			oauth := grant(w.http(server.token))
			for member, value := range c.more {
				oauth[member] = value
			}
			config := object{"url": w.http(server.target), "oauth2": oauth}
			for run := range times {
				if c.revoke && run == 1 {
					server.wanted.Store(server.given.Load() + 1)
				}
				if seen := w.run(vigil.TypeHTTP, config); !seen.Success {
					t.Fatalf("run %d: %s", run, seen.Error)
				}
			}
			if n := server.given.Load(); n != c.tokens {
				t.Errorf("%d tokens, want %d", n, c.tokens)
			}
		})
	}
}

// TestOAuth2RefreshesWhatExpires holds that a token is not used beyond its time.
func TestOAuth2RefreshesWhatExpires(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := &tokenServer{life: `,"expires_in":1`}
	config := object{"url": w.http(server.target), "oauth2": grant(w.http(server.token))}
	eventually(t, "a second token is asked for", func() bool {
		if seen := w.run(vigil.TypeHTTP, config); !seen.Success {
			t.Fatal(seen.Error)
		}
		return server.given.Load() == 2
	})
}

// TestOAuth2Failures holds that a token that cannot be had has a reason of its own, which holds no
// secret.
func TestOAuth2Failures(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	target := &tokenServer{}
	var reached atomic.Int32
	url := w.http(func(w http.ResponseWriter, r *http.Request) {
		reached.Add(1)
		target.target(w, r)
	})
	say := func(status int, body string) string {
		return w.http(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		})
	}
	closed := closedPort(t)
	wrong := grant(w.http(target.token))
	wrong["client_secret"] = "sesame-secret"
	for name, c := range map[string]struct {
		oauth   object
		reason  string
		network bool
	}{
		"WrongSecret": {wrong, "no access token: the token endpoint answered with the error invalid_client: not with ***", false},
		"Status":      {grant(say(503, "")), "no access token: the token endpoint answered with the status 503", false},
		"Page": {
			grant(say(200, "<html>")),
			"no access token: the answer of the token endpoint is not JSON with an access_token (RFC 6749, section 5.1)", false,
		},
		"NoToken": {
			grant(say(200, `{"token_type":"bearer"}`)), "no access token: the answer of the token endpoint has no access_token", false,
		},
		"OtherType": {grant(say(200, `{"access_token":"abcd","token_type":"mac"}`)), "the token has the type MAC, expected Bearer", false},
		"LineBreak": {
			grant(say(200, `{"access_token":"ab\r\ncd","token_type":"bearer"}`)),
			"the token has characters that cannot be sent in a header (RFC 6750, section 2.1)", false,
		},
		"Redirect": {grant(w.http(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/x", http.StatusTemporaryRedirect)
		})), "the token endpoint answered with the status 307", false},
		"Refused": {grant("http://" + closed), "no access token: connection refused by " + closed, true},
		"Mute":    {grant("http://" + tcp(t, drain)), "timed out after 1s while requesting an access token", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := w.run(vigil.TypeHTTP, object{"url": url, "oauth2": c.oauth, "timeout_seconds": 1})
			if seen.Success || !strings.Contains(seen.Error, c.reason) || seen.NetworkFailure != c.network {
				t.Errorf("got %q, network %v, want %q", seen.Error, seen.NetworkFailure, c.reason)
			}
			if reached.Load() != 0 {
				t.Error("the target was asked without a token")
			}
		})
	}
}

// TestOAuth2TokenIsASecret holds that a token that the target repeats is in no reason.
func TestOAuth2TokenIsASecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := &tokenServer{}
	config := object{
		"url": w.http(server.target), "oauth2": grant(w.http(server.token)),
		"assertions": []object{{"source": "header", "property": "X-Echo", "operator": "eq", "target": "nothing"}},
	}
	for range 2 { // with a new one, and with a kept one
		seen := w.run(vigil.TypeHTTP, config)
		if seen.Success || strings.Contains(seen.Error, "token-0001") || !strings.Contains(seen.Error, secret.Mask) {
			t.Errorf("got %q", seen.Error)
		}
	}
}

// TestOAuth2OfSteps holds that the steps of a check get tokens, too.
func TestOAuth2OfSteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := &tokenServer{}
	step := object{"url": w.http(server.target), "oauth2": grant(w.http(server.token))}
	seen := w.run(vigil.TypeMultistep, object{"steps": []object{
		{"name": "one", "type": "http", "config": step}, {"name": "two", "type": "http", "config": step},
	}})
	if !seen.Success || server.given.Load() != 1 {
		t.Errorf("%q, %d tokens", seen.Error, server.given.Load())
	}
}

func TestOAuth2Config(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	with := func(more object) object {
		oauth := grant("https://id.example/token")
		for member, value := range more {
			oauth[member] = value
		}
		return object{"url": "https://a.example", "oauth2": oauth}
	}
	for member, config := range map[string]object{
		"config.oauth2.client_secret":         with(object{"client_secret": ""}),
		"config.oauth2.client_id":             with(object{"client_id": nil}),
		"config.oauth2.scopes[0]":             with(object{"scopes": []string{"a b"}}),
		"config.oauth2.client_authentication": with(object{"client_authentication": "jwt"}),
	} {
		_, err := w.Parse(vigil.TypeHTTPS, encode(t, config), minute)
		rejected(t, err, member)
	}
	for _, more := range []object{{"headers": object{"Authorization": "x"}}, {"basic_auth": object{"username": "a"}}} {
		config := with(nil)
		for member, value := range more {
			config[member] = value
		}
		_, err := w.Parse(vigil.TypeHTTPS, encode(t, config), minute)
		rejected(t, err, "config.oauth2")
	}
	aim := newCanary(t)
	registry := probe.NewRegistry(egress.New(egress.Policy{}))
	_, err := registry.Parse(vigil.TypeHTTPS, encode(t, with(object{"token_url": "http://127.0.0.1:" + aim.port})), minute)
	rejected(t, err, "config.oauth2.token_url")
}
