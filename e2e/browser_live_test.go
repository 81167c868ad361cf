// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// factsOf returns the facts of a page: its title, its navigation and its text, with the rows of
// the overview by themselves, since they stay where they are while it is open. Left out is what
// the browser keeps up to date by itself, and what a script or the user put there.
const factsOf = `(page => {
	const clean = e => e ? e.textContent.replace(/\s+/g, " ").trim() : "";
	const copy = page.cloneNode(true);
	copy.querySelectorAll("[data-own], #tested, #moved, .bulk, .toasts, .loop .t3, tr.gone, script").forEach(e => e.remove());
	copy.querySelectorAll("time[data-age], time[data-countdown]").forEach(e => { e.textContent = "…"; });
	const facts = { title: clean(page.querySelector("title")), side: clean(copy.querySelector(".side")) };
	for (const row of copy.querySelectorAll("tr[data-check]")) facts[row.id] = clean(row);
	copy.querySelectorAll(".checks").forEach(e => e.remove());
	return { ...facts, main: clean(copy.querySelector("main")) };
})`

// stale returns what a page says that a fresh load of it does not say, and the other way round.
const stale = `(async (was) => {
	const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
	const fresh = ` + factsOf + `(new DOMParser().parseFromString(await answer.text(), "text/html"));
	const shown = ` + factsOf + `(document);
	return Object.keys({ ...fresh, ...shown }).filter(name => shown[name] !== fresh[name])
		.filter(name => !(name.startsWith("c-") && !(name in shown))) // a new row: the page says how many there are
		.map(name => name + "\n\tshown: " + shown[name] + "\n\tfresh: " + fresh[name]).join("\n");
})()`

// livePages are pages that are open all the time, each in a browser of its own.
type livePages struct {
	t     *testing.T
	api   client
	c     *chromium
	base  string
	email string
	open  map[string]*browser
}

// add opens a page and waits until its stream is open.
func (l *livePages) add(path string) *browser {
	l.t.Helper()
	b := l.c.open(l.t, l.base)
	b.visit("/app/sign-in?next=" + path)
	b.fill("Email", l.email)
	b.fill("Password", browserPassword)
	b.press("Sign in")
	b.until("the page "+path, `location.pathname === `+quote(path)+` && document.readyState === "complete"`)
	b.until("the stream is open", `document.querySelector("#live:not(.lost)")`)
	b.stay()
	l.open[path] = b
	return b
}

// agree waits until each page says what a fresh load of it says. The bound is that of a busy
// machine: a page is up to date within five seconds.
func (l *livePages) agree(after string) {
	l.t.Helper()
	for path, b := range l.open {
		func() {
			defer timingtest.Waiting(l.t, path+" after "+after)()
			for deadline := time.Now().Add(browserWait); ; {
				differ, err := tryEval[string](b, stale)
				if err == nil && differ == "" {
					break
				}
				if time.Now().After(deadline) {
					l.t.Fatalf("after %s, %s is not what a fresh load of it is: %v %s", after, path, err, differ)
				}
				time.Sleep(200 * time.Millisecond)
			}
			b.stayed("what changed after " + after)
		}()
	}
}

