// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// place returns where a share of the width of the chart is in the window.
func (b *browser) place(share float64) (x, y float64) {
	b.t.Helper()
	b.until("the chart is drawn", `document.querySelector("#chart .u-over")`)
	box := eval[[]float64](b, `(() => {
		document.querySelector("#chart").scrollIntoView({block: "center"});
		const box = document.querySelector("#chart .u-over").getBoundingClientRect();
		return [box.left, box.width, box.top + box.height / 2];
	})()`)
	return box[0] + share*box[1], box[2]
}

// drag moves the mouse over the chart with its button pressed.
func (b *browser) drag(from, to float64) {
	b.t.Helper()
	a, y := b.place(from)
	z, _ := b.place(to)
	left := func(p *input.DispatchMouseEventParams) {
		p.Button, p.Buttons, p.ClickCount = input.MouseButtonLeft, 1, 1
	}
	b.do("drag",
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, a, y),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, a, y, left),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, (a+z)/2, y, left),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, z, y, left),
		chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, z, y, left))
}

// hover moves the mouse over the chart, and reads what it says there.
func (b *browser) hover(share float64) string {
	b.t.Helper()
	x, y := b.place(share)
	b.do("hover", chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y))
	b.until("the chart is read", chartRead)
	return eval[string](b, chartRead)
}

const (
	chartRead  = `document.querySelector("#chart-read").innerText.replace(/\s+/g, " ")`
	chartSteps = `JSON.parse(document.querySelector("#chart").dataset.chart)`
)

