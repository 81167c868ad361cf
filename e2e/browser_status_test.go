// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestBrowserStatusPage makes a status page in the dashboard, and follows as the public
// what it shows while a check fails. The steps are one story, in order.
func TestBrowserStatusPage(t *testing.T) {
	timingtest.Parallel(t)
	c, shop := theChromium(t), newService(t)
	p, _ := shared(t)
	const email, password = "mara@harbor.example", "a long password 2"
	var account struct {
		Token string `json:"token"`
	}
	api := client{t: t, url: p.ready.APIURL}
	api.into(&account, http.MethodPost, "/v1/auth/signup",
		map[string]any{"email": email, "password": password, "name": "Mara", "organization_name": "Harbor"})
	api.key = account.Token
	var checkout, mail check
	api.into(&checkout, http.MethodPost, "/v1/checks", httpCheck("checkout prod", shop.URL+"/checkout", 1, "eu-central-fra", "na-east-ewr"))
	api.into(&mail, http.MethodPost, "/v1/checks", httpCheck("mail prod", shop.URL+"/mail", 1, "eu-central-fra"))
	var channel struct{ ID string }
	api.into(&channel, http.MethodPost, "/v1/notification-channels",
		map[string]any{"name": "ops", "type": "webhook", "config": map[string]any{"url": shop.URL + "/hook"}})
	api.into(nil, http.MethodPost, "/v1/checks/"+checkout.ID+"/alerts", map[string]any{
		"name": "down", "condition": map[string]any{"failure_threshold": 2}, "notification_channel_ids": []string{channel.ID},
	})
	eventually(t, "both checks are probed", func() bool { return shop.hits("/checkout") > 2 && shop.hits("/mail") > 0 })

	b := c.open(t, p.ready.APIURL)
	b.visit("/app/sign-in?next=/app/status-pages")
	b.fill("Email", email)
	b.fill("Password", password)
	b.press("Sign in")
	b.shows("No status page yet")
	b.judge("no status page")
	b.press("New status page")
	b.shows("Checks on the page")
	b.judge("a new status page")
	b.fill("Title", "Harbor")
	b.fill("Address", "Not a slug")
	b.fill("Public name of checkout prod", "Checkout")
	b.fill("Group of checkout prod", "Shop")
	b.fill("Public name of mail prod", "Mail")
	b.press("Create status page")
	b.shows("Not created yet.")
	b.judge("a new status page with a mistake")
	b.fill("Address", "harbor")
	b.press("Create status page")
	b.shows("Harbor is created")
	b.judge("a status page")
	b.picture("status-page-form", "light", 1440)
	b.visit("/app/status-pages")
	b.shows("2 services")
	b.judge("status pages")

	public := c.open(t, p.ready.APIURL)
	public.visit("/status/harbor")
	public.shows("Everything works")
	public.judge("a public page on which everything works")
	shop.fail("/checkout")
	var incidents []struct{ ID string }
	eventually(t, "an incident opens", func() bool {
		api.into(&incidents, http.MethodGet, "/v1/incidents?status=active", nil)
		return len(incidents) == 1
	})
	b.visit("/app/incidents/" + incidents[0].ID)
	b.shows("Nothing is published about this incident.")
	b.press("Publish an update")
	b.choose("State", "Identified")
	b.fill("Text", "A database is down. We switch to its copy.")
	b.judge("an incident with the form of an update")
	b.press("Publish")
	b.shows("The update is published")
	b.shows("A database is down.")

	eventually(t, "the public sees it", func() bool {
		public.visit("/status/harbor")
		text := eval[string](public, "document.body.innerText")
		return strings.Contains(text, "Checkout is failing") && strings.Contains(text, "A database is down.")
	})
	public.judge("a public page with an incident")
	text := eval[string](public, "document.documentElement.outerHTML")
	for _, private := range []string{"checkout prod", shop.URL, "eu-central-fra", email, "Internal Server Error", "unexpected status"} {
		if strings.Contains(text, private) {
			t.Errorf("the public page shows %q", private)
		}
	}
	// A day answers to the keys, and its incident is a link in it.
	eval[bool](public, `document.querySelector(".keys").focus() || true`)
	public.until("today answers", `document.activeElement.getAttribute("aria-valuetext").includes("down")`)
	public.keys(kb.ArrowLeft)
	public.until(
		"yesterday answers",
		`document.activeElement.getAttribute("aria-valuenow") === "88" && !document.querySelector(".tip").hidden`,
	)
	public.judge("a public page with a day that answers")
	public.keys(kb.Escape)
	public.until("the day is closed", `document.querySelector(".tip").hidden`)
	public.resize(360, 740)
	eval[bool](public, `(() => {
		const keys = document.querySelector(".keys"), box = keys.getBoundingClientRect();
		keys.dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 1, clientX: box.right - 2, clientY: box.top + 5 }));
		return true;
	})()`)
	public.until("the tapped day answers", `document.querySelector(".tip").innerText.includes("up")`)
	public.judge("a public page with a day that answers, on a phone")
	public.visit("/status/harbor/subscribe")
	public.shows("Subscribe to Harbor")
	public.judge("the form to subscribe")
	public.fill("By mail", "reader@harbor.example")
	public.press("Subscribe")
	public.shows("Look into your mailbox")
	public.judge("the answer to a reader")
	public.visit("/status/harbor")
	for _, theme := range []string{"light", "dark"} {
		public.picture("status-"+theme, theme, 1080)
	}
	public.picture("status-phone", "light", 390)
	public.scripts(false)
	public.visit("/status/harbor")
	public.scripts(true)
	for path, kind := range map[string]string{
		"/status/harbor.json": "application/json", "/status/harbor.atom": "application/atom+xml; charset=utf-8",
		"/badge/" + checkout.ID + ".svg": "image/svg+xml",
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.ready.APIURL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != kind {
			t.Errorf("%s: %d %v", path, res.StatusCode, res.Header)
		}
	}
}
