// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"golang.org/x/net/html"
)

// change posts the form with another type chosen.
func (p *opened) change(t *testing.T, kind string) *opened {
	t.Helper()
	values := maps.Clone(p.values)
	values.Set("do", "type")
	return p.open(t, http.MethodPost, p.action+"?type="+kind, values)
}

// TestTypedWorkSurvivesAChangeOfType: what both types have stays, what one of them has is there again when
// it is chosen again, and a secret is asked for again.
func TestTypedWorkSurvivesAChangeOfType(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	p := o.view(t, "/app/checks/new").press(t, "add:config.headers")
	for name, value := range map[string]string{
		"name": "Orders", "config.url": "https://orders.harbor.example/", "config.timeout_seconds": "7", "config.method": "POST",
		"config.headers[0].name": "Accept", "config.headers[0].value": "text/html", "config.body": "{}",
		"config.basic_auth.username": "ada", "config.basic_auth.password": "s3cret", "config.assertions[0].target": "204",
	} {
		p.enter(t, name, value)
	}
	p = p.change(t, "websocket")
	for name, want := range map[string]string{"name": "Orders", "config.timeout_seconds": "7", "config.headers[0].value": "text/html"} {
		if got := p.values.Get(name); got != want {
			t.Errorf("websocket: %s is %q, want %q", name, got, want)
		}
	}
	p.enter(t, "config.send", "ping")
	p = p.change(t, "tcp")
	p.enter(t, "config.host", "db.harbor.example")
	p.enter(t, "config.timeout_seconds", "9")
	if p = p.change(t, "https"); strings.Contains(p.raw, "s3cret") {
		t.Error("a secret was sent back to the page")
	}
	for name, want := range map[string]string{
		"config.url": "https://orders.harbor.example/", "config.timeout_seconds": "9", "config.method": "POST",
		"config.headers[0].name": "Accept",
		"config.body":            "{}", "config.basic_auth.username": "ada", "config.assertions[0].target": "204",
		"config.basic_auth.password": "",
	} {
		if got := p.values.Get(name); got != want {
			t.Errorf("https again: %s is %q, want %q", name, got, want)
		}
	}
	if back := p.change(t, "tcp"); back.values.Get("config.host") != "db.harbor.example" {
		t.Errorf("tcp again: %v", back.values)
	}
	if got := p.press(t, "").wrong(t, "config.basic_auth.password"); !strings.Contains(got, "type it again") {
		t.Errorf("the password: %q", got)
	}
	// A row that is added, and another, do not make the form forget that it had a password.
	p = p.press(t, "add:labels").press(t, "remove:labels[0]").press(t, "add:config.assertions")
	if got := p.press(t, "").wrong(t, "config.basic_auth.password"); !strings.Contains(got, "type it again") {
		t.Errorf("the password after more rows: %q", got)
	}
}

// TestTypedWorkSurvivesAnEndedSession: a form that is sent without a session leads to the sign-in page and
// back to its page; the browser fills it in again by the button "restore", which stores nothing.
func TestTypedWorkSurvivesAnEndedSession(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	p := o.view(t, "/app/checks/new").press(t, "add:config.headers")
	p.enter(t, "name", "Orders")
	p.enter(t, "config.headers[0].name", "Accept")
	values := maps.Clone(p.values)
	o.site.change(t, "UPDATE sessions SET expires_at = now() - interval '1 second'")
	out := p.press(t, "")
	if out.status != http.StatusSeeOther || out.location != "/app/sign-in?next="+url.QueryEscape("/app/checks/new") {
		t.Fatalf("status %d, to %s", out.status, out.location)
	}
	hostile := maps.Clone(values)
	hostile.Set("form_page", "//evil.example/app")
	if out := p.open(t, http.MethodPost, p.action, hostile); strings.Contains(out.location, "evil") {
		t.Errorf("a form can lead to %s", out.location)
	}
	o.restart(t)
	values.Set("do", "restore")
	values.Add("kept", "config.basic_auth.password")
	p = o.open(t, http.MethodPost, "/app/checks/new", values)
	if p.status != http.StatusOK || p.values.Get("name") != "Orders" || p.values.Get("config.headers[0].name") != "Accept" ||
		!strings.Contains(p.raw, "What you typed is back.") {
		t.Errorf("status %d, form %v", p.status, p.values)
	}
	if !slices.Contains(p.values["kept"], "config.basic_auth.password") {
		t.Error("the form does not know that it had a password")
	}
	var list []stored
	if o.call(t, http.MethodGet, "/v1/checks", nil, &list); len(list) != 0 {
		t.Errorf("%d checks were made", len(list))
	}
}

// restart lets the sessions go on.
func (o *office) restart(t *testing.T) {
	t.Helper()
	o.site.change(t, "UPDATE sessions SET expires_at = now() + interval '1 hour'")
}