// TestBrowserChart holds the chart of a check: by mouse, by finger, by keys and without scripts. The steps are one
// story, in order.
func TestBrowserChart(t *testing.T) {
	timingtest.Parallel(t)
	c, shop := theChromium(t), newService(t)
	p, _ := shared(t)
	const email = "chart@harbor.example"
	api := p.signUp(t, email)
	var made check
	api.into(&made, http.MethodPost, "/v1/checks", httpCheck("Checkout", shop.URL+"/checkout", 1, "eu-central-fra", "na-east-ewr"))
	path := "/app/checks/" + made.ID
	b := c.open(t, p.ready.APIURL)
	b.visit("/app/sign-in?next=" + path)
	b.fill("Email", email)
	b.fill("Password", browserPassword)
	b.press("Sign in")
	b.shows("Response time")
	b.until("the first results are in the chart", `document.querySelector("#chart .u-over")`)
	b.stay()
	first := eval[string](b, `document.querySelector("#chart").dataset.chart`)
	b.until("the chart grows while it is live", `document.querySelector("#chart").dataset.chart !== `+quote(first))
	b.stayed("new results")

	// An hour before, with a gap, a failure, and a minute that is slow.
	db := openDatabase(t, common.dsn(t))
	_, err := db.ExecContext(t.Context(), `
		INSERT INTO results (check_id, region, slot, id, time, manual, success, response_time_ms, status_code)
		SELECT check_id, region, first - n * interval '1 second', gen_random_uuid(), first - n * interval '1 second', false,
			n NOT BETWEEN 1500 AND 1530,
			CASE WHEN region = 'na-east-ewr' THEN 110 ELSE 60 END + n % 7 + CASE WHEN n BETWEEN 600 AND 660 THEN 2000 ELSE 0 END, 200
		FROM (SELECT region, min(slot) AS first, check_id FROM results WHERE check_id = $1 GROUP BY region, check_id) AS known,
			generate_series(1, 3000) AS n WHERE n NOT BETWEEN 1800 AND 2100`, made.ID)
	if err != nil {
		t.Fatal(err)
	}
	var channel struct{ ID string }
	api.into(&channel, http.MethodPost, "/v1/notification-channels",
		map[string]any{"name": "ops", "type": "webhook", "config": map[string]any{"url": shop.URL + "/hook"}})
	api.into(nil, http.MethodPost, "/v1/checks/"+made.ID+"/alerts", map[string]any{
		"name": "down", "condition": map[string]any{"failure_threshold": 2}, "notification_channel_ids": []string{channel.ID},
	})
	shop.fail("/checkout")
	var incidents []struct{ ID string }
	eventually(t, "an incident opens", func() bool {
		api.into(&incidents, http.MethodGet, "/v1/incidents?check_id="+made.ID, nil)
		return len(incidents) > 0
	})
	shop.repair("/checkout")
	incident := "/app/incidents/" + incidents[0].ID
	eventually(t, "the incident is over", func() bool {
		api.into(&incidents, http.MethodGet, "/v1/incidents?status=resolved&check_id="+made.ID, nil)
		return len(incidents) > 0
	})
	api.into(nil, http.MethodPut, "/v1/checks/"+made.ID, map[string]any{"enabled": false}) // what is read below stays

	b.visit(path + "?period=1h")
	b.until("the axis has its unit", `document.querySelector("#chart canvas")`)
	if read := b.hover(0.75); !strings.Contains(read, "Frankfurt") || !strings.Contains(read, " ms") {
		t.Errorf("the crosshair says %q", read)
	}
	if read := b.hover(0.45); !strings.Contains(read, "no result") {
		t.Errorf("in a gap the crosshair says %q", read)
	}
	if read := b.hover(0.575); !strings.Contains(read, "failed") {
		t.Errorf("at failures the crosshair says %q", read)
	}
	b.judge("a chart")

	// A drag shows the time in its single results; the address has it.
	step := eval[int](b, chartSteps+`.step`)
	b.stay()
	b.drag(0.70, 0.76)
	b.until("the address has the time", `/from=.*&.*to=|to=.*&.*from=|from=/.test(location.search) && document.querySelector("#chart-reset")`)
	zoomed := b.path()
	b.until("the chart shows single results", chartSteps+`.step === 1`)
	if step <= 1 {
		t.Errorf("an hour has steps of %d s", step)
	}
	b.stayed("another time")
	b.agrees("zoomed")
	eval[bool](b, `(history.back(), true)`)
	b.until("going back shows the hour", chartSteps+`.step === `+strconv.Itoa(step))
	b.visit(zoomed)
	b.until("the address is the chart", chartSteps+`.step === 1`)
	b.judge("a chart that is zoomed")
	b.press("Show the last 1 h")
	b.until("the button resets it", chartSteps+`.step === `+strconv.Itoa(step)+` && !location.search.includes("from=")`)
	b.drag(0.70, 0.76)
	b.until("the chart is zoomed again", `document.querySelector("#chart-reset")`)
	x, y := b.place(0.5)
	b.do("click twice", chromedp.MouseClickXY(x, y, func(p *input.DispatchMouseEventParams) { p.ClickCount = 2 }))
	b.until("two clicks reset it", `!document.querySelector("#chart-reset")`)

	// Keys: they read it aloud, choose a time and go back.
	eval[bool](b, `(document.querySelector("#chart").focus(), true)`)
	b.keys(kb.ArrowLeft)
	b.keys(kb.ArrowLeft)
	b.until("what is read is spoken", `document.querySelector("#said").textContent.includes("Frankfurt")`)
	said := eval[string](b, `document.querySelector("#said").textContent`)
	b.keys(kb.ArrowLeft)
	b.until("the next one is spoken", `document.querySelector("#said").textContent !== `+quote(said))
	b.keys(kb.End)
	b.keys(kb.PageUp)
	for range 3 {
		b.keys(kb.ArrowLeft, chromedp.KeyModifiers(kb.ModifierShift))
	}
	b.keys(kb.Enter)
	b.until("keys zoom", `location.search.includes("from=") && document.querySelector("#chart-reset")`)
	b.until("the chart keeps the focus", `document.activeElement.id === "chart"`)
	b.keys(kb.Escape)
	b.until("Escape resets it", `!location.search.includes("from=")`)

	// A finger reads it.
	x, y = b.place(0.75)
	touch := func(kind input.DispatchTouchEventType, points ...*input.TouchPoint) chromedp.Action[chromedp.Void] {
		return chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
			_, err := cdp.Call(ctx, tab, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: kind, TouchPoints: points})
			return err
		})
	}
	b.do("touch", touch("touchStart", &input.TouchPoint{X: x, Y: y}), touch("touchMove", &input.TouchPoint{X: x + 30, Y: y}))
	b.until("a finger reads it", chartRead+`.includes("ms")`)
	b.do("let go", touch("touchEnd"))

	// Percentiles, in place and in the address.
	b.press("p95")
	b.until("the address has p95", `location.search.includes("statistic=p95")`)
	b.until("the segment is chosen", `[...document.querySelectorAll("[aria-current]")].some(e => e.textContent.trim() === "p95")`)

	// The incident is a band that opens, and a link.
	b.until("the incident is a link", `document.querySelector('.chart-incidents a[href="`+incident+`"]')`)
	at := eval[float64](b, `(() => { const d = `+chartSteps+`, band = d.bands[0]; return (band.from + band.to) / 2 - d.start > 0
		? ((band.from + band.to) / 2 - d.start) / (d.end - d.start) : 0; })()`)
	x, y = b.place(at)
	b.do("click the band", chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y), chromedp.MouseClickXY(x, y))
	b.until("the incident is open", `location.pathname === `+quote(incident))

	for _, scheme := range []string{"light", "dark"} {
		for name, query := range map[string]string{"hour": "?period=1h", "zoomed": zoomed[len(path):], "wrong": "?from=yesterday"} {
			b.visit(path + query)
			for _, width := range []int64{360, 768, 1024, 1440} {
				b.picture("chart-"+name+"-"+scheme+"-"+strconv.Itoa(int(width)), scheme, width)
			}
		}
	}

	// Maintenance is shaded and said in words.
	api.into(nil, http.MethodPost, "/v1/maintenance-windows", map[string]any{
		"name": "A new database", "duration_seconds": 3600, "scope": map[string]any{"check_ids": []string{made.ID}},
		"starts_at": time.Now().UTC().Add(2 * time.Second).Format("2006-01-02T15:04:05"), "timezone": "UTC", "probing": "pause",
	})
	b.visit(path + "?period=1h")
	b.until("maintenance is shaded", chartSteps+`.pauses.length === 1`)
	b.shows("Shaded: maintenance.")
	b.agrees("in maintenance")

	// What is no time says so; without scripts the page has the same as text.
	for query, message := range map[string]string{
		"?from=yesterday": "from: must be an instant such as", "?to=2026-01-01": "from: is missing",
		"?from=2026-02-01&to=2026-01-01": "to: must be after from", "?from=%00%3Cscript%3E": "from: holds a character",
	} {
		b.visit(path + query)
		b.shows(message)
		b.axe(query)
	}
	b.scripts(false)
	b.visit(path + "?period=1h&statistic=p50&table=all")
	b.shows("no result")
	b.press("p95")
	b.until("the link has the statistic", `location.search.includes("statistic=p95")`)
	b.scripts(true)
}
