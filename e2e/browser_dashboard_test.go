// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// dashboard is the platform with a browser that uses it, and what it checks and notifies.
type dashboard struct {
	t        *testing.T
	p        *process
	chromium *chromium
	b        *browser
	api      client // with a key that was made in the browser
	service  *service
	hook     *flakyHook
	keyName  string

	check, incident, delivery string // paths of their pages
}

// flakyHook is a webhook receiver that fails the first two posts after each reset.
type flakyHook struct {
	*httptest.Server
	posts, failed atomic.Int64
}

func newFlakyHook(t *testing.T) *flakyHook {
	t.Helper()
	h := &flakyHook{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h.posts.Add(1)
		if h.failed.Add(1) <= 2 {
			http.Error(w, "upstream connect error", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte(`{"ok":true}`))
	}))
	t.Cleanup(h.Close)
	return h
}

// TestBrowserDashboard uses the dashboard as a person does, from an account to an incident
// that is resolved. The steps are one story, in order.
func TestBrowserDashboard(t *testing.T) {
	timingtest.Parallel(t)
	c := theChromium(t)
	d := &dashboard{t: t, chromium: c, service: newService(t), hook: newFlakyHook(t)}
	d.p = up(t, dataDir(t), "VIGIL_REGIONS=eu-central-fra,na-east-ewr", "VIGIL_SIGNUP_TIER=enterprise", "VIGIL_DELIVERY_SCHEDULE=1s,2s,5s,10m")
	needed := []string{"SignUpWithAMistakeFirst", "KeyIsShownOnce", "ARuleOfACheck", "IncidentOpens"} // by the steps after them
	for _, step := range []struct {
		name string
		run  func()
	}{
		{"FirstRunByThePrintedLink", d.firstRun},
		{"SignUpWithAMistakeFirst", d.signUp},
		{"EmptyPages", d.emptyPages},
		{"KeyIsShownOnce", d.makeKey},
		{"ChannelWithAMistakeFirst", d.makeChannel},
		{"ACheckOfEachType", d.makeChecks},
		{"ARuleOfACheck", d.makeRule},
		{"AFailingCheckIsSeenLive", d.seeItFailLive},
		{"IncidentOpens", d.seeItFail},
		{"AcknowledgeByKeyboard", d.acknowledge},
		{"DeliveryIsRetriedAndDelivered", d.seeDelivery},
		{"Redeliver", d.redeliver},
		{"ResolveWithANote", d.resolve},
		{"WithoutScripts", d.withoutScripts},
		{"BulkPauseByKeyboard", d.bulkPause},
		{"OnAPhone", d.onAPhone},
		{"EveryPage", d.everyPage},
		{"ARevokedKeyIsRefused", d.revokeKey},
		{"SignOutEverywhere", d.signOutEverywhere},
	} {
		done := false
		t.Run(step.name, func(t *testing.T) {
			d.t = t
			if d.b == nil {
				d.b = c.open(d.p.t, d.p.ready.APIURL)
			}
			d.b.t, d.api.t = t, t
			step.run()
			done = true
			for _, problem := range d.b.found() {
				t.Errorf("recorded by the browser on %s: %s", d.b.path(), problem)
			}
		})
		if !done && slices.Contains(needed, step.name) {
			return
		}
	}
}

func (d *dashboard) signUp() {
	b := d.b
	b.visit("/app")
	b.until("the page to sign in", `location.pathname === "/app/sign-in"`)
	b.judge("sign in")
	b.press("Create one")
	b.until("the page to sign up", `location.pathname === "/app/sign-up"`)
	b.judge("sign up")
	b.fill("Your name", "Mara")
	b.fill("Organization", "Harbor")
	b.fill("Email", "mara@harbor.example")
	b.fill("Password", "short")
	b.press("Create the account")
	b.shows("No account made yet.")
	b.axe("sign up with a mistake")
	b.fill("Password", browserPassword)
	b.press("Create the account")
	b.until("the overview", `location.pathname === "/app"`)
	b.shows("Watch your first address")
}

