// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// namesShown are the names of the checks that are seen, in their order.
const namesShown = `[...document.querySelectorAll("tr[data-check] th a[id$=-name]")]
	.filter(e => e.checkVisibility()).map(e => e.textContent).join()`

// roomsAgree compares the headings of the rooms with those of a fresh load.
const roomsAgree = `(async () => {
	const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
	const rooms = within => [...within.querySelectorAll("tr.group")].map(e => e.textContent.replace(/\s+/g, " ").trim()).join("; ");
	return rooms(page) === rooms(document) && rooms(page).includes("ledger");
})()`

// TestBrowserFind finds checks by typing, by labels and in rooms, and does things by the palette. The steps are one story,
// in order.
func TestBrowserFind(t *testing.T) {
	timingtest.Parallel(t)
	c := theChromium(t)
	p, _ := shared(t)
	const email = "mara@find.example"
	l := &livePages{t: t, c: c, base: p.ready.APIURL, email: email, open: map[string]*browser{}}
	l.api = p.signUp(t, email)
	made := map[string]check{}
	for name, labels := range map[string]map[string]string{
		"Backup of the ledger": {"team": "ledger", "tier": "1"}, "Checkout": {"team": "shop", "tier": "1", "env": "production", "os": "linux"},
		"Cart": {"team": "shop"}, "Lonely <script>100%": {},
	} {
		var one check
		l.api.into(&one, http.MethodPost, "/v1/checks", map[string]any{
			"name": name, "type": "heartbeat", "labels": labels, "config": map[string]any{"schedule": map[string]any{"every_seconds": 3600}},
		})
		made[name] = one
	}

	b := l.add("/app")
	l.whileTyping(b)
	l.inRooms(b, made)
	l.byPalette(b)
	b.scripts(false)
	b.visit("/app/find?query=pause+cart")
	b.press("Pause Cart")
	b.shows("1 check paused")
	b.visit("/app?group=label%3Ateam")
	b.press("ledger")
	b.until("a room that is folded without scripts", `!(`+namesShown+`).includes("Backup")`)
	b.scripts(true)
}

// whileTyping searches the list: the field keeps the focus, the address follows, and Back leads back.
func (l *livePages) whileTyping(b *browser) {
	b.t.Helper()
	b.fill("Filter by name, target, label, error or city", "tier=")
	b.until("what has the label", `(`+namesShown+`) === "Backup of the ledger,Checkout"`)
	b.until("the number is said", `document.querySelector("#said").textContent === "2 checks found"`)
	b.keys("2")
	b.until("nothing is found", `document.querySelector("main").innerText.includes("No check matches “tier=2”")`)
	b.keys("\b1")
	b.until("both again", `(`+namesShown+`) === "Backup of the ledger,Checkout"`)
	b.stayed("what was typed")
	if got := eval[string](
		b,
		`[document.activeElement.name, document.activeElement.selectionStart, location.search].join()`,
	); got != "query,6,?query=tier%3D1" {
		b.t.Errorf("focus, caret and address: %s", got)
	}
	l.open = map[string]*browser{"the list of what was typed": b}
	l.agree("a search")
	eval[bool](b, `history.back(), true`)
	b.until("back at the search before", `new URLSearchParams(location.search).get("query") === "tier=2" &&
		document.querySelector("input[name=query]")?.value === "tier=2"`)
	b.visit("/app?query=100%25")
	b.until("a percent sign is one", `(`+namesShown+`) === "Lonely <script>100%"`)
}

