// SPDX-License-Identifier: Apache-2.0

package web

import (
	"math"
	"net/http"
	"slices"
	"strconv"

	"github.com/vigil-monitor/vigil/client"
)

// usageBody is what the page of the plan shows.
type usageBody struct {
	Tier string
	Bars []usageBar
	Note string
}

// usageBar is a quantity against its limit.
type usageBar struct {
	Name, Help string
	Used, Of   string
	Width      string // of the bar, in percent; empty without a limit
	State      string // down when it is used up, warn when it nearly is
}

func (s *Server) usageRoutes(on *routes) {
	on.page("GET /app/usage", s.usage)
}

func (s *Server) usage(r *request) error {
	found, err := r.api.GetUsageWithResponse(r.Context())
	if err != nil {
		return err
	}
	u := &found.JSON200.Data
	body := &usageBody{Tier: capital(string(u.Tier)), Bars: []usageBar{
		newUsageBar("Executions an hour", "Over the enabled checks: 3600 / interval × regions.", u.ExecutionsPerHour.Used,
			u.ExecutionsPerHour.Limit),
	}}
	names := make([]string, 0, len(u.Limits))
	for name := range u.Limits {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return limitOrder(a) - limitOrder(b) })
	for _, name := range names {
		limit := u.Limits[name]
		text, help := limitWords(name)
		body.Bars = append(body.Bars, newUsageBar(text, help, float64(limit.Used), limit.Limit))
	}
	if rate := u.RateLimit; rate.Limit != nil && rate.Remaining != nil {
		body.Bars = append(body.Bars, newUsageBar("Requests a minute", "Of every key and page of the organization together, in this minute.",
			float64(*rate.Limit-*rate.Remaining), rate.Limit))
	}
	return r.render(http.StatusOK, "usage", page{Title: "Usage", Nav: navUsage, Body: body})
}

// knownLimits are the limits by number in the order in which they are shown.
func knownLimits() [][3]string {
	return [][3]string{
		{"checks", "Checks", "Disabled ones included."},
		{"channels", "Channels", ""},
		{"rules_per_check", "Rules of one check", "Of the check that has the most."},
		{"api_keys", "API keys", ""},
		{"members", "Members", ""},
		{"status_pages", "Status pages", ""},
		{"maintenance_windows", "Maintenance windows", ""},
		{"subscriptions", "Subscriptions", ""},
		{"locations", "Locations", ""},
	}
}

func limitOrder(name string) int {
	known := knownLimits()
	if i := slices.IndexFunc(known, func(l [3]string) bool { return l[0] == name }); i >= 0 {
		return i
	}
	return len(known)
}

// limitWords names a limit; one that the page does not know has the API's name.
func limitWords(name string) (text, help string) {
	known := knownLimits()
	if i := limitOrder(name); i < len(known) {
		return known[i][1], known[i][2]
	}
	return name, ""
}

func newUsageBar(name, help string, used float64, limit *int64) usageBar {
	bar := usageBar{Name: name, Help: help, Used: number(int64(math.Ceil(used)))}
	if limit == nil {
		bar.Of = "no limit"
		return bar
	}
	bar.Of = "of " + number(*limit)
	share := 1.0
	if *limit > 0 {
		share = min(used/float64(*limit), 1)
	}
	switch {
	case share >= 1:
		bar.State = "down"
	case share >= 0.8:
		bar.State = "warn"
	}
	bar.Width = strconv.FormatFloat(share*100, 'f', 1, 64) + "%"
	return bar
}

// scopeWords says what each scope of a key allows.
func scopeWords() []option {
	return []option{
		{Value: string(client.KeyScopesRead), Text: "read: see everything"},
		{Value: string(client.KeyScopesRespond), Text: "respond: acknowledge and resolve incidents, redeliver"},
		{Value: string(client.KeyScopesWrite), Text: "write: change checks, rules and channels"},
		{Value: string(client.KeyScopesAdmin), Text: "admin: keys, members and the account"},
	}
}