func (d *dashboard) emptyPages() {
	for _, empty := range [][2]string{
		{"/app/incidents", "No incident, ever"},
		{"/app/deliveries", "Nothing was sent yet"},
		{"/app/channels", "No channel yet"},
		{"/app/rules", "No rule yet"},
		{"/app/api-keys", "No API key"},
		{"/app/locations", "No location yet"},
	} {
		d.b.visit(empty[0])
		d.b.shows(empty[1])
		d.b.judge("empty " + empty[0])
	}
}

func (d *dashboard) makeKey() {
	b := d.b
	b.visit("/app/api-keys")
	b.press("New key")
	b.shows("What the key may do")
	b.judge("new key")
	d.keyName = "browser test"
	b.fill("Name", d.keyName)
	b.press("Create key")
	b.shows("It is shown only once")
	b.judge("the key that is shown once")
	key := eval[string](b, `document.querySelector("pre").textContent.trim()`)
	d.api = client{t: d.t, url: d.p.ready.APIURL, key: key}
	d.api.into(nil, http.MethodGet, "/v1/checks", nil)
	b.visit("/app/api-keys")
	if eval[bool](b, `document.documentElement.textContent.includes(`+quote(key)+`)`) {
		d.t.Error("the key is shown again")
	}
}

func (d *dashboard) makeChannel() {
	b := d.b
	b.visit("/app/channels")
	b.press("New channel")
	b.shows("posts each event to a program")
	for _, kind := range []string{"Email", "Push", "Chat", "Pager", "Webhook"} {
		b.press(kind)
		b.until("the fields of "+kind, `document.querySelector('.segment[aria-current]').textContent.trim() === `+quote(kind))
		b.judge("new " + kind)
	}
	b.fill("Name", "ops-webhook")
	b.fill("Address", "ftp://x")
	b.press("Create channel")
	b.shows("Not created yet.")
	b.until("the message stands under the field", `document.querySelector("#f-config-url[aria-invalid=true][aria-describedby]")`)
	b.judge("new channel with a mistake")
	b.fill("Address", d.hook.URL)
	b.press("Create channel")
	b.shows("ops-webhook is created")
	d.hook.failed.Store(0)
	b.stay()
	b.press("Test ops-webhook")
	b.shows("Test failed")
	d.hook.failed.Store(9)
	b.press("Test ops-webhook")
	b.shows("Test delivered in")
	b.stayed("the outcome of a test")
	b.judge("channels")
}

// makeRule creates the check of the story, and its rule by the form.
func (d *dashboard) makeRule() {
	b := d.b
	var made check
	d.api.into(&made, http.MethodPost, "/v1/checks", httpCheck("Checkout API", d.service.URL+"/checkout", 1, "eu-central-fra", "na-east-ewr"))
	d.check = "/app/checks/" + made.ID
	for _, name := range []string{"Ledger API", "Card vault", "Search", "Home page", "Image CDN", "Session service"} {
		address := d.service.URL + "/" + strings.ReplaceAll(strings.ToLower(name), " ", "-")
		d.api.into(nil, http.MethodPost, "/v1/checks", httpCheck(name, address, 3, "eu-central-fra", "na-east-ewr"))
	}
	b.visit(d.check + "/rules")
	b.shows("Without a rule")
	b.judge("no rule")
	b.press("Add rule")
	b.until("the form", `location.pathname.endsWith("/rules/new")`)
	b.judge("new rule")
	b.fill("Name", "Down")
	b.fill("Failures in a row", "many")
	b.press("Create rule")
	b.shows("Not created yet.")
	b.judge("new rule with a mistake")
	b.fill("Failures in a row", "2")
	b.choose("Regions", "more than half of the regions")
	b.press("Create rule")
	b.shows("After 2 failures in a row in more than half of the regions, notify ops-webhook; again when it resolves.")
	b.judge("rules")
	eventually(d.t, "the check is probed", func() bool { return d.service.hits("/checkout") > 2 })
}