// TestABrowserKnowsWhatIsSecret: every field of a secret of every type says that a browser must not keep it.
func TestABrowserKnowsWhatIsSecret(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	for _, e := range examples() {
		p := o.view(t, "/app/checks/new?type="+e.kind)
		for _, button := range e.buttons {
			p = p.press(t, button)
		}
		each(p.root, func(n *html.Node) {
			if attr(n, "type") == "password" && attr(n, "data-secret") == "" && strings.HasPrefix(attr(n, "name"), "config.") {
				t.Errorf("%s: %s is not marked", e.kind, attr(n, "name"))
			}
		})
		if e.secret != "" && attr(p.field(e.secret), "data-secret") == "" {
			t.Errorf("%s: %s is not marked", e.kind, e.secret)
		}
		if form := p.byID("check-form"); attr(form, "data-draft") == "" || attr(form, "data-owner") == "" ||
			!strings.Contains(attr(form, "data-secret-names"), "authorization") && !strings.Contains(attr(form, "data-secret-names"), "auth ") {
			t.Errorf("%s: the form is not kept", e.kind)
		}
	}
}

// TestAddressesAreCompleted: a URL without a scheme gets that of its type, a host that is typed as a URL
// becomes the host, the page says so, and the API stays strict.
func TestAddressesAreCompleted(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	for _, c := range []struct{ kind, field, typed, want, says string }{
		{"https", "config.url", "orders.harbor.example", "https://orders.harbor.example", "Read as https://orders.harbor.example."},
		{
			"http", "config.url", "orders.harbor.example:8080/a?token=x", "http://orders.harbor.example:8080/a?token=***",
			"Read as http://orders.harbor.example:8080/a.",
		},
		{"websocket", "config.url", "//live.harbor.example/", "wss://live.harbor.example/", "Read as wss://live.harbor.example/."},
		{"ping", "config.host", "https://vpn.harbor.example/a", "vpn.harbor.example", "its host vpn.harbor.example is used"},
		{"ssl", "config.host", "https://[2606:4700::1]:8443/", "2606:4700::1", "its host 2606:4700::1 is used"},
		{"domain", "config.domain", "https://example.com/shop", "example.com", "its host example.com is used"},
	} {
		p := o.view(t, "/app/checks/new?type="+c.kind)
		p.enter(t, "name", "Completed "+c.kind)
		p.enter(t, c.field, c.typed)
		p = p.press(t, "")
		if p.status != http.StatusSeeOther {
			t.Errorf("%s %s: status %d, %s", c.kind, c.typed, p.status, p.summary())
			continue
		}
		var made stored
		o.call(t, http.MethodGet, "/v1"+strings.TrimPrefix(p.location, "/app"), nil, &made)
		var config map[string]any
		if err := json.Unmarshal(made.Config, &config); err != nil || config[strings.TrimPrefix(c.field, "config.")] != c.want {
			t.Errorf("%s %s became %s", c.kind, c.typed, made.Config)
		}
		if page := o.view(t, p.location); !strings.Contains(textOf(page.root), c.says) {
			t.Errorf("%s %s: the page does not say %q", c.kind, c.typed, c.says)
		}
	}
	p := o.view(t, "/app/checks/new?type=multistep")
	p.enter(t, "name", "Steps")
	p.enter(t, "config.steps[0].name", "one")
	p.enter(t, "config.steps[0].config.url", "shop.harbor.example/cart")
	p.enter(t, "interval_seconds", "often")
	if p = p.press(
		t,
		"",
	); p.values.Get("config.steps[0].config.url") != "https://shop.harbor.example/cart" ||
		!strings.Contains(p.raw, "Read as") {
		t.Errorf("a step has %q", p.values.Get("config.steps[0].config.url"))
	}
	for _, typed := range []string{"no address", "ftp://orders.harbor.example", "orders", "https://", "mailto:a@b.example", `a\b.example`} {
		p := o.view(t, "/app/checks/new")
		p.enter(t, "name", "Refused")
		p.enter(t, "config.url", typed)
		if p = p.press(t, ""); p.wrong(t, "config.url") == "" || p.values.Get("config.url") != typed {
			t.Errorf("%q became %q", typed, p.values.Get("config.url"))
		}
	}
}