// TestBrowserLive changes each fact behind the pages that say that they are live, and compares
// each page that has been open all the time with a fresh load of it. The steps are one story.
func TestBrowserLive(t *testing.T) {
	timingtest.Parallel(t)
	c, shop, hook := theChromium(t), newService(t), newFlakyHook(t)
	p, _ := shared(t)
	l := &livePages{t: t, c: c, base: p.ready.APIURL, email: "live@harbor.example", open: map[string]*browser{}}
	l.api = p.signUp(t, l.email)

	// What no check is needed for.
	overview, incidents, deliveries := l.add("/app"), l.add("/app/incidents"), l.add("/app/deliveries")
	var made check
	l.api.into(&made, http.MethodPost, "/v1/checks", httpCheck("Checkout", shop.URL+"/checkout", 10, "eu-central-fra"))
	path := "/v1/checks/" + made.ID
	overview.shows("1 check is new while you read")
	overview.press("Show")
	overview.until("the overview has a row", `document.querySelector("tr[data-check]") && document.querySelector("#live:not(.lost)")`)
	overview.stay()
	page := l.add("/app/checks/" + made.ID)
	eventually(t, "the check is probed", func() bool { return shop.hits("/checkout") > 0 })
	l.agree("the first result")

	// What people change elsewhere.
	var second check
	l.api.into(&second, http.MethodPost, "/v1/checks", httpCheck("Search", shop.URL+"/search", 10, "eu-central-fra"))
	overview.shows("1 check is new while you read")
	l.agree("a check that is made")
	l.api.into(nil, http.MethodPut, path, map[string]any{"name": "Checkout API", "interval_seconds": 12})
	l.agree("another name")
	var channel, rule struct{ ID string }
	l.api.into(&channel, http.MethodPost, "/v1/notification-channels",
		map[string]any{"name": "ops", "type": "webhook", "config": map[string]any{"url": hook.URL}})
	l.api.into(&rule, http.MethodPost, path+"/alerts", map[string]any{
		"name": "down", "notify_on": "both", "condition": map[string]any{"failure_threshold": 1},
		"notification_channel_ids": []string{channel.ID},
	})
	l.agree("a rule that is made")
	l.api.into(nil, http.MethodPut, "/v1/notification-channels/"+channel.ID, map[string]any{"name": "on-call"})
	l.agree("another name of a channel")
	l.api.into(nil, http.MethodPut, path, map[string]any{"enabled": false})
	page.shows("Paused")
	l.agree("a pause")
	l.api.into(nil, http.MethodPut, path, map[string]any{"enabled": true})
	l.agree("its end")
	var window struct{ ID string }
	l.api.into(&window, http.MethodPost, "/v1/maintenance-windows", map[string]any{
		"name": "A new database", "duration_seconds": 3600,
		"scope":     map[string]any{"check_ids": []string{second.ID, made.ID}},
		"starts_at": time.Now().UTC().Add(2 * time.Second).Format("2006-01-02T15:04:05"), "timezone": "UTC",
	})
	page.shows("In maintenance")
	l.agree("the beginning of maintenance")
	l.api.into(nil, http.MethodPost, "/v1/maintenance-windows/"+window.ID+"/end", nil)
	l.agree("its end")

	// An incident, from its beginning to the message that it is over.
	hook.failed.Store(0)
	shop.fail("/checkout")
	var active []struct{ ID string }
	eventually(t, "an incident opens", func() bool {
		l.api.into(&active, http.MethodGet, "/v1/incidents?status=active", nil)
		return len(active) == 1
	})
	incident := l.add("/app/incidents/" + active[0].ID)
	page.shows("is failing")
	incidents.shows("unacknowledged")
	overview.shows("unacknowledged")
	incident.shows("on-call delivered at attempt 3")
	l.agree("an incident")
	l.ages(overview, page, incident, incidents)
	l.api.act(nil, active[0].ID, "acknowledge", nil)
	incidents.shows("has it")
	l.agree("an acknowledgment")
	l.api.into(
		nil,
		http.MethodPost,
		"/v1/incidents/"+active[0].ID+"/updates",
		map[string]any{"state": "identified", "text": "A database is down."},
	)
	incident.shows("A database is down.")
	l.agree("a public update")
	l.api.into(nil, http.MethodPut, path+"/alerts/"+rule.ID, map[string]any{"name": "unreachable"})
	l.agree("another name of a rule")
	shop.repair("/checkout")
	incident.shows("Resolved by itself")
	deliveries.shows("resolved")
	l.agree("a recovery")
	for _, b := range []*browser{page, incident} {
		if eval[bool](b, `Boolean(`+byName+`("Acknowledge") || `+byName+`("Resolve…"))`) {
			t.Errorf("%s offers to act on an incident that is over", b.path())
		}
	}
	l.api.into(nil, http.MethodDelete, path+"/alerts/"+rule.ID, nil)
	l.agree("a rule that is deleted")

	// A check that is deleted: its row says so, and its page is that of what is not there.
	l.api.into(nil, http.MethodDelete, path, nil)
	delete(l.open, "/app/checks/"+made.ID)
	delete(l.open, "/app/incidents/"+active[0].ID)
	page.shows("There is no check at this address.")
	incident.shows("Not found")
	overview.until("the row says that its check is deleted", `document.querySelector("tr.gone .why")?.textContent === "Deleted"`)
	overview.shows("1 check is deleted while you read")
	l.agree("a check that is deleted")
	overview.press("Show")
	overview.until("the deleted check has no row", `!document.querySelector("#c-`+made.ID+`") && document.querySelector("tr[data-check]")`)
}

// ages waits until the age of an open incident goes on, without anything that is sent.
func (l *livePages) ages(pages ...*browser) {
	l.t.Helper()
	for _, b := range pages {
		age := `[...document.querySelectorAll("main time[data-age]")].map(e => e.textContent).join()`
		before := eval[string](b, age)
		b.until("the ages go on", age+" !== "+quote(before))
	}
}