// inRooms groups by a label, folds a room, and compares the page with a fresh one while checks change.
func (l *livePages) inRooms(b *browser, made map[string]check) {
	b.t.Helper()
	b.visit("/app")
	b.press("Group: state")
	b.press("label team")
	b.until("rooms", `[...document.querySelectorAll("tr.group .cut")].map(e => e.textContent).join() === "ledger,shop,no team"`)
	b.until("the stream is open", `document.querySelector("#live:not(.lost)")`)
	b.judge("the list in rooms")
	for _, theme := range []string{"light", "dark"} {
		b.picture("rooms-"+theme, theme, 1440)
	}
	for _, width := range []int64{1024, 768, 360} {
		b.picture("rooms-"+map[int64]string{1024: "1024", 768: "768", 360: "phone"}[width], "light", width)
	}
	b.stay()
	b.press("shop")
	b.until("the room is folded", `(`+namesShown+`) === "Backup of the ledger,Lonely <script>100%"`)
	b.stayed("a folded room")
	if focused := eval[string](b, `document.activeElement.getAttribute("aria-expanded")`); focused != "false" {
		b.t.Errorf("the focus is not on the room that was folded: %s", focused)
	}
	l.open = map[string]*browser{"the list in rooms": b}
	l.api.into(nil, http.MethodPut, "/v1/checks/"+made["Cart"].ID, map[string]any{"enabled": false})
	b.until("the folded room counts", `document.querySelector("main").innerText.includes("1 of 2 without a result")`)
	l.agree("a paused check")
	b.until("the rooms of a fresh load", roomsAgree)
	b.visit("/app?group=label%3Ateam")
	b.until("the room stays folded", `(`+namesShown+`) === "Backup of the ledger,Lonely <script>100%"`)
	b.press("shop")
	b.until("the room is open", `(`+namesShown+`).includes("Checkout")`)
	l.api.into(nil, http.MethodPut, "/v1/checks/"+made["Cart"].ID, map[string]any{"enabled": true})
	b.press("tier=1")
	b.until("a chip", `document.querySelector(".chip")?.textContent.includes("tier=1")`)
	b.judge("a list with a chip")
	b.picture("chips", "light", 1440)
	b.clickAt("remove the filter", `document.querySelector(".chip")`)
	b.until("no chip", `!document.querySelector(".chip")`)
	b.visit("/app/checks/" + made["Checkout"].ID)
	b.shows("env=production")
	b.judge("a check with labels")
	b.picture("check-labels", "light", 1440)
}

// byPalette opens the palette by its keys, does something and gives the focus back.
func (l *livePages) byPalette(b *browser) {
	b.t.Helper()
	ctrlK := func() { b.keys("k", chromedp.KeyModifiers(chromedp.ModifierCtrl)) }
	b.visit("/app/incidents")
	eval[bool](b, `document.querySelector("#side .brand").focus(), true`)
	ctrlK()
	b.until("the palette", `document.activeElement.getAttribute("role") === "combobox"`)
	b.until("pages", `document.querySelectorAll("dialog[open] [role=option]").length > 5`)
	b.axe("the palette")
	b.picture("palette-light", "light", 1440)
	b.picture("palette-phone", "light", 360)
	b.keys("\x1b")
	b.until("the focus is back", `!document.querySelector("dialog[open]") && document.activeElement.classList.contains("brand")`)
	ctrlK()
	b.keys("new tc")
	b.until("a type", `document.querySelector('[role=option][aria-selected="true"]')?.textContent.includes("New tcp check")`)
	b.keys("\r")
	b.until("the form of a tcp check", `location.pathname + location.search === "/app/checks/new?type=tcp"`)
	b.visit("/app/incidents")
	ctrlK()
	b.keys("pause checkout\r")
	b.shows("1 check paused")
	b.until("where it was", `location.pathname === "/app/incidents"`)
	b.resize(360, 800)
	b.press("Find")
	b.until("the palette on a phone", `document.querySelector("dialog[open] [role=option]")`)
	b.keys("resume")
	b.keys(" checkout")
	b.until("an action", `document.querySelector('[role=option][aria-selected="true"]')?.textContent.includes("Resume Checkout")`)
	b.until("no wider than the window", `document.documentElement.scrollWidth <= innerWidth`)
	b.picture("palette-phone-resume", "dark", 360)
	b.resize(360, 800)
	b.clickAt("the action", `document.querySelector('[role=option][aria-selected="true"]')`)
	b.shows("1 check resumed")
	b.resize(1440, 900)
	b.visit("/app/find?query=checkout")
	b.judge("the page of what is found")
	b.picture("find", "light", 1440)
	for _, problem := range b.found() {
		b.t.Errorf("the palette: %s", problem)
	}
}