// TestCloneACheck: the form of a copy has everything but the secrets, which it names, a name that is free,
// and the rules; both are made, or neither.
func TestCloneACheck(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	var channel struct{ ID string }
	o.call(t, http.MethodPost, "/v1/notification-channels", map[string]any{
		"name": "hook", "type": "webhook", "config": map[string]any{"url": "http://127.0.0.1:9/hook"},
	}, &channel)
	var made stored
	rule := func(name string) map[string]any {
		return map[string]any{"name": name, "condition": map[string]any{"failure_threshold": 3}, "notification_channel_ids": []string{channel.ID}}
	}
	o.call(t, http.MethodPost, "/v1/checks", map[string]any{
		"name": "Orders <b>", "type": "https", "interval_seconds": 120, "labels": map[string]string{"team": "shop"}, "evidence": false,
		"config": map[string]any{
			"url": "https://a.harbor.example/?token=s3cret&a=b", "headers": map[string]string{"X-Api-Key": "s3cret", "Accept": "text/html"},
			"basic_auth": map[string]any{"username": "ada", "password": "s3cret"},
		},
		"rules": []any{rule("First"), rule("Second")},
	}, &made)
	o.call(t, http.MethodPost, "/v1/checks", map[string]any{
		"name": "Orders <b> (2)", "type": "ping", "interval_seconds": 120, "config": map[string]any{"host": "a.harbor.example"},
	}, nil)
	if page := o.view(t, "/app/checks/"+made.ID); page.find(func(n *html.Node) bool {
		return attr(n, "href") == "/app/checks/new?from="+made.ID
	}) == nil {
		t.Error("the page of the check has no link to a copy of it")
	}

	p := o.view(t, "/app/checks/new?from="+made.ID)
	for name, want := range map[string]string{
		"name": "Orders <b> (3)", "type": "https", "interval_seconds": "120", "labels[0].value": "shop",
		"config.url":              "https://a.harbor.example/?token=&a=b",
		"config.headers[0].value": "text/html", "config.headers[1].name": "X-Api-Key", "config.headers[1].value": "",
		"config.basic_auth.username": "ada",
		"config.basic_auth.password": "", "evidence": "",
	} {
		if got := p.values.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	note := strings.Join(
		strings.Fields(textOf(p.find(func(n *html.Node) bool { return strings.Contains(attr(n, "class"), "copy-note") }))),
		" ",
	)
	for _, want := range []string{"A copy of Orders <b>", "X-Api-Key", "Password", "Address"} {
		if !strings.Contains(note, want) {
			t.Errorf("the note does not name %s: %s", want, note)
		}
	}
	if len(p.values["copy_rule"]) != 2 || strings.Contains(fmt.Sprint(p.values), "***") {
		t.Errorf("rules %v; the form has %v", p.values["copy_rule"], p.values)
	}
	p.wrongAfter(t, "config.basic_auth.password")
	p.enter(t, "config.basic_auth.password", "other")
	p.enter(t, "config.headers[1].value", "other")
	p.enter(t, "config.url", "https://a.harbor.example/?token=new&a=b")
	p.values.Set("copy_rule", p.values["copy_rule"][0])
	if p = p.press(t, ""); p.status != http.StatusSeeOther {
		t.Fatalf("status %d, %s", p.status, p.summary())
	}
	var rules []struct{ Name string }
	o.call(t, http.MethodGet, "/v1"+strings.TrimPrefix(p.location, "/app")+"/alerts", nil, &rules)
	if len(rules) != 1 || rules[0].Name != "First" {
		t.Errorf("the copy has the rules %v", rules)
	}

	for _, id := range []string{uuid.NewString(), foreignCheck(t)} {
		if p := o.view(t, "/app/checks/new?from="+id); p.status != http.StatusNotFound {
			t.Errorf("a copy of %s: status %d", id, p.status)
		}
	}
	if p := o.view(t, "/app/checks/new?from=hostile%00'"); p.status != http.StatusOK || p.byID("check-form") == nil {
		t.Errorf("no id: status %d", p.status)
	}
}

// wrongAfter sends the form as it is, and expects a field to be asked for.
func (p *opened) wrongAfter(t *testing.T, name string) {
	t.Helper()
	if got := p.press(t, "").wrong(t, name); !strings.Contains(got, "type it again") {
		t.Errorf("%s: %q", name, got)
	}
}

// foreignCheck makes a check of another organization.
func foreignCheck(t *testing.T) string {
	t.Helper()
	other := openOffice(t)
	var made stored
	other.call(t, http.MethodPost, "/v1/checks", map[string]any{
		"name": "Foreign", "type": "ping", "interval_seconds": 120, "config": map[string]any{"host": "a.harbor.example"},
	}, &made)
	return made.ID
}

// TestTheKeyOfNewWorksWhereItIsShown: each page that shows the key c has a control that it presses.
func TestTheKeyOfNewWorksWhereItIsShown(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	shown := 0
	for _, path := range []string{
		"/app", "/app/channels", "/app/status-pages", "/app/maintenance", "/app/api-keys", "/app/locations", "/app/subscriptions", "/app/drills",
		"/app/rules", "/app/reports", "/app/members", "/app/incidents",
	} {
		p := o.view(t, path)
		each(p.root, func(n *html.Node) {
			if n.Data != "kbd" || strings.TrimSpace(textOf(n)) != "c" {
				return
			}
			shown++
			if at := n.Parent; attr(at, "data-key") != "c" {
				t.Errorf("%s shows the key on %s", path, fmt.Sprint(at.Data, at.Attr))
			}
		})
	}
	if shown < 3 {
		t.Errorf("the key is shown %d times", shown)
	}
}
