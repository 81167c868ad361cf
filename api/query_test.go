// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/vigil-monitor/vigil/api"
)

// Every operation below /v1/ refuses a parameter that it does not have, before it does anything.
func TestUnknownParameters(t *testing.T) {
	t.Parallel()
	doc := document(t)
	b := setup(t)
	a := b.signup(t)
	at := "/v1/checks/" + text(a.check(t), "id")
	agent := newOffice(t, a)
	parameter, operations := regexp.MustCompile(`{\w+}`), 0
	for path, item := range doc.Paths.Map() {
		if !strings.HasPrefix(path, "/v1/") {
			continue
		}
		for method, operation := range item.Operations() {
			operations++
			by := a.client
			if ofAgents(path) {
				by = agent.client
			}
			got := by.do(t, method, parameter.ReplaceAllString(path, a.org.String())+"?nonsense=1", nil)
			if got.status != http.StatusBadRequest {
				t.Errorf("%s %s answers %d: %s", method, path, got.status, got.raw)
				continue
			}
			message := text(got.body, "error")
			if !strings.HasPrefix(message, "nonsense: is not a query parameter") {
				t.Errorf("%s %s says %q", method, path, message)
			}
			for _, param := range operation.Parameters {
				if param.Value.In == openapi3.ParameterInQuery && !strings.Contains(message, param.Value.Name) {
					t.Errorf("%s %s does not name %s: %q", method, path, param.Value.Name, message)
				}
			}
		}
	}
	if operations < 50 {
		t.Errorf("only %d operations were tried", operations)
	}

	for _, c := range []struct{ path, message string }{
		{
			at + "/uptime?since=2026-10-01T00:00:00Z&until=2026-11-01T00:00:00Z",
			"since: is not a query parameter of this request, nor is until; it has ",
		},
		{at + "/uptime?Period=7d", `did you mean "period"?`},
		{"/v1/checks?limit=1&LIMIT=2", `did you mean "limit"?`},
		{"/v1/checks?label[]=a", `label[]: is not a query parameter`},
		{"/v1/usage?x=%00%ff%0a", "x: is not a query parameter of this request; it has none"},
		{"/v1/usage?a%00%ff%0ab=1", "ab: is not a query parameter"},
		{"/v1/usage?=1", "query: is not a query parameter"},
		{"/v1/usage?" + strings.Repeat("n", 5000), strings.Repeat("n", 64) + "...: is not a query parameter"},
	} {
		got := a.want(t, http.StatusBadRequest, http.MethodGet, c.path, nil)
		if message := text(got.body, "error"); !strings.Contains(message, c.message) || len(message) > 1000 {
			t.Errorf("%.80s says %q", c.path, message)
		}
	}

	got := a.want(t, http.StatusBadRequest, http.MethodGet, at+"/uptime?since=1&until=2", nil)
	details, _ := got.body["details"].(map[string]any)
	if got := encoded(t, details["known"]); got != `["period","from","to","timezone","excluded"]` {
		t.Errorf("the known ones are %s", got)
	}
	if problems, _ := details["problems"].([]any); text(details, "member") != "since" || len(problems) != 2 {
		t.Errorf("the details are %v", details)
	}
}

// What is no operation refuses all parameters. What accepts any is named in the document: what load
// balancers ask, pages, images, and the codec endpoint, whose protocol is Temporal's.
func TestParametersOfWhatIsNoOperation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	shown := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	server := b.server(t, func(d *api.Deps) { d.StatusPages, d.Codec = shown, shown })
	t.Cleanup(server.Close)
	listener := httptest.NewServer(server)
	t.Cleanup(listener.Close)
	description, a := document(t).Info.Description, b.signup(t)
	ask := (&client{url: listener.URL, http: listener.Client()}).as(a.credential)
	ignoring, refusing := server.Routes()
	for path := range document(t).Paths.Map() {
		if !strings.HasPrefix(path, "/v1/") {
			ignoring = append(ignoring, "GET "+path)
		}
	}
	// Statuses differ, such as 401 for the codec: an ignored parameter changes nothing.
	parameter := regexp.MustCompile(`{\w+}`)
	for _, pattern := range ignoring {
		method, path, _ := strings.Cut(parameter.ReplaceAllString(pattern, "x"), " ")
		plain, strange := ask.do(t, method, path, nil), ask.do(t, method, path+"?nonsense=1&utm_source=x", nil)
		if plain.status != strange.status || strings.Contains(string(strange.raw), "nonsense") {
			t.Errorf("%s answers %d, and %d with a parameter that it does not have", pattern, plain.status, strange.status)
		}
		named, _, _ := strings.Cut(strings.TrimPrefix(pattern, method+" "), "{")
		if section, _, below := strings.Cut(strings.TrimPrefix(named, "/"), "/"); below && (section == "docs" || section == "codec") {
			named = "/" + section
		}
		if !regexp.MustCompile(`(^|\s)` + regexp.QuoteMeta(named) + `([,.]?\s|$)`).MatchString(description) {
			t.Errorf("%s accepts any parameter, and the document does not name it", pattern)
		}
	}
	for _, pattern := range refusing {
		method, path, _ := strings.Cut(pattern, " ")
		for query, want := range map[string]string{
			"version=2": "version: is not a query parameter of this request; it has none",
			"%zz":       "query: is not properly encoded",
		} {
			got := ask.want(t, http.StatusBadRequest, method, path+"?"+query, nil)
			if message := text(got.body, "error"); message != want || text(got.body, "code") != "invalid_request" {
				t.Errorf("%s?%s says %s", pattern, query, got.raw)
			}
		}
	}
	if len(ignoring) < 20 || len(refusing) < 3 {
		t.Errorf("only %d and %d were tried", len(ignoring), len(refusing))
	}
}
