// SPDX-License-Identifier: Apache-2.0

package notify_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/mail/mailtest"
	"github.com/vigil-monitor/vigil/internal/notify"
)

// acknowledgeURL is the address at which the message of facts is acknowledged, but for its token.
const acknowledgeURL = "https://vigil.example.com/acknowledge?token=dGhl-token_."

// facts are 30 results of which the last three failed and the first was missed, and two other channels.
func facts() *notify.Facts {
	f := &notify.Facts{
		Others:      []string{"Ops room", "PagerDuty"},
		Acknowledge: func(who string) string { return acknowledgeURL + strings.NewReplacer("@", "-at-").Replace(who) },
	}
	for i := range 30 {
		f.Results = append(f.Results, notify.SlotResult{Passed: i > 0 && i < 27, Failed: i >= 27})
	}
	return f
}

// TestFactsAreRead holds that each channel of people says how severe it is, since when, what the target answers, the
// last results, who else is notified and where to acknowledge; and that programs are sent none of it.
func TestFactsAreRead(t *testing.T) {
	t.Parallel()
	m := message()
	m.Facts = facts()
	said := []string{
		"[Critical] Checkout API is failing", "expected status 200, got 503", "Since: 1 Mar 2026, 09:30:00 UTC",
		"Target: " + m.Variables["check_target"], "Answer: HTTP/1.1 503 Service Unavailable",
		"Last 30 results: 26 passed, 3 failed, 1 missed", strings.Repeat("▁", 26) + "███", "Also notified: Ops room, PagerDuty",
		acknowledgeURL,
	}
	for kind := range httpConfigs("") {
		r := receive(t, nil)
		sender := parse(t, registry(), kind.kind(), httpConfigs(r.url)[kind])
		sent := m
		if people := kind.kind() == vigil.ChannelChat || kind.kind() == vigil.ChannelPush; !people {
			sent.Facts = nil
		}
		if got := sender.Send(t.Context(), sent); !got.Delivered() {
			t.Fatalf("%s: %+v", kind, got)
		}
		shown := strings.NewReplacer(`\[`, "[", `\]`, "]", `\.`, ".", `\_`, "_", `\-`, "-", `\~`, "~").Replace(shownText(r.requests()[0]))
		for _, text := range said {
			if text == said[1] { // what programs are sent too
				continue
			}
			if strings.Contains(shown, text) != (sent.Facts != nil) {
				t.Errorf("%s: %q among the facts: %v, of %q", kind, text, sent.Facts == nil, shown)
			}
		}
	}
}

// TestFactsOfOtherMessages holds what messages do not say: one that is over or of a drill has nothing to acknowledge,
// one of a system event no results, and a template of the channel takes the place of the facts but not of the links.
func TestFactsOfOtherMessages(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change    func(m *notify.Message)
		template  string
		says, not []string
	}{
		"Resolved": {
			func(m *notify.Message) {
				m.Type, m.Title = vigil.EventResolved, "Resolved: Checkout API is failing"
				m.Variables["resolved_at"] = "2026-03-01T09:42:30Z"
			}, "",
			[]string{"[Critical] Resolved: ", "Since: 1 Mar 2026, 09:30:00 UTC to 09:42:30 (12m30s)"},
			[]string{"/acknowledge", "Answer: "},
		},
		"NextDay": {
			func(m *notify.Message) {
				m.Type, m.Variables["resolved_at"] = vigil.EventResolved, "2026-03-02T09:42:30Z"
			}, "",
			[]string{"UTC to 2 Mar 2026, 09:42:30 UTC (24h12m30s)"},
			nil,
		},
		"Drill":  {func(m *notify.Message) { m.Drill = true }, "", []string{"DRILL"}, []string{"/acknowledge"}},
		"Merged": {func(m *notify.Message) { m.Merged = true }, "", nil, []string{"/acknowledge"}},
		"System": {
			func(m *notify.Message) { m.Type = vigil.EventChannelFailing }, "",
			[]string{"[Critical] "},
			[]string{"Last 30 results", "Also notified", "/acknowledge"},
		},
		"Update":   {func(m *notify.Message) { m.Type = vigil.EventUpdated }, "", []string{"/acknowledge"}, nil},
		"Template": {func(*notify.Message) {}, "words of my own", []string{"words of my own", "/acknowledge"}, []string{"Last 30", "Since: "}},
		"Nothing": {
			func(m *notify.Message) {
				m.Facts, m.Variables["started_at"], m.Variables["evidence"] = &notify.Facts{}, "", ""
			}, "",
			nil,
			[]string{"Since", "Answer", "Last", "Also", "/acknowledge"},
		},
		"Missed": {
			func(m *notify.Message) { m.Facts.Results = make([]notify.SlotResult, 30) }, "", nil, []string{"Last 30 results"},
		},
	} {
		m := message()
		m.Facts = facts()
		test.change(&m)
		r := receive(t, nil)
		config := map[string]any{"webhook_url": r.url + "/hooks/x", "format": "mattermost"}
		if test.template != "" {
			config["body_template"] = test.template
		}
		parse(t, registry(), vigil.ChannelChat, config).Send(t.Context(), m)
		var body struct{ Text string }
		if err := json.Unmarshal(r.requests()[0].body, &body); err != nil {
			t.Fatal(err)
		}
		shown := strings.ReplaceAll(body.Text, `\`, "")
		for _, text := range test.says {
			if !strings.Contains(shown, text) {
				t.Errorf("%s: %q is not in %q", name, text, shown)
			}
		}
		for _, text := range test.not {
			if strings.Contains(shown, text) {
				t.Errorf("%s: %q is in %q", name, text, shown)
			}
		}
	}
}

// TestMailOfAnIncident holds what the mail of an incident says, as text and as HTML, and that each reader has a link of
// their own.
func TestMailOfAnIncident(t *testing.T) {
	t.Parallel()
	option, server := mailer(t, mailtest.Options{}, "")
	m := message()
	m.Facts = facts()
	parse(t, registry(option), vigil.ChannelEmail, map[string]any{"email": "ada@example.com"}).Send(t.Context(), m)
	subject, bodies := readMail(t, server)
	if subject != "[Critical] Checkout API is failing" {
		t.Errorf("subject %q", subject)
	}
	for _, text := range []string{
		"expected status 200, got 503", "Since: 1 Mar 2026, 09:30:00 UTC", "Rule: Three failures in a row", "Also notified: Ops room, PagerDuty",
		"    HTTP/1.1 503 Service Unavailable", "Last 30 results: 26 passed, 3 failed, 1 missed",
		"Open incident:\r\n" + m.Variables["incident_url"], "Acknowledge:\r\n" + acknowledgeURL + "ada-at-example.com",
		"Sent by Vigil for Example Shop",
	} {
		if !strings.Contains(bodies["text/plain"], text) {
			t.Errorf("%q is not in %q", text, bodies["text/plain"])
		}
	}
	for _, text := range []string{
		">Critical</p>", ">Checkout API is failing</h1>", ">1 Mar 2026, 09:30:00 UTC</td>", ">Ops room, PagerDuty</td>",
		"503 Service Unavailable<br>",
		`aria-label="Last 30 results: 26 passed, 3 failed, 1 missed"`, `href="` + m.Variables["incident_url"] + `"`,
		`href="` + acknowledgeURL + `ada-at-example.com"`,
	} {
		if !strings.Contains(bodies["text/html"], text) {
			t.Errorf("%q is not in %q", text, bodies["text/html"])
		}
	}
	if n := strings.Count(bodies["text/html"], "#d43a2a"); n != 3 {
		t.Errorf("%d failed bars", n)
	}
}
