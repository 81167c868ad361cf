// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestBrowserTypedWorkSurvives types into the form of a check, and comes back to it: after another type,
// with Back, after the session ended, and as another user. The steps are one story, in order.
func TestBrowserTypedWorkSurvives(t *testing.T) {
	timingtest.Parallel(t)
	c := theChromium(t)
	p, _ := shared(t)
	const email, password = "ida@forms.example", "a long password 3"
	api := client{t: t, url: p.ready.APIURL}
	var account struct {
		Token string `json:"token"`
	}
	api.into(&account, http.MethodPost, "/v1/auth/signup",
		map[string]any{"email": email, "password": password, "name": "Ida", "organization_name": "Harbor"})
	api.into(nil, http.MethodPost, "/v1/auth/signup",
		map[string]any{"email": "eve@forms.example", "password": password, "name": "Eve", "organization_name": "Pier"})

	b := c.open(t, p.ready.APIURL)
	signIn := func(as string) {
		b.fill("Email", as)
		b.fill("Password", password)
		b.press("Sign in")
	}
	value := func(name string) string {
		return eval[string](b, `document.querySelector('#check-form [name="`+name+`"]')?.value ?? ""`)
	}
	endSession := func() {
		eval[bool](b, `(fetch("/app/sign-out", { method: "POST" }).then(() => { window.ended = true; }), true)`)
		b.until("the session has ended", `window.ended === true`)
	}
	b.visit("/app/sign-in?next=/app/checks/new")
	signIn(email)
	b.until("the form begins in its first field", `document.activeElement.name === "config.url"`)
	b.keys("shop.example.com/cart")
	b.enter("name", "Cart")
	b.until("the address is completed", `document.querySelector('[name="config.url"]').value === "https://shop.example.com/cart"`)
	b.shows("Read as https://shop.example.com/cart")
	eval[bool](b, `(document.querySelector("details.extra").open = true)`)
	b.press("Add header")
	b.until("a row is added", `document.querySelector('[name="config.headers[0].name"]') !== null`)
	b.enter("config.headers[0].name", "X-Api-Key")
	b.enter("config.headers[0].value", "Bearer s3cret-header")
	b.enter("config.basic_auth.username", "ada")
	b.enter("config.basic_auth.password", "s3cret-password")
	b.enter("config.url", "https://ida:s3cret-user@shop.example.com/cart?token=s3cret-query&page=2")
	b.until("it is kept", `Object.values(sessionStorage).some((text) => text.includes("page=2"))`)
	if kept := eval[string](
		b,
		`JSON.stringify(Object.assign({}, sessionStorage)) + JSON.stringify(Object.assign({}, localStorage))`,
	); strings.Contains(
		kept, "s3cret") ||
		!strings.Contains(kept, "X-Api-Key") {
		t.Errorf("the browser keeps %s", kept)
	}
	b.enter("config.url", "https://shop.example.com/cart")

	// Another type, and back.
	eval[bool](b, `(document.querySelector('input[name="type"][value="tcp"]').click(), true)`)
	b.until("the fields of tcp", `document.querySelector('[name="config.port"]') !== null`)
	b.enter("config.port", "443")
	eval[bool](b, `(document.querySelector('input[name="type"][value="https"]').click(), true)`)
	b.until("the fields of https", `document.querySelector('[name="config.headers[0].name"]')?.value === "X-Api-Key"`)

	// Another page, and Back.
	// The form of tcp was kept with the same names: it is the one of https once htmx has done.
	b.until("it is kept again", `document.querySelector(".htmx-request, .htmx-swapping, .htmx-settling") === null &&
		Object.values(sessionStorage).some((text) => text.includes("basic_auth.password") && text.includes('["type","https"]'))`)
	b.visit("/app/help")
	eval[bool](b, `(history.back(), true)`)
	b.shows("What you typed is back.")
	if value("name") != "Cart" || value("config.headers[0].name") != "X-Api-Key" || value("config.basic_auth.password") != "" {
		t.Errorf("Back shows %q, %q, %q", value("name"), value("config.headers[0].name"), value("config.basic_auth.password"))
	}
	b.judge("a form that came back")
	for _, theme := range []string{"light", "dark"} {
		b.picture("form-restored-"+theme, theme, 1440)
	}
	b.picture("form-restored-phone", "light", 360)

	// The session ends.
	endSession()
	b.press("Create check")
	b.until("the sign-in page", `location.pathname === "/app/sign-in"`)
	signIn(email)
	b.shows("What you typed is back.")
	if value("name") != "Cart" || value("config.url") != "https://shop.example.com/cart" {
		t.Errorf("after the sign-in the form has %q, %q", value("name"), value("config.url"))
	}

	// It is saved, and gone from the browser.
	b.enter("config.basic_auth.password", "again")
	b.enter("config.headers[0].value", "again")
	b.press("Create check")
	b.shows("Created.")
	b.visit("/app/checks/new")
	b.until("an empty form", `document.querySelector('[name="config.url"]').value === "" && document.querySelector(".restored") === null`)

	// A pause for a while, and maintenance on days of the week.
	eval[bool](b, `(history.go(-1), true)`)
	b.shows("Until…")
	eval[bool](b, `(document.querySelector(".menu.for-a-while").open = true)`)
	for _, theme := range []string{"light", "dark"} {
		b.picture("check-rest-"+theme, theme, 1440)
	}
	b.picture("check-rest-phone", "light", 360)
	b.press("Mute for 1 hour")
	b.shows("Muted until")
	b.shows("by Ida")
	b.judge("a check that is muted")
	b.picture("check-muted-phone", "dark", 360)
	b.press("Unmute now")
	b.until("no note", `document.querySelector(".maintenance-note") === null`)
	check := strings.TrimPrefix(b.path(), "/app/checks/")
	b.visit("/app/checks/new?from=" + check)
	b.shows("Secrets are not copied. Type again:")
	b.judge("a copy of a check")
	b.picture("form-copy-light", "light", 1440)
	b.picture("form-copy-phone", "dark", 360)
	b.visit("/app/maintenance/new")
	eval[bool](b, `(document.querySelector("#f-repeat").focus(), true)`)
	b.keys("on d")
	b.until("the days are there", `document.querySelector('input[name="day"]').getClientRects().length > 0`)
	b.shows("choose at least one day")
	eval[bool](b, `(document.querySelector('input[name="day"][value="WE"]').click(), true)`)
	b.until("five occurrences", `document.querySelectorAll("#occurs tbody tr").length === 5`)
	b.judge("maintenance on days of the week")
	b.picture("maintenance-days-light", "light", 1024)
	b.picture("maintenance-days-phone", "light", 360)
	b.visit("/app/checks/new")

	// What one user typed is not shown to another one.
	b.enter("name", "Secret plan")
	b.until("it is kept for the user", `Object.values(sessionStorage).some((text) => text.includes("Secret plan"))`)
	endSession()
	b.visit("/app/checks/new")
	signIn("eve@forms.example")
	b.until("the form of another user", `location.pathname === "/app/checks/new" && document.querySelector('[name="name"]').value === ""`)
}
