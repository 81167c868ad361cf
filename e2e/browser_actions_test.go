// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

//go:embed testdata/axe/axe.min.js
var axeSource string

// screenshots is the directory that the browser tests write pictures to.
//
//nolint:gochecknoglobals // a flag
var screenshots = flag.String("screenshots", "", "directory for screenshots of the dashboard; none are taken without it")

// valueText returns the text of a value of the page.
func valueText(o *runtime.RemoteObject) string {
	if o == nil {
		return ""
	}
	return string(o.Value) + o.Description
}

// quote writes a text as a literal of JavaScript.
func quote(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// byName finds the visible link, button or summary with a name, or the field with a
// label: exactly that name first, then one that begins with it. With true, it looks for
// fields only.
const byName = `((name, field) => {
	const clean = s => (s || "").replace(/\s+/g, " ").trim();
	const shown = e => e.checkVisibility({visibilityProperty: true}) && e.getClientRects().length;
	const nameOf = e => {
		if (e.getAttribute("aria-label")) return clean(e.getAttribute("aria-label"));
		if (e.labels && e.labels.length) return clean([...e.labels].map(l => l.innerText).join(" "));
		const copy = e.cloneNode(true);
		copy.querySelectorAll("kbd, svg").forEach(k => k.remove());
		return clean(copy.textContent || e.value);
	};
	const dialog = document.querySelector("dialog[open]");
	const fields = "input, select, textarea";
	const all = [...(dialog || document).querySelectorAll(field ? fields : fields + ", button, a[href], summary, [role=button]")]
		.filter(e => e.type !== "hidden" && !e.closest("[aria-hidden=true]"))
		.filter(e => shown(e) || e.labels && [...e.labels].some(shown));
	return all.find(e => nameOf(e) === name) || all.find(e => nameOf(e).startsWith(name)) || null;
})`

// press clicks the middle of the link, button or field with a name, as a mouse does.
func (b *browser) press(name string) {
	b.t.Helper()
	b.clickAt("press "+name, byName+"("+quote(name)+")")
}

func (b *browser) clickAt(what, element string) {
	b.t.Helper()
	b.until(what, element)
	at := eval[[]float64](b, `(e => {
		const target = e.getClientRects().length && getComputedStyle(e).opacity !== "0" ? e : (e.labels && e.labels[0]) || e;
		target.scrollIntoView({block: "center", behavior: "instant"});
		const r = target.getBoundingClientRect();
		return [r.x + r.width / 2, r.y + r.height / 2];
	})(`+element+`)`)
	b.do(what, chromedp.MouseClickXY(at[0], at[1]))
}

// fill replaces the text of the field with a label by typing.
func (b *browser) fill(label, text string) {
	b.t.Helper()
	field := byName + "(" + quote(label) + ", true)"
	b.until("a field "+label, field)
	eval[bool](b, `(e => { e.scrollIntoView({block: "center"}); e.focus(); if (e.select) e.select(); return true })(`+field+`)`)
	b.do("clear "+label, chromedp.KeyEvent("\b"))
	b.do("type into "+label, chromedp.KeyEvent(text))
}

// enter types into the field with a name of the API, or chooses its option.
func (b *browser) enter(name, text string) {
	b.t.Helper()
	field := "document.querySelector(" + quote("main [name="+quote(name)+"]") + ")"
	b.until("a field "+name, field)
	typed := eval[bool](b, `((e, text) => {
		for (let d = e.closest("details:not([open])"); d; d = d.parentElement.closest("details:not([open])")) d.open = true;
		e.scrollIntoView({block: "center"});
		if (e.tagName !== "SELECT") { e.focus(); e.select(); return true; }
		e.value = text;
		e.dispatchEvent(new Event("change", {bubbles: true}));
		return false;
	})(`+field+`, `+quote(text)+`)`)
	if typed {
		b.do("clear "+name, chromedp.KeyEvent("\b"))
		b.do("type into "+name, chromedp.KeyEvent(text))
	}
}

// stay marks the page, so that stayed can say whether it was loaded again.
func (b *browser) stay() {
	b.t.Helper()
	eval[bool](b, `window.stayed = true`)
}

// stayed fails the test when the page was loaded again since stay.
func (b *browser) stayed(what string) {
	b.t.Helper()
	if !eval[bool](b, `window.stayed === true`) {
		b.t.Errorf("the page was loaded again to show %s", what)
	}
}

// choose selects the option of a select by its text or its value.
func (b *browser) choose(label, option string) {
	b.t.Helper()
	field := byName + "(" + quote(label) + ", true)"
	b.until("a select "+label, field)
	found := eval[bool](b, `((e, option) => {
		const o = [...e.options].find(o => o.text.trim() === option || o.value === option);
		if (!o) return false;
		e.value = o.value;
		e.dispatchEvent(new Event("input", {bubbles: true}));
		e.dispatchEvent(new Event("change", {bubbles: true}));
		return true;
	})(`+field+`, `+quote(option)+`)`)
	if !found {
		b.t.Fatalf("the select %q has no option %q", label, option)
	}
}

// keys presses keys, as a person does who has no mouse.
func (b *browser) keys(keys string, options ...chromedp.KeyOption) {
	b.t.Helper()
	b.do("press keys", chromedp.KeyEvent(keys, options...))
}

// shows waits until the page shows a text.
func (b *browser) shows(text string) {
	b.t.Helper()
	b.until("the page shows "+text,
		`document.body.innerText.replace(/\s+/g, " ").toLowerCase().includes(`+quote(strings.ToLower(text))+`)`)
}

// resize sets the size of the window, in CSS pixels.
func (b *browser) resize(width, height int64, options ...chromedp.EmulateViewportOption) {
	b.t.Helper()
	b.do("resize", chromedp.EmulateViewport(width, height, options...))
}

// theme sets what the system prefers: light or dark.
func (b *browser) theme(scheme string) {
	b.t.Helper()
	b.do("set the theme", chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: scheme},
				{Name: "prefers-reduced-motion", Value: "reduce"},
			},
		})
		return err
	}))
}

