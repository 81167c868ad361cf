// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"strings"
	"testing"
)

// TestGatusCustomBodies holds what becomes of the body of a custom request, and what is lost of it.
func TestGatusCustomBodies(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		given, want string
		lost        []string
	}{
		"JSON": {
			`body: '{"text": "[ALERT_DESCRIPTION] [ENDPOINT_GROUP] [ENDPOINT_NAME] [ENDPOINT_URL] [RESULT_ERRORS]"}'`,
			`{"payload":"template","payload_template":` +
				`"{\"text\": \"{{rule_name}} {{label.group}} {{check_name}} {{check_target}} {{error_message}}\"}",` +
				`"url":"https://hooks.example/x"}`, nil,
		},
		"State": {
			`body: '{"text": "[ALERT_TRIGGERED_OR_RESOLVED]"}', placeholders: {ALERT_TRIGGERED_OR_RESOLVED: {TRIGGERED: down}}`,
			`{"payload":"template","payload_template":"{\"text\": \"{{incident_status}}\"}","url":"https://hooks.example/x"}`,
			[]string{"ALERT_TRIGGERED_OR_RESOLVED", "placeholders"},
		},
		"Text": {
			`body: "[ENDPOINT_NAME] is down"`,
			`{"content_type":"text/plain","payload":"template","payload_template":"{{check_name}} is down","url":"https://hooks.example/x"}`, nil,
		},
		"Form": {
			`headers: {content-type: application/x-www-form-urlencoded}, body: "a=1&text=[ENDPOINT_NAME]"`,
			`{"headers":{"content-type":"application/x-www-form-urlencoded"},"payload":"template",` +
				`"payload_template":"a=1\u0026text={{check_name}}",` +
				`"url":"https://hooks.example/x"}`, nil,
		},
		"Variable": {
			`body: '{"text": "${TEXT}"}'`,
			`{"payload":"template","payload_template":"{\"text\": \"$TEXT\"}","url":"https://hooks.example/x"}`,
			[]string{"is no secret member"},
		},
		"Bare": {
			`headers: {Content-Type: application/json}, body: '{"text": [ENDPOINT_NAME]}'`,
			`{"headers":{"Content-Type":"application/json"},"url":"https://hooks.example/x"}`,
			[]string{"makes no JSON"},
		},
		"XML": {
			`headers: {Content-Type: application/xml}, body: "<a>[ENDPOINT_NAME]</a>"`,
			`{"headers":{"Content-Type":"application/xml"},"url":"https://hooks.example/x"}`,
			[]string{"JSON, forms and plain text"},
		},
		"Braces": {`body: "{{x}}"`, `{"url":"https://hooks.example/x"}`, []string{"begins a variable of Vigil"}},
		"Long":   {`body: "` + strings.Repeat("x", 70_000) + `"`, `{"url":"https://hooks.example/x"}`, []string{"longer than 64 KiB"}},
		"Unknown": {
			`body: "[RESULT_CONDITIONS]"`,
			`{"content_type":"text/plain","payload":"template","payload_template":"[RESULT_CONDITIONS]","url":"https://hooks.example/x"}`,
			[]string{"[RESULT_...]"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := gatusText(t, `alerting: {custom: {url: "https://hooks.example/x", method: POST, `+test.given+`}}
endpoints:
  - {name: shop, url: "https://a.example", conditions: ["[STATUS] == 200"], alerts: [{type: custom}]}
`)
			mentioned(t, got)
			want(t, got, map[string]string{"channels/custom/config": test.want})
			report := unescaped(got.report)
			for _, lost := range test.lost {
				if !strings.Contains(report, lost) {
					t.Errorf("IMPORT.md does not name %q:\n%s", lost, report)
				}
			}
			if len(test.lost) == 0 && strings.Contains(report, "channel `custom`") {
				t.Errorf("something of the channel is lost:\n%s", report)
			}
		})
	}
}
