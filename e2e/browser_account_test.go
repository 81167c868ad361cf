// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"net/http"
	"slices"
	"strings"
)

// firstRun signs in by the link that the start prints, which works once.
func (d *dashboard) firstRun() {
	link := d.p.ready.SignInURL
	if link == "" {
		d.t.Fatal("the start prints no link")
	}
	b := d.chromium.open(d.t, d.p.ready.APIURL)
	b.visit(link)
	b.shows("Continue on this machine")
	b.judge("first run")
	b.visit(link) // a link that was only read is not used up
	b.press("Continue as")
	b.until("the overview", `location.pathname === "/app"`)
	b.judge("the first overview")

	other := d.chromium.open(d.t, d.p.ready.APIURL)
	other.visit(link)
	other.shows("This link does not work")
	other.shows("vigil login-link")
	other.judge("a used link")
}

const browserPassword = "a long password 1"

// signOutEverywhere ends the session of another browser as well.
func (d *dashboard) signOutEverywhere() {
	other := d.chromium.open(d.t, d.p.ready.APIURL)
	other.visit("/app/sign-in")
	other.fill("Email", "mara@harbor.example")
	other.fill("Password", browserPassword)
	other.press("Sign in")
	other.until("the overview", `location.pathname === "/app"`)

	d.b.visit("/app/account")
	d.b.press("Sign out everywhere")
	d.b.until("the page to sign in", `location.pathname === "/app/sign-in"`)
	other.visit("/app/incidents")
	other.until("the page to sign in", `location.pathname === "/app/sign-in"`)
	for _, problem := range other.found() { // its overview may ask for its stream once more
		if !strings.Contains(problem, "/app/stream?") || !strings.HasSuffix(problem, "answered 401") {
			d.t.Errorf("recorded by the other browser: %s", problem)
		}
	}
	d.b.visit("/app")
	d.b.until("the page to sign in", `location.pathname === "/app/sign-in"`)
}

// bulkPause selects two checks on the overview with the keyboard, pauses them, and resumes
// them again.
func (d *dashboard) bulkPause() {
	b := d.b
	paused := func() int {
		var checks []struct{ Enabled bool }
		d.api.into(&checks, http.MethodGet, "/v1/checks?enabled=false", nil)
		return len(checks)
	}
	before := paused()
	b.visit("/app?group=none")
	b.keys("jxjx")
	b.until("two are selected", `document.querySelectorAll('.checks input[name="id"]:checked').length === 2`)
	b.judge("selected checks")
	b.keys("p")
	b.shows("2 checks paused")
	if got := paused(); got != before+2 {
		d.t.Errorf("%d checks are paused, want %d", got, before+2)
	}
	b.judge("paused checks")
}

// formsOfTypes is what the form of each type needs beyond the name.
func (d *dashboard) formsOfTypes() map[string][][2]string {
	site := d.service.URL
	host, port, _ := strings.Cut(strings.TrimPrefix(site, "http://"), ":")
	return map[string][][2]string{
		"http": {{"config.url", site + "/http"}}, "https": {{"config.url", "https://" + host + ":" + port + "/"}},
		"http3": {{"config.url", "https://" + host + ":" + port + "/"}}, "tcp": {{"config.host", host}, {"config.port", port}},
		"ping": {{"config.host", host}}, "ssl": {{"config.host", host}, {"config.port", port}},
		"dns": {{"config.host", "www.example.test"}}, "throughput": {{"config.url", site + "/file"}},
		"grpc": {{"config.host", host}, {"config.port", port}}, "domain": {{"config.domain", "example.com"}},
		"websocket": {{"config.url", "ws://" + host + ":" + port + "/live"}},
		"smtp-imap": {{"config.smtp.host", host}, {"config.smtp.port", port}},
		"heartbeat": {{"config.schedule.every_seconds", "3600"}},
		"multistep": {{"config.steps[0].name", "one"}, {"config.steps[0].config.url", "https://" + host + ":" + port + "/step"}},
	}
}

// makeChecks creates a check of each type by its form, with a mistake first.
func (d *dashboard) makeChecks() {
	b := d.b
	forms := d.formsOfTypes()
	var kinds []string
	for kind := range forms {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	for _, kind := range kinds {
		b.visit("/app/checks/new?type=" + kind)
		b.enter("name", "My "+kind)
		b.press("Create check")
		b.shows("Not created yet.")
		b.until("the summary has the focus", `document.activeElement.id === "problems"`)
		b.judge("the form of " + kind + " with a mistake")
		for _, field := range forms[kind] {
			b.enter(field[0], field[1])
		}
		b.press("Create check")
		b.until("the page of the check "+kind, `/^\/app\/checks\/[0-9a-f-]{36}$/.test(location.pathname)`)
		b.shows("My " + kind)
	}
	var checks []struct{ Type string }
	d.api.into(&checks, http.MethodGet, "/v1/checks?limit=100", nil)
	if len(checks) != len(kinds) {
		d.t.Errorf("%d checks, want %d", len(checks), len(kinds))
	}
	// The page of the last check is complete and left, since what it loads is not found once the check is deleted.
	b.until("the regions of the last check", `document.querySelector("#loops:not([hx-get])")`)
	b.visit("/app/channels")
	// They have served: what follows has checks of its own.
	d.api.into(nil, http.MethodPost, "/v1/checks/bulk", object{"selector": object{"query": "My "}, "action": "delete"})
}