// seeItFailLive has the page of the check open while its target begins to fail.
func (d *dashboard) seeItFailLive() {
	b := d.b
	b.visit(d.check)
	b.until("the stream is open", `document.querySelector("#live:not(.lost)")`)
	b.judge("a check")
	b.visit(d.check)
	b.stay()
	d.hook.failed.Store(0)
	d.service.fail("/checkout")
	b.shows("Failing in")
	b.stayed("that the check fails")
}

func (d *dashboard) seeItFail() {
	b := d.b
	var incidents []struct {
		ID string `json:"id"`
	}
	eventually(d.t, "an incident opens", func() bool {
		d.api.into(&incidents, http.MethodGet, "/v1/incidents?status=active", nil)
		return len(incidents) == 1
	})
	d.incident = "/app/incidents/" + incidents[0].ID
	b.visit("/app")
	b.shows("Needs attention")
	b.judge("the overview with a failing check")
	b.picture("overview-light", "light", 1440)
	b.picture("overview-dark", "dark", 1440)
	b.picture("overview-phone", "light", 390)
	for _, width := range widths() {
		b.picture(fmt.Sprintf("widths/overview-%d", width), "light", width)
	}
	b.visit("/app/incidents")
	b.shows("Checkout API is failing")
	b.shows("unacknowledged")
	b.judge("incidents")
	for _, width := range widths() {
		b.picture(fmt.Sprintf("widths/incidents-%d", width), "light", width)
	}
	b.press("Checkout API is failing")
	b.until("the page of the incident", `location.pathname === `+quote(d.incident))
	b.shows("Incident triggered")
	b.shows("votes: failing")
	b.stay()
	b.shows("ops-webhook delivered at attempt 3") // a new line, by the stream
	b.stayed("a new line of the timeline")
	b.judge("an active incident")
}

// acknowledge uses no pointer: from the overview to the incident, and its button.
func (d *dashboard) acknowledge() {
	b := d.b
	b.visit("/app")
	b.keys("gi")
	b.until("the list of incidents", `location.pathname === "/app/incidents" && document.readyState === "complete"`)
	b.keys("j")
	b.until("the row has the focus", `document.activeElement.matches("tr[data-row]")`)
	b.keys(kb.Enter)
	b.until("the page of the incident", `location.pathname === `+quote(d.incident)+` && document.readyState === "complete"`)
	b.keys("a")
	b.shows("Incident acknowledged")
	b.shows("Acknowledged by")
	b.until("it cannot be acknowledged again", `!`+byName+`("Acknowledge")`)
	b.judge("an acknowledged incident")
}

func (d *dashboard) seeDelivery() {
	b := d.b
	var deliveries []struct{ ID, Status string }
	eventually(d.t, "the message is delivered", func() bool {
		d.api.into(&deliveries, http.MethodGet, "/v1/deliveries?status=delivered", nil)
		return len(deliveries) == 1
	})
	d.delivery = "/app/deliveries/" + deliveries[0].ID
	b.visit("/app/deliveries")
	b.judge("deliveries")
	b.press("Checkout API is failing")
	b.until("the page of the delivery", `location.pathname === `+quote(d.delivery))
	b.shows("Delivered at attempt 3")
	b.shows("failed: the receiver answered with status 503")
	b.shows("The first message of this incident to a webhook.")
	b.judge("a delivery")
	b.visit(d.incident)
	b.shows("ops-webhook delivered at attempt 3")
}

func (d *dashboard) redeliver() {
	b := d.b
	before := d.hook.posts.Load()
	b.visit(d.delivery)
	b.press("Redeliver")
	b.shows("One more attempt is made now")
	eventually(d.t, "the receiver gets it again", func() bool { return d.hook.posts.Load() > before })
	eventually(d.t, "the page shows it", func() bool {
		b.visit(d.delivery)
		return strings.Contains(eval[string](b, `document.body.innerText`), "requested by hand")
	})
}

