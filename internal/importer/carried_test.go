// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"strings"
	"testing"
)

// TestVariablesInAddresses holds that a variable may stand for an address, or for a part of one.
func TestVariablesInAddresses(t *testing.T) {
	t.Parallel()
	const fixed = `url: "https://a.example", `
	for text, config := range map[string]string{
		fixed + `client: {proxy-url: "${PROXY}"}`: `"proxy":"$PROXY"`,

		fixed + `client: {proxy-url: "http://${PROXY}:${PORT}"}`: `"proxy":"http://$PROXY:$PORT"`,

		fixed + `client: {oauth2: {token-url: "${URL}", client-id: a, client-secret: b, scopes: []}}`: `"token_url":"$URL"`,

		`url: "https://${HOST}:${PORT}/health"`: `"url":"https://$HOST:$PORT/health"`,
		`url: "https://a.example:${PORT}"`:      `"url":"https://a.example:$PORT"`,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			got := gatusText(t, `endpoints: [{name: x, conditions: ["[STATUS] == 200"], `+text+"}]")
			mentioned(t, got)
			if is := at(t, got.document, "checks", "x", "config"); !strings.Contains(is, config) || got.result.Lossy() {
				t.Errorf("the config is %s, expected %s:\n%s", is, config, got.report)
			}
		})
	}
}

// TestLabelsOfLetters holds that only the case of letters of a label changes, and is no loss.
func TestLabelsOfLetters(t *testing.T) {
	t.Parallel()
	got := gatusText(t, `endpoints: [{name: x, url: "https://a.example", conditions: ["[STATUS] == 200"], extra-labels: {Team: Web}}]`)
	want(t, got, map[string]string{"checks/x/labels": `{"team":"Web"}`})
	if got.result.Lossy() {
		t.Errorf("something is lost:\n%s", got.report)
	}
	got = gatusText(t, `endpoints:
  - {name: x, url: "https://a.example", conditions: ["[STATUS] == 200"], extra-labels: {Front End: one}}
  - {name: y, url: "https://a.example", conditions: ["[STATUS] == 200"], extra-labels: {Front End: two}}
`)
	want(t, got, map[string]string{"checks/x/labels": `{"front-end":"one"}`, "checks/y/labels": `{"front-end":"two"}`})
	if n := strings.Count(got.report, "label Front End"); n != 1 || len(got.result.Checks[0].Losses) > 0 {
		t.Errorf("another name is named %d times:\n%s", n, got.report)
	}
}

// TestKumaTimeouts holds that a timeout that Kuma has chosen itself makes no check worse.
func TestKumaTimeouts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		interval int
		timeout  any
		want     string
		lost     string // of the check
	}{
		"Chosen":     {300, 240, "60", ""},
		"None":       {300, 0, "60", ""},
		"Fraction":   {31, 24.8, "25", ""},
		"Own":        {300, 120, "60", "timeout: 2m0s"},
		"OwnShort":   {300, 30, "30", ""},
		"OwnPart":    {60, 30.5, "31", "timeout: 30.5s"},
		"ShortCheck": {20, 16, "16", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := monitor(t, map[string]any{"type": "http", "url": "http://a.example", "interval": tt.interval, "timeout": tt.timeout})
			mentioned(t, got)
			want(t, got, map[string]string{"checks/it/config/timeout_seconds": tt.want})
			if lost := got.result.Checks[0].Losses; (tt.lost == "") != (len(lost) == 0) || len(lost) == 1 && lost[0].What != tt.lost {
				t.Errorf("lost is %v, expected %q", lost, tt.lost)
			}
			if said := strings.Contains(got.report, "80 % of the interval"); said != (name == "Chosen" || name == "None") {
				t.Errorf("the longest timeout is named: %t\n%s", said, got.report)
			}
		})
	}
}
