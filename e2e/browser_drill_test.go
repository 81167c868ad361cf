// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// namedPages are pages by the names of their pictures.
type namedPages [][2]string

// judge has each page withstand what every page must.
func (p namedPages) judge(b *browser) {
	for _, one := range p {
		b.visit(one[1])
		b.judge(one[1])
	}
}

// pictures writes pictures of the pages.
func (p namedPages) pictures(b *browser) {
	for _, one := range p {
		b.visit(one[1])
		for _, width := range []int64{360, 768, 1024, 1440} {
			b.picture(fmt.Sprintf("widths/%s-%d", one[0], width), "light", width)
			b.picture(fmt.Sprintf("widths/%s-dark-%d", one[0], width), "dark", width)
		}
	}
}

// runDrill runs a drill from the page of a channel and reads its receipt, which comes by itself: the
// page says what a fresh load of it says. It returns the pages of drills.
func (d *dashboard) runDrill(channel string) namedPages {
	b, failed := d.b, d.drillOfAGoneReceiver()
	b.visit(channel)
	b.press("Run a drill")
	b.until("the form", `location.pathname === "/app/drills/new"`)
	b.fill("Expected within, seconds", "9")
	// The browser would not send it; the API says it too.
	b.do("send the form as it is", chromedp.Submit(chromedp.CSS("form.drill-form")))
	b.until(
		"the message of the API under its field",
		`document.querySelector("#f-expect_within_seconds[aria-invalid=true][aria-describedby]")`,
	)
	b.axe("a drill with a mistake")
	b.fill("Expected within, seconds", "120")
	b.press("Run the drill")
	b.until("the page of the drill", `/^\/app\/drills\/[0-9a-f-]{36}$/.test(location.pathname) && document.querySelector("#live:not(.lost)")`)
	at := b.path()
	b.stay()
	b.agrees("while the drill runs")
	b.shows("Both messages reached the channel")
	b.agrees("after the drill")
	b.stayed("the receipt")
	b.visit(at)
	if pages := b.print("receipt"); pages < 1 || pages > 2 {
		b.t.Errorf("the receipt has %d pages on paper", pages)
	}
	b.visit(channel)
	b.until("the last drill of the channel", `document.querySelector('.last-drill a[href="`+at+`"]')`)

	var schedule struct{ ID string }
	d.api.into(&schedule, http.MethodPost, "/v1/drill-schedules", object{
		"name": "On call, each month", "channel_ids": []string{strings.TrimPrefix(channel, "/app/channels/")},
		"recurrence": object{"every": "monthly", "day": 1, "hour": 9, "timezone": "Europe/Berlin"},
	})
	eventually(d.t, "the other drill fails", func() bool {
		var now struct{ Verdict string }
		d.api.into(&now, http.MethodGet, strings.Replace(failed, "/app/", "/v1/", 1), nil)
		return now.Verdict == "failed"
	})
	return namedPages{
		{"drill", at},
		{"drills", "/app/drills"},
		{"drill-new", "/app/drills/new?channel_id=" + strings.TrimPrefix(channel, "/app/channels/")},
		{"drill-schedule", "/app/drill-schedules/" + schedule.ID},
		{"drill-schedule-new", "/app/drill-schedules/new"},
		{"drill-failed", failed},
		{"drill-channel", channel},
	}
}

// drillOfAGoneReceiver begins a drill whose receiver refuses it for good, and returns its page.
func (d *dashboard) drillOfAGoneReceiver() string {
	gone := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "This endpoint is gone; ask the team of the shop for another one.", http.StatusGone)
	}))
	d.t.Cleanup(gone.Close)
	var channel, drill struct{ ID string }
	d.api.into(&channel, http.MethodPost, "/v1/notification-channels",
		object{"name": "A receiver that is gone", "type": "webhook", "config": object{"url": gone.URL}})
	d.api.into(&drill, http.MethodPost, "/v1/drills", object{"channel_ids": []string{channel.ID}, "expect_within_seconds": 60})
	return "/app/drills/" + drill.ID
}

// agrees waits until the page says what a fresh load of it says.
func (b *browser) agrees(when string) {
	b.t.Helper()
	for deadline := time.Now().Add(browserWait); ; time.Sleep(200 * time.Millisecond) {
		differ, err := tryEval[string](b, stale)
		if err == nil && differ == "" {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("%s, the page is not what a fresh load of it is: %v %s", when, err, differ)
		}
	}
}

// print returns how many pages the page has on paper, and writes them beside the screenshots.
func (b *browser) print(name string) int {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserWait)
	defer cancel()
	paper, err := chromedp.Run(ctx, func(ctx context.Context, tab *chromedp.Target) ([]byte, error) {
		r, err := cdp.Call(ctx, tab, page.PrintToPDF, page.PrintToPDFParams{})
		return r.Data, err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	if *screenshots != "" {
		if err := os.WriteFile(filepath.Join(*screenshots, name+".pdf"), paper, 0o644); err != nil {
			b.t.Fatal(err)
		}
		b.resize(760, 1400)
		b.media("print")
		if err := os.WriteFile(filepath.Join(*screenshots, name+".png"), b.screenshot(), 0o644); err != nil {
			b.t.Fatal(err)
		}
		b.media("")
		b.resize(1440, 900)
	}
	return len(regexp.MustCompile(`/Type\s*/Page\b[^s]`).FindAll(paper, -1))
}

// media has the page shown as on a medium; empty for the screen.
func (b *browser) media(medium string) {
	b.t.Helper()
	b.do("show it as on "+medium, chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: medium})
		return err
	}))
}
