// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
)

// What the overview of 1,000 checks may cost: docs/benchmarks.md.
const (
	restChecks    = 1000
	mostFirstByte = 50 * time.Millisecond
	mostOfACore   = 0.05
)

// spent returns the CPU time of the process that draws the page, and the present of its clock, in seconds.
func (b *browser) spent() (cpu, now float64) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserWait)
	defer cancel()
	metrics, err := chromedp.Run(ctx, func(ctx context.Context, tab *chromedp.Target) ([]*performance.Metric, error) {
		r, err := cdp.Call(ctx, tab, performance.GetMetrics, cdp.Empty{})
		return r.Metrics, err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	found := 0
	for _, one := range metrics {
		switch one.Name {
		case "ProcessTime":
			cpu, found = one.Value, found+1
		case "Timestamp":
			now, found = one.Value, found+1
		}
	}
	if found != 2 {
		b.t.Fatalf("the browser has the metrics %v", metrics)
	}
	return cpu, now
}

// makePages makes checks of an address each minute, four at a time.
func (c client) makePages(checks int, address string) {
	c.t.Helper()
	var makers sync.WaitGroup
	for n := range 4 {
		makers.Go(func() {
			for k := range checks / 4 {
				name := fmt.Sprintf("Page %d", n*checks/4+k)
				c.into(nil, http.MethodPost, "/v1/checks", httpCheck(name, address, 60, "eu-central-fra"))
			}
		})
	}
	makers.Wait()
}

// TestBrowserAtRest measures the overview of 1,000 checks in a browser: how soon its first byte is there, and what it
// costs the browser while it is live. It is a measurement: a calm machine, VIGIL_DRILL=full and -v.
func TestBrowserAtRest(t *testing.T) {
	if !full() {
		t.Skip("a measurement: VIGIL_DRILL=full go test -v -count=1 -run 'TestBrowserAtRest$' ./e2e/")
	}
	c, shop := theChromium(t), newService(t)
	p := up(t, dataDir(t), "VIGIL_REGIONS=eu-central-fra", "VIGIL_SIGNUP_TIER=enterprise")
	const email = "rest@harbor.example"
	api := p.signUp(t, email)
	api.makePages(restChecks, shop.URL+"/page")
	eventuallyWithin(t, 3*time.Minute, "every check has had its turn twice", func() bool { return shop.hits("/page") >= 2*restChecks })

	b := c.open(t, p.ready.APIURL)
	b.visit("/app/sign-in?next=/app")
	b.fill("Email", email)
	b.fill("Password", browserPassword)
	b.press("Sign in")
	b.until("the list is there", `location.pathname === "/app" && document.querySelector("#live")`)
	var first []time.Duration
	for range 40 {
		b.visit("/app")
		ms := eval[float64](b, `(() => { const n = performance.getEntriesByType("navigation")[0]; return n.responseStart - n.requestStart; })()`)
		first = append(first, time.Duration(ms*float64(time.Millisecond)))
	}
	slices.Sort(first)
	elements := eval[int](b, `document.querySelectorAll("*").length`)
	b.until("the stream is open", `document.querySelector("#live:not(.lost)")`)
	b.do("count", chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, performance.Enable, performance.EnableParams{})
		return err
	}))
	cpu, began := b.spent()
	used, now := cpu, began
	for now-began < 60 {
		eval[bool](b, `new Promise(done => setTimeout(() => done(true), 5000))`)
		used, now = b.spent()
	}
	share := (used - cpu) / (now - began)
	median, slow := first[len(first)/2], first[len(first)*95/100]
	t.Logf("%d checks: first byte p50 %v, p95 %v of %d loads; %d elements; live, the page takes %.1f %% of a core in %.0f s",
		restChecks, median.Round(100*time.Microsecond), slow.Round(100*time.Microsecond), len(first), elements, 100*share, now-began)
	if median >= mostFirstByte {
		t.Errorf("the first byte takes %v, it may take %v", median, mostFirstByte)
	}
	if share >= mostOfACore {
		t.Errorf("the page takes %.1f %% of a core, it may take %.0f %%", 100*share, 100*mostOfACore)
	}
}
