// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/mail/mailtest"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// linkIn finds the token of a link to a page in the mails to an address.
func linkIn(t *testing.T, server *mailtest.Server, to, page string) string {
	t.Helper()
	link := regexp.MustCompile(`/` + page + `\?token=3D([\w-]+)`)
	token := ""
	eventually(t, "a mail to "+to+" with a link to "+page, func() bool {
		for _, m := range server.Messages() {
			if match := link.FindStringSubmatch(strings.ReplaceAll(m.Data, "=\r\n", "")); m.To[0] == to && match != nil {
				token = match[1]
			}
		}
		return token != ""
	})
	return token
}

// press sends the form of a page.
func press(t *testing.T, api, page string, values url.Values) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, api+"/"+page, strings.NewReader(values.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s answers %d", page, response.StatusCode)
	}
}

// TestRecipientsOfAlerts holds that a recipient that has not agreed is mailed nothing while the
// delivery is pending, and that one that agrees gets what comes afterwards.
func TestRecipientsOfAlerts(t *testing.T) {
	timingtest.Parallel(t)
	server := mailtest.Start(t, mailtest.Options{})
	const greeting = "monitor.vigil.test"
	p := up(t, dataDir(t), "VIGIL_REGIONS=na-east-ewr", fastSchedule, "VIGIL_SMTP_HELO="+greeting,
		"VIGIL_SMTP_URL=smtp://"+server.Addr+"?from=vigil@example.com&tls=none")
	var account struct {
		APIKey string `json:"api_key"`
	}
	client{t: t, url: p.ready.APIURL}.into(&account, http.MethodPost, "/v1/auth/quick-signup", map[string]any{"email": "ada@example.com"})
	c := client{t: t, url: p.ready.APIURL, key: account.APIKey}
	target := newService(t)
	var channel, made struct {
		ID string `json:"id"`
	}
	c.into(&channel, http.MethodPost, "/v1/notification-channels", map[string]any{
		"name": "mail", "type": "email", "config": map[string]any{"email": "bob@example.net", "body_template": "see https://evil.example/x"},
	})
	c.into(&made, http.MethodPost, "/v1/checks", httpCheck("mailed", target.URL+path(0), 60, "na-east-ewr"))
	c.into(nil, http.MethodPost, "/v1/checks/"+made.ID+"/alerts", map[string]any{
		"name": "down", "condition": map[string]any{"failure_threshold": 1},
		"notification_channel_ids": []string{channel.ID}, "notify_on": "both",
	})
	run := func() { c.into(nil, http.MethodPost, "/v1/checks/"+made.ID+"/test", nil) }
	target.fail(path(0))
	run()
	var deliveries []struct {
		ID, Status string
	}
	var attempts []struct {
		ErrorCode string `json:"error_code"`
	}
	eventually(t, "the delivery was tried and waits for a recipient", func() bool {
		c.into(&deliveries, http.MethodGet, "/v1/deliveries", nil)
		if len(deliveries) == 1 {
			c.into(&attempts, http.MethodGet, "/v1/deliveries/"+deliveries[0].ID+"/attempts", nil)
		}
		return len(attempts) > 0 && attempts[0].ErrorCode == "recipient_unconfirmed" && deliveries[0].Status == "pending"
	})

	press(t, p.ready.APIURL, "confirm-recipient", url.Values{"token": {linkIn(t, server, "bob@example.net", "confirm-recipient")}})
	target.repair(path(0))
	run()
	var alert string
	eventually(t, "the recovery is mailed", func() bool {
		for _, m := range server.Messages() {
			if strings.Contains(m.Data, "List-Unsubscribe-Post: List-Unsubscribe=One-Click") {
				alert = m.Data
			}
		}
		return alert != ""
	})
	if strings.Contains(strings.ReplaceAll(alert, "=\r\n", ""), "evil.example") {
		t.Errorf("the mail has a link of the template: %s", alert)
	}
	var shown struct {
		Recipients []struct {
			Email       string           `json:"email"`
			ConfirmedAt *json.RawMessage `json:"confirmed_at"`
		} `json:"recipients"`
	}
	c.into(&shown, http.MethodGet, "/v1/notification-channels/"+channel.ID, nil)
	if len(shown.Recipients) != 1 || shown.Recipients[0].ConfirmedAt == nil {
		t.Errorf("recipients %+v", shown.Recipients)
	}
	if names := server.Names(); len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return name != greeting }) {
		t.Errorf("the mail server was greeted as %q", names)
	}
}
