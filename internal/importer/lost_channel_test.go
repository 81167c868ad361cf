// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/importer/importertest"
)

// wantLostChannel expects that a channel is lost, that the check of the first key has no other, and that no
// other check loses anything.
func wantLostChannel(t *testing.T, got imported, lost string, keys ...string) {
	t.Helper()
	mentioned(t, got)
	report := unescaped(got.report)
	if n := strings.Count(report, lost); n != 2 { // the channel, and the check that has no other
		t.Errorf("%q is named %d times, expected 2:\n%s", lost, n, report)
	}
	for _, check := range got.result.Checks {
		if silent := check.Key == keys[0]; silent != (len(check.Losses) > 0) {
			t.Errorf("%s: lost is %v", check.Key, check.Losses)
		}
	}
	warning := "| alerts to " + lost + " | the check notifies no channel"
	if !strings.Contains(report, "check `"+keys[0]+"`") || !strings.Contains(report, warning) {
		t.Errorf("there is no warning:\n%s", report)
	}
}

// TestLostChannels holds that a channel that is not carried over is reported once, and besides only
// the checks that notify no other channel.
func TestLostChannels(t *testing.T) {
	t.Parallel()
	t.Run("Gatus", func(t *testing.T) {
		t.Parallel()
		got := gatusText(t, `alerting:
  github: {repository-url: "https://github.example/a/b", token: "1", default-alert: {send-on-resolved: true}}
  ntfy: {topic: shop}
endpoints:
  - {name: silent, url: "https://a.example", conditions: ["[STATUS] == 200"], 
     alerts: [{type: github}, {type: github, failure-threshold: 9}]}
  - {name: other, url: "https://b.example", conditions: ["[STATUS] == 200"], alerts: [{type: github}, {type: ntfy}]}
  - {name: none, url: "https://c.example", conditions: ["[STATUS] == 200"]}
  - {name: "off", url: "https://c.example", conditions: ["[STATUS] == 200"], alerts: [{type: github, enabled: false}]}
`)
		wantLostChannel(t, got, "github", "silent")
	})
	t.Run("GatusAddress", func(t *testing.T) { // which a server refuses
		t.Parallel()
		got := gatusText(t, `alerting:
  discord: {webhook-url: "YOUR_WEBHOOK"}
  ntfy: {topic: shop}
endpoints:
  - {name: silent, url: "https://a.example", conditions: ["[STATUS] == 200"], alerts: [{type: discord}]}
  - {name: other, url: "https://b.example", conditions: ["[STATUS] == 200"], alerts: [{type: discord}, {type: ntfy}]}
`)
		wantLostChannel(t, got, "discord", "silent")
		want(t, got, map[string]string{"checks/other/rules/ntfy/notify_if_open": "null"})
	})
	t.Run("Kuma", func(t *testing.T) {
		t.Parallel()
		web := func(id int, name string) map[string]any {
			return map[string]any{"id": id, "name": name, "type": "http", "url": "http://shop.example/", "timeout": 10}
		}
		got := kuma(t, importertest.KumaDatabase(t, "2.5.3", importertest.Rows{
			"monitor":      {web(1, "silent"), web(2, "other"), web(3, "none")},
			"notification": {ntfy(1, "Phone"), {"id": 2, "name": "Group chat", "config": `{"type": "nostr"}`}},
			"monitor_notification": {
				{"monitor_id": 1, "notification_id": 2}, {"monitor_id": 2, "notification_id": 2}, {"monitor_id": 2, "notification_id": 1},
			},
		}))
		wantLostChannel(t, got, "Group chat", "silent")
	})
	t.Run("AutoKuma", func(t *testing.T) {
		t.Parallel()
		dir := staticMonitors(t, map[string]string{
			"silent.json": `{"type": "port", "name": "silent", "hostname": "a.example", "port": 1, "notification_name_list": ["desk"]}`,
			"other.json":  `{"type": "port", "name": "other", "hostname": "a.example", "port": 1, "notification_name_list": ["desk", "phone"]}`,
			"phone.json":  `{"type": "notification", "name": "Phone", "config": {"type": "ntfy", "ntfytopic": "shop"}}`,
		})
		wantLostChannel(t, kuma(t, dir), "notification_name_list: desk", "silent")
	})
	t.Run("ListWithoutNotifications", func(t *testing.T) {
		t.Parallel()
		dir := staticMonitors(t, map[string]string{"list.json": `[
			{"id": 1, "type": "port", "name": "silent", "hostname": "a.example", "port": 1, "notificationIDList": {"7": true}}]`})
		wantLostChannel(t, kuma(t, filepath.Join(dir, "list.json")), "notification 7", "silent")
	})
}

// TestGatusAlertsWithoutProvider holds that alerts that Gatus does not send are named once, and make
// no check worse.
func TestGatusAlertsWithoutProvider(t *testing.T) {
	t.Parallel()
	got := gatusText(t, `alerting: {slack: }
endpoints:
  - {name: a, url: "https://a.example", conditions: ["[STATUS] == 200"], alerts: [{type: slack}]}
  - {name: b, url: "https://b.example", conditions: ["[STATUS] == 200"], alerts: [{type: slack}]}
`)
	mentioned(t, got)
	for _, check := range got.result.Checks {
		if len(check.Losses) > 0 {
			t.Errorf("%s: lost is %v", check.Key, check.Losses)
		}
	}
	if n := strings.Count(got.report, "alerting has no provider slack"); n != 1 {
		t.Errorf("the provider is named %d times:\n%s", n, got.report)
	}
}