// scripts switches the scripts of the pages that are opened next on or off.
func (b *browser) scripts(on bool) {
	b.t.Helper()
	b.do("switch scripts", chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
		return err
	}))
}

// violation is one finding of axe.
type violation struct {
	ID    string   `json:"id"`
	Help  string   `json:"help"`
	Nodes []string `json:"nodes"`
}

// axe judges the page in both themes.
func (b *browser) axe(what string) {
	b.t.Helper()
	eval[bool](b, axeSource+";true")
	for _, scheme := range []string{"light", "dark"} {
		b.theme(scheme)
		found := eval[[]violation](b, `axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations.map(v => ({
			id: v.id, help: v.help,
			nodes: v.nodes.slice(0, 4).map(n => n.html.slice(0, 200) + " :: " + (n.failureSummary || "").replace(/\s+/g, " ").slice(0, 300)),
		})))`)
		for _, v := range found {
			b.t.Errorf("axe on %s, %s: %s: %s\n\t%s", what, scheme, v.ID, v.Help, strings.Join(v.Nodes, "\n\t"))
		}
	}
	b.theme("light")
}

// widths of windows: of a phone, just beyond what counts as one, of tablets, of half a screen, and of
// a screen.
func widths() []int64 { return []int64{360, 721, 768, 961, 1024, 1141, 1240, 1321, 1440} }

// Widths in pixels that the names in a list keep, on a phone and on everything else.
const leastNameOfAPhone, leastName = 120, 200

// tooWide are the parts of a page that end beyond the window, when the page does.
const tooWide = `(() => {
	const most = document.documentElement.clientWidth;
	if (document.documentElement.scrollWidth <= most) return [];
	return [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > most + 1)
		.slice(-6).map(e => e.outerHTML.slice(0, 120) + " ends at " + Math.round(e.getBoundingClientRect().right));
})()`

// fits fails the test when the page is wider than the window at one of the widths, or the names of a
// list are narrower than leastName.
func (b *browser) fits(what string) {
	b.t.Helper()
	for _, width := range widths() {
		b.resize(width, 800)
		// Charts take their width from their place in a later frame.
		var wide []string
		for deadline := time.Now().Add(browserWait); ; time.Sleep(50 * time.Millisecond) {
			wide = eval[[]string](b, tooWide)
			if len(wide) == 0 || time.Now().After(deadline) {
				break
			}
		}
		if len(wide) > 0 {
			b.t.Errorf("%s is wider than %d px:\n\t%s", what, width, strings.Join(wide, "\n\t"))
		}
		least := leastName
		if width < 721 {
			least = leastNameOfAPhone
		}
		narrow := eval[[]string](b, `[...document.querySelectorAll(":is(.checks, .rows, .member-table, .loops) tbody th[scope=row]")]
			.filter(e => e.checkVisibility() && e.getBoundingClientRect().width < `+strconv.Itoa(least)+`)
			.slice(0, 3).map(e => e.textContent.trim().slice(0, 60) + " has " + Math.round(e.getBoundingClientRect().width) + " px")`)
		if len(narrow) > 0 {
			b.t.Errorf("names on %s are narrow at %d px:\n\t%s", what, width, strings.Join(narrow, "\n\t"))
		}
	}
	b.resize(1440, 900)
}

