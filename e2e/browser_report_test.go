// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestBrowserReports makes a schedule of reports in a browser, and reads the report on a screen and on paper. The steps
// are one story, in order.
func TestBrowserReports(t *testing.T) {
	timingtest.Parallel(t)
	c, shop := theChromium(t), newService(t)
	p, _ := shared(t)
	const email = "reports@harbor.example"
	api := p.signUp(t, email)
	for _, name := range []string{"Checkout", "Search", "A service with a name that is as long as the names of services become"} {
		api.into(nil, http.MethodPost, "/v1/checks", httpCheck(name, shop.URL+"/page", 1, "eu-central-fra"))
	}
	for _, name := range []string{"ops", "managers"} {
		api.into(nil, http.MethodPost, "/v1/notification-channels",
			map[string]any{"name": name, "type": "webhook", "config": map[string]any{"url": shop.URL + "/hook"}})
	}
	eventually(t, "the checks are probed", func() bool { return shop.hits("/page") > 20 })
	b := c.open(t, p.ready.APIURL)
	b.visit("/app/sign-in?next=/app/reports")
	b.fill("Email", email)
	b.fill("Password", browserPassword)
	b.press("Sign in")
	b.shows("No schedule yet.")
	b.judge("reports without a schedule")
	b.press("New schedule")
	b.shows("Who receives it")
	b.judge("a new schedule")
	b.fill("Name", "Shop, monthly")
	b.fill("Time zone", "Here")
	b.press("managers")
	b.press("Create schedule")
	b.shows("Not created yet.")
	b.judge("a schedule with a mistake")
	b.fill("Time zone", "Europe/Berlin")
	b.press("Create schedule")
	b.shows("Shop, monthly is created")
	b.shows("monthly on day 1, 09:00 (Europe/Berlin)")
	b.judge("a schedule")
	schedule := b.path()
	b.choose("Sent", "weekly")
	b.until("the weekday is asked for", byName+`("Weekday", true).checkVisibility()`)
	b.press("Save")
	b.shows("weekly on Monday, 09:00 (Europe/Berlin)")
	b.press("Pause")
	b.shows("is paused")
	b.visit("/app/reports")
	b.shows("managers")
	b.judge("reports with a schedule")
	if pages := b.print("report"); pages < 1 || pages > 3 {
		t.Errorf("the report has %d pages on paper", pages)
	}
	for i, name := range []string{"reports", "report-schedule", "report-schedule-new"} {
		b.visit([]string{"/app/reports", schedule, "/app/reports/schedules/new"}[i])
		for _, width := range []int64{360, 768, 1024, 1440} {
			b.picture(fmt.Sprintf("%s-%d", name, width), "light", width)
			b.picture(fmt.Sprintf("%s-dark-%d", name, width), "dark", width)
		}
	}
	b.visit(schedule)
	b.press("Delete…")
	b.shows("Delete the schedule “Shop, monthly”?")
	b.axe("the question before it is deleted")
	b.press("Delete")
	b.shows("Shop, monthly is deleted")
	b.shows("No schedule yet.")
}