func (d *dashboard) resolve() {
	b := d.b
	b.visit(d.incident)
	b.press("Resolve…")
	b.shows("What it was, for those who read the incident later")
	b.judge("resolve")
	b.fill("Note", "The database was full.")
	b.press("Resolve")
	b.until("back on the incident", `location.pathname === `+quote(d.incident))
	b.shows("Resolved by")
	b.shows("The database was full.")
	b.judge("a resolved incident")
	d.service.repair("/checkout")
}

// withoutScripts writes and deletes a rule in a browser that runs no scripts.
func (d *dashboard) withoutScripts() {
	b := d.b
	b.scripts(false)
	defer b.scripts(true)
	b.visit(d.check + "/rules/new")
	b.do("type", chromedp.SendKeys(chromedp.CSS("#f-name"), " slowly"), chromedp.Submit(chromedp.CSS("form.rule-form")))
	eventually(d.t, "the rule is there", func() bool {
		var rules []struct{ Name string }
		d.api.into(&rules, http.MethodGet, strings.Replace(d.check, "/app/", "/v1/", 1)+"/alerts", nil)
		return len(rules) == 2
	})
	// The answer's page has come before the next step leaves it: its message belongs to it.
	b.until("the rules of the check", `location.pathname.endsWith("/rules") && document.querySelector(".toast")`)
}

// everyPage judges each page once more, with what the story left on them.
func (d *dashboard) everyPage() {
	b := d.b
	loop := d.closedLoop()
	pages := slices.Concat(d.runDrill(loop[0]), d.heartbeatPages(), d.locationPages())
	pages.judge(b)
	for _, page := range append(loop, []string{
		"/app", d.check, d.check + "/edit", "/app/checks/new", "/app/members", "/app/account", d.check + "/rules", d.check + "/rules/new",
		"/app/rules", "/app/incidents", "/app/incidents?status=active", d.incident,
		d.incident + "?show=vote", d.incident + "?show=delivery", "/app/deliveries", "/app/deliveries?status=exhausted", d.delivery,
		"/app/channels", "/app/channels/new?type=pager", "/app/maintenance", "/app/maintenance/new",
		"/app/subscriptions", "/app/subscriptions/new", "/app/drills?verdict=canceled",
		"/app/api-keys", "/app/api-keys/new", "/app/usage", "/app/reports", "/app/audit-log", "/app/organization",
		"/app/audit-log?resource=channel", "/app/help", "/app/more", "/app/wall", "/app/there-is-no-such-page",
	}...) {
		b.visit(page)
		b.judge(page)
	}
	for _, p := range []struct {
		name, page, scheme string
		width              int64
	}{
		{"incident-light", d.incident, "light", 1440},
		{"incident-dark", d.incident, "dark", 1440},
		{"incident-phone", d.incident, "dark", 390},
		{"check-light", d.check, "light", 1440},
		{"wall", "/app/wall", "light", 1920},
		{"delivery-light", d.delivery, "light", 1440},
		{"new-check-light", "/app/checks/new", "light", 1440},
		{"rules-light", d.check + "/rules", "light", 1440},
	} {
		b.visit(p.page)
		b.picture(p.name, p.scheme, p.width)
	}
	d.picturesOfTheLoop(loop)
	pages.pictures(b)
}

func (d *dashboard) revokeKey() {
	b := d.b
	b.visit("/app/api-keys")
	b.press("Revoke… " + d.keyName)
	b.shows("are refused within seconds")
	b.judge("revoke")
	b.press("Revoke")
	b.shows("The key is revoked")
	eventually(d.t, "the key is refused", func() bool {
		a, err := d.api.try(http.MethodGet, "/v1/checks", nil)
		return err == nil && a.Status == http.StatusUnauthorized
	})
}
