// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"golang.org/x/net/html"
)

// TestManyChecksAreTestedStepByStep: more than 100 checks are tested, the page says how far it is, and names
// what failed with a link.
func TestManyChecksAreTestedStepByStep(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/bad" {
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	t.Cleanup(server.Close)
	const many = 103
	bad := make(map[string]string)
	for i := range many {
		path, name := "/good", fmt.Sprintf("Check %d", i)
		if i%50 == 1 {
			path, name = "/bad", fmt.Sprintf("Bad | <b> %d", i)
		}
		var made stored
		o.call(t, http.MethodPost, "/v1/checks", map[string]any{
			"name":             name,
			"type":             "http",
			"interval_seconds": 3600,
			"regions":          []string{"eu-central-fra"},
			"config":           map[string]any{"url": server.URL + path},
		}, &made)
		if path == "/bad" {
			bad[made.ID] = name
		}
	}
	p := o.open(t, http.MethodPost, "/app/checks/bulk", url.Values{"action": {"test"}, "all": {"yes"}, "back": {"/app?state=passing"}})
	steps := 0
	for ; steps < 100; steps++ {
		form := p.find(func(n *html.Node) bool { return n.Data == "form" && attr(n, "action") == "/app/checks/tests" })
		if form == nil {
			break
		}
		values := url.Values{}
		each(form, func(n *html.Node) {
			if name := attr(n, "name"); name != "" {
				values.Add(name, attr(n, "value"))
			}
		})
		if want := fmt.Sprintf("Tested %d of %d", min(8*steps, many), many); !strings.Contains(textOf(p.root), want) {
			t.Fatalf("step %d does not say %q: %s", steps, want, textOf(p.byID("testing")))
		}
		p = o.open(t, http.MethodPost, "/app/checks/tests", values)
	}
	said := strings.Join(strings.Fields(textOf(p.byID("testing"))), " ")
	if steps != 13 || !strings.Contains(said, "Tested 103 of 103: 100 passed, 3 did not.") {
		t.Errorf("after %d steps the page says %s", steps, said)
	}
	for id, name := range bad {
		link := p.find(func(n *html.Node) bool { return attr(n, "href") == "/app/checks/"+id })
		if link == nil || textOf(link) != strings.ReplaceAll(name, "|", "/") || !strings.Contains(said, "502") {
			t.Errorf("%s is not named: %s", name, said)
		}
	}
	if p.find(func(n *html.Node) bool { return attr(n, "href") == "/app?state=passing" }) == nil {
		t.Error("the page does not lead back")
	}

	for _, values := range []url.Values{
		{"id": {"x"}}, {"id": {uuid.NewString()}, "passed": {"-1"}}, {"passed": {"0"}, "failed": {"x|y|z"}}, {"passed": {"many"}},
	} {
		if p := o.open(t, http.MethodPost, "/app/checks/tests", values); p.status != http.StatusNotFound {
			t.Errorf("%v: status %d", values, p.status)
		}
	}
	foreign := o.open(
		t,
		http.MethodPost,
		"/app/checks/tests",
		url.Values{"id": {foreignCheck(t)}, "passed": {"0"}, "back": {"//evil.example/"}},
	)
	if text := textOf(foreign.root); !strings.Contains(text, "not tested: check not found") || strings.Contains(foreign.raw, "evil") {
		t.Errorf("a foreign check: %s", text)
	}
}

// TestWhoMayNotTestMany: a member who reads is refused, and a stranger led to the sign-in page.
func TestWhoMayNotTestMany(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	owner, _ := s.signUp(t)
	check := s.check(t, owner)
	reader := s.joins(t, owner, "reader-"+uuid.NewString()[:8]+"@example.com", "viewer")
	reader.post(t, http.StatusForbidden, "/app/checks/tests", url.Values{"id": {check}, "passed": {"0"}})
	reader.post(t, http.StatusForbidden, "/app/checks/bulk", url.Values{"action": {"test"}, "id": {check}})
	s.browser(t).post(t, http.StatusSeeOther, "/app/checks/tests", url.Values{"id": {check}, "passed": {"0"}})
}