// layoutShifts names each shift of the layout that no input caused, and the parts of the page that moved.
const layoutShifts = `new Promise(done => {
	const shifts = [];
	const box = r => [r.x, r.y, r.width, r.height].map(Math.round).join(" ");
	const moved = s => (s.node ? (s.node.outerHTML || s.node.textContent).slice(0, 120) : "a part that is gone") +
		" from " + box(s.previousRect) + " to " + box(s.currentRect);
	new PerformanceObserver(list => {
		for (const entry of list.getEntries()) if (!entry.hadRecentInput)
			shifts.push(entry.value.toFixed(4) + " after " + Math.round(entry.startTime) + " ms: " + entry.sources.map(moved).join("; "));
	}).observe({type: "layout-shift", buffered: true});
	setTimeout(() => done(shifts), 50);
})`

// judge is what every page must withstand.
func (b *browser) judge(what string) {
	b.t.Helper()
	b.until("no request under way, which dims what it will replace", `!document.querySelector(".htmx-request")`)
	if shifts := eval[[]string](b, layoutShifts); len(shifts) > 0 {
		b.t.Errorf("%s: the layout moved after it was shown:\n\t%s", what, strings.Join(shifts, "\n\t"))
	}
	b.axe(what)
	b.fits(what)
	for _, problem := range b.found() {
		b.t.Errorf("%s: %s", what, problem)
	}
}

// picture writes a screenshot when the tests were started with -screenshots.
func (b *browser) picture(name, scheme string, width int64) {
	b.t.Helper()
	if *screenshots == "" {
		return
	}
	b.theme(scheme)
	height := int64(900)
	if width < 720 {
		height = 844
	}
	b.resize(width, height, chromedp.EmulateScale(1.5))
	file := filepath.Join(*screenshots, name+".png")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(file, b.screenshot(), 0o644); err != nil {
		b.t.Fatal(err)
	}
	b.theme("light")
	b.resize(1440, 900)
}

// TestBrowserRecordsProblems shows that what a page must not do is found.
func TestBrowserRecordsProblems(t *testing.T) {
	timingtest.Parallel(t)
	c := theChromium(t)
	serve := func(body string) string {
		site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/" && r.URL.Path != "/favicon.ico" {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Content-Security-Policy", "default-src 'none'; img-src *; script-src 'unsafe-inline'")
			_, _ = fmt.Fprint(w, `<!doctype html><html lang="en"><title>A page</title><body>`+body)
		}))
		t.Cleanup(site.Close)
		return site.URL
	}
	for _, test := range []struct{ name, body, want string }{
		{"Nothing", `<main><h1>Fine</h1></main>`, ""},
		{
			"AnotherMachine", `<main><h1>One</h1><img alt="" src="http://elsewhere.test/a.png"></main>`,
			"another machine: http://elsewhere.test/a.png",
		},
		{"AMissingFile", `<main><h1>One</h1><img alt="" src="/gone.png"></main>`, "answered 404"},
		{"APolicyViolation", `<main><h1>One</h1><p style="color: red">red</p></main>`, "policy forbids style-src-attr"},
		{"AConsoleError", `<main><h1>One</h1></main><script>console.error("broken")</script>`, `console error: "broken"`},
		{"AnException", `<main><h1>One</h1></main><script>null.x</script>`, "an exception"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := c.open(t, serve(test.body))
			b.visit("/")
			var found []string
			eventually(t, "the problem is recorded", func() bool {
				found = append(found, b.found()...)
				return test.want == "" || strings.Contains(strings.Join(found, "\n"), test.want)
			})
			if test.want == "" && len(found) > 0 {
				t.Errorf("recorded %v", found)
			}
		})
	}
}

// signUp makes an account with browserPassword, and an organization of its own, and returns a client of it.
func (p *process) signUp(t *testing.T, email string) client {
	t.Helper()
	var account struct{ Token string }
	c := client{t: t, url: p.ready.APIURL}
	c.into(&account, http.MethodPost, "/v1/auth/signup",
		map[string]any{"email": email, "password": browserPassword, "name": "Mara", "organization_name": "Harbor"})
	c.key = account.Token
	return c
}
