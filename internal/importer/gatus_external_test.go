// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"strings"
	"testing"
)

// TestGatusExternalEndpoints holds that an endpoint whose results Gatus expects becomes a heartbeat.
func TestGatusExternalEndpoints(t *testing.T) {
	t.Parallel()
	got := gatusText(t, `alerting: {slack: {webhook-url: "https://hooks.example/"}}
external-endpoints:
  - name: backup
    group: core
    token: hunter2
    heartbeat: {interval: 30m}
    alerts: [{type: slack, failure-threshold: 2, success-threshold: 1}]
    maintenance-windows: [{start: "23:00", duration: 1h}]
  - {name: paused, enabled: false, token: "${TOKEN}", heartbeat: {interval: 24h, future: 1}}
`)
	mentioned(t, got)
	want(t, got, map[string]string{
		"checks/core-backup": `{"config":{"grace_seconds":1,"schedule":{"every_seconds":1800}},"labels":{"group":"core"},"name":"backup",` +
			`"rules":{"slack":{"channels":["slack"],"condition":{"failure_threshold":2},"name":"2 failures in a row","notify_on":"unhealthy"}},` +
			`"type":"heartbeat"}`,
		"checks/paused/enabled":         "false",
		"checks/paused/config/schedule": `{"every_seconds":86400}`,
		"maintenance/core-backup/scope": `{"checks":["core-backup"]}`,
	})
	report := unescaped(got.report)
	if !strings.Contains(report, "`vigil check get shop/KEY --jq .ping_url` shows it; success=false of Gatus is /fail behind it") ||
		!strings.Contains(report, "heartbeat.future") {
		t.Error(report)
	}
	if strings.Contains(report+files(t, got.dir), "hunter2") {
		t.Error("the files have the token")
	}
}

// TestGatusExternalMisses holds why an endpoint to which results are pushed is no heartbeat.
func TestGatusExternalMisses(t *testing.T) {
	t.Parallel()
	for members, reason := range map[string]string{
		``:                                "without heartbeat.interval",
		`, heartbeat: {interval: 0s}`:     "without heartbeat.interval",
		`, heartbeat: {}`:                 "without heartbeat.interval",
		`, heartbeat: 3`:                  "heartbeat: is no map",
		`, heartbeat: {interval: soon}`:   "heartbeat.interval: soon: is no duration such as 30s",
		`, heartbeat: {interval: "${T}"}`: "heartbeat.interval: ${T}: the value comes from a variable",
	} {
		got := gatusText(t, "external-endpoints: [{name: x, token: a"+members+"}]")
		mentioned(t, got)
		if len(got.result.Missing) != 1 || !strings.Contains(got.result.Missing[0].Reason, reason) {
			t.Errorf("%s is missing as %v, expected %q", members, got.result.Missing, reason)
		}
	}
	got := gatusText(t, "external-endpoints: [text]")
	if len(got.result.Missing) != 1 {
		t.Errorf("missing are %v", got.result.Missing)
	}
}
