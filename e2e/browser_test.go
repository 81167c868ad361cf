// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// browserWait bounds each thing that a browser test waits for.
const browserWait = 30 * time.Second

// chromium is one running Chromium. Each browser has cookies of its own in it.
type chromium struct {
	ctx context.Context // chromedp keeps its state in it
}

// findChromium returns the program, or "".
func findChromium() string {
	names := []string{
		"chromium", "chromium-browser", "google-chrome", "chrome-headless-shell",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// startChromium starts a Chromium that reaches only this machine.
func startChromium(ctx context.Context, t *testing.T, path string) (c *chromium, stop func()) {
	t.Helper()
	dir, err := os.MkdirTemp("", "vigil-chromium-")
	if err != nil {
		t.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(dir), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("hide-scrollbars", true),
		// Everything else has no address, so that a request to it fails and is recorded.
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE [::1]"),
	)
	allocator, stopAllocator := chromedp.NewExecAllocator(ctx, options...)
	ctx, closeBrowser := chromedp.NewContext(allocator)
	stop = func() {
		closeBrowser()
		stopAllocator()
		_ = os.RemoveAll(dir)
	}
	if err := chromedp.Do(ctx); err != nil {
		stop()
		t.Fatalf("start %s: %v", path, err)
	}
	return &chromium{ctx: ctx}, stop
}

// browser is one tab with cookies of its own. It records what a page must not do.
type browser struct {
	t    *testing.T
	ctx  context.Context
	base string

	mu       sync.Mutex
	problems []string // errors of the console, violations of the policy, requests to other machines
	asked    []string // every address that a page requested
}

// open returns a tab for the site at base. At the end of the test the recorded problems
// fail it.
func (c *chromium) open(t *testing.T, base string) *browser {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(c.ctx, chromedp.WithNewBrowserContext())
	b := &browser{t: t, ctx: ctx, base: strings.TrimRight(base, "/")}
	t.Cleanup(func() {
		for _, problem := range b.found() {
			t.Errorf("recorded by the browser: %s", problem)
		}
		closeTab()
	})
	if err := chromedp.Listen(ctx, b.record); err != nil {
		t.Fatal(err)
	}
	b.do("record issues", chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, audits.Enable, cdp.Empty{})
		return err
	}))
	b.resize(1440, 900)
	return b
}

// record keeps what a page must not do.
func (b *browser) record(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.asked = append(b.asked, e.Request.URL)
		if !onThisMachine(e.Request.URL) {
			b.problem("a request to another machine: %s", e.Request.URL)
		}
	case *network.EventResponseReceived:
		page := e.Type == network.ResourceTypeDocument || e.Type == network.ResourceTypeXHR || e.Type == network.ResourceTypeFetch
		if e.Response.Status >= 500 || e.Response.Status >= 400 && !page {
			b.problem("%s answered %d", e.Response.URL, e.Response.Status)
		}
	case *runtime.EventExceptionThrown:
		b.problem("an exception: %s %s", e.ExceptionDetails.Text, valueText(e.ExceptionDetails.Exception))
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			var texts []string
			for _, a := range e.Args {
				texts = append(texts, valueText(a))
			}
			if text := strings.Join(texts, " "); !aborted.MatchString(text) {
				b.problem("console %s: %s", e.Type, text)
			}
		}
	case *log.EventEntryAdded:
		// What the network answers is judged above, by its status.
		if e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork {
			b.problem("log: %s %s", e.Entry.Text, e.Entry.URL)
		}
	case *audits.EventIssueAdded:
		if csp := e.Issue.Details.ContentSecurityPolicyIssueDetails; csp != nil {
			b.problem("the content security policy forbids %s %s", csp.ViolatedDirective, csp.BlockedURL)
		}
	}
}

func (b *browser) problem(format string, args ...any) {
	b.problems = append(b.problems, fmt.Sprintf(format, args...))
}

// found returns the problems recorded since the last call.
func (b *browser) found() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	found := b.problems
	b.problems = nil
	return found
}

// onThisMachine reports whether an address is a loopback address or needs no network.
func onThisMachine(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	switch u.Scheme {
	case "data", "blob", "about":
		return true
	}
	switch u.Hostname() {
	case "127.0.0.1", "localhost", "::1":
		return true
	}
	return false
}

// do runs steps within browserWait.
func (b *browser) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserWait)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("%s: %v\non %s", what, err, b.where())
	}
}

// eval runs a script in the page, waits for the promise that it may return, and
// returns its value.
func eval[T any](b *browser, script string) T {
	b.t.Helper()
	value, err := tryEval[T](b, script)
	if err != nil {
		b.t.Fatalf("%.200s: %v", script, err)
	}
	return value
}

func tryEval[T any](b *browser, script string) (T, error) {
	ctx, cancel := context.WithTimeout(b.ctx, browserWait)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
}

// where describes the page, for the report of a failure.
func (b *browser) where() string {
	text, err := tryEval[string](b, `location.href + "\n" + (document.body ? document.body.innerText.slice(0, 1500) : "")`)
	if err != nil {
		return err.Error()
	}
	return text
}

// visit opens a page of the site.
func (b *browser) visit(path string) {
	b.t.Helper()
	address := path
	if strings.HasPrefix(path, "/") {
		address = b.base + path
	}
	b.do("open "+path, chromedp.Navigate(address))
}

// path returns the path and the query of the page.
func (b *browser) path() string { return eval[string](b, `location.pathname + location.search`) }

// until waits until a script returns true.
func (b *browser) until(what, script string) {
	b.t.Helper()
	defer timingtest.Waiting(b.t, what)()
	deadline := time.Now().Add(browserWait)
	for {
		// A page that is just being replaced has no answer.
		if holds, err := tryEval[bool](b, "Boolean("+script+")"); err == nil && holds {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("after %v, this does not hold: %s\n%s\non %s", browserWait, what, script, b.where())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// screenshot returns the picture of the window.
func (b *browser) screenshot() []byte {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserWait)
	defer cancel()
	picture, err := chromedp.Run(ctx, func(ctx context.Context, tab *chromedp.Target) ([]byte, error) {
		r, err := cdp.Call(ctx, tab, page.CaptureScreenshot, page.CaptureScreenshotParams{})
		return r.Data, err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return picture
}

// aborted is what htmx says of a request that a newer one has replaced. One that fails says more.
var aborted = regexp.MustCompile(`^"?htmx:(?:afterRequest|sendAbort), `)
