// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

// capture names the upgrade fixture to make. One that exists is never replaced.
//
//nolint:gochecknoglobals // a flag
var capture = flag.String("capture", "", "name of the directory under testdata/upgrade to keep a new fixture in")

// upgradeCapture is a fixture in the making.
type upgradeCapture struct {
	t       *testing.T
	targets *upgradeTargets
	client  client
	facts   upgradeFacts
}

// TestCaptureUpgradeFixture makes a fixture for TestUpgrade with the program as
// it is today. README.md in testdata/upgrade says when to do so.
func TestCaptureUpgradeFixture(t *testing.T) {
	if *capture == "" {
		t.Skip("no -capture")
	}
	fixture := filepath.Join("testdata", "upgrade", *capture)
	if err := os.Mkdir(fixture, 0o755); err != nil {
		t.Fatal(err)
	}
	dir := dataDir(t)
	u := &upgradeCapture{t: t, targets: newUpgradeTargets(t), facts: upgradeFacts{
		Checks: map[string]string{}, Channels: map[string]string{}, Incidents: map[string]string{},
		Deliveries: map[string]string{}, FirstRuns: map[string]string{},
	}}
	env := []string{"VIGIL_REGIONS=" + upgradeRegions, "SSL_CERT_FILE=" + u.targets.trusted, "VIGIL_LOG_LEVEL=warn"}

	// Two attempts, so that a delivery can use them up.
	p := up(t, dir, append(env, "VIGIL_DELIVERY_SCHEDULE=300ms")...)
	u.client = client{t: t, url: p.ready.APIURL, key: p.ready.APIKey}
	u.facts.APIKey = p.ready.APIKey
	u.addChannels()
	u.addChecks()
	u.playIncidents()
	p.stop()

	// The last wait is so long that the delivery still waits when the fixture is old.
	p = up(t, dir, append(env, "VIGIL_DELIVERY_SCHEDULE=300ms,400ms,500ms,87600h")...)
	u.client.url = p.ready.APIURL
	u.playWaiting()
	u.awaitResults()
	u.keepHistories(p, fixture)
	p.stop()

	writeFixture(t, fixture, "facts.json", indented(t, u.facts))
	key, err := os.ReadFile(filepath.Join(dir, "secret.key"))
	if err != nil {
		t.Fatal(err)
	}
	writeFixture(t, fixture, "secret.key", key)
	dumpDatabases(t, dir, fixture)
}

func (u *upgradeCapture) channel(name, kind string, config object) {
	u.t.Helper()
	var made struct {
		ID string `json:"id"`
	}
	u.client.into(&made, http.MethodPost, "/v1/notification-channels", object{"name": name, "type": kind, "config": config})
	u.facts.Channels[name] = made.ID
}

func (u *upgradeCapture) addChannels() {
	u.t.Helper()
	at := func(path string) string { return "http://" + upgradeReceiver + path }
	u.channel("accepts", "webhook", object{
		"url": at("/accepts"), "secret": upgradeSigning, "method": "PUT",
		"headers": object{"Authorization": upgradeBearer, "X-Auth-Token": upgradeToken},
	})
	u.channel("refuses", "webhook", object{"url": at("/refuses"), "secret": upgradeSigning})
	u.channel("waits", "webhook", object{"url": at("/waits"), "secret": upgradeSigning, "title_template": "{{check_name}}"})
	u.channel("email", "email", object{"to": []string{"oncall@vigil.test"}})
	u.channel("push", "push", object{"server": at(""), "topic": "push", "username": upgradeUser, "password": upgradePassword})
	u.channel("chat", "chat", object{"webhook_url": at("/chat/T000/upgrade-chat-path")})
	u.channel("pager", "pager", object{"url": at("/pager"), "routing_key": upgradeRouting})
	u.channel("disabled", "webhook", object{"url": at("/disabled"), "secret": upgradeSigning})
	u.client.into(nil, http.MethodPut, "/v1/notification-channels/"+u.facts.Channels["disabled"], object{"enabled": false})
}

func (u *upgradeCapture) check(name, kind string, config object, more ...object) {
	u.t.Helper()
	body := object{"name": name, "type": kind, "interval_seconds": 3, "regions": []string{"eu-central-fra"}, "config": config}
	for _, members := range more {
		for member, value := range members {
			body[member] = value
		}
	}
	var made check
	u.client.into(&made, http.MethodPost, "/v1/checks", body)
	u.facts.Checks[name] = made.ID
}

func (u *upgradeCapture) rule(check string, body object, channels ...string) {
	u.t.Helper()
	ids := []string{}
	for _, name := range channels {
		ids = append(ids, u.facts.Channels[name])
	}
	body["notification_channel_ids"] = ids
	if body["name"] == nil {
		body["name"] = "down"
	}
	u.client.into(nil, http.MethodPost, "/v1/checks/"+u.facts.Checks[check]+"/alerts", body)
}

// addChecks makes a check of each type, checks with secrets, a disabled one, a
// deleted one and one of an account that is not verified.
func (u *upgradeCapture) addChecks() {
	u.t.Helper()
	site := func(path string) string { return "http://" + upgradeSite + path }
	everywhere := object{"regions": strings.Split(upgradeRegions, ",")}
	u.check("http", "http", object{
		"url": site("/http"), "assertions": []object{{"source": "status", "operator": "eq", "target": 200}},
	}, everywhere)
	u.check("https", "https", object{"url": "https://" + upgradeTLS})
	u.check("http3", "http3", object{"url": "https://" + upgradeQUIC})
	u.check("tcp", "tcp", object{"host": upgradeHost, "port": json.Number(portOf(upgradeTCP)), "expect": "ready"})
	u.check("ping", "ping", object{"host": upgradeHost, "packet_count": 1})
	u.check("dns", "dns", object{"host": "www.test", "resolvers": []string{upgradeDNS}, "expected_values": []string{"192.0.2.1"}})
	u.check("ssl", "ssl", object{"host": upgradeTLS, "alert_days_before": 14})
	u.check("smtp-imap", "smtp-imap", object{
		"smtp": mailServer(upgradeSMTP, "starttls"), "imap": mailServer(upgradeIMAP, "tls"),
		"from": "probe@a.test", "to": "ann@b.test", "timeout_seconds": 1, "max_delivery_seconds": 1,
	}, object{"interval_seconds": 5})
	u.check("throughput", "throughput", object{"url": site("/download"), "max_duration_seconds": 1, "timeout_seconds": 1, "min_mbps": 0.01})
	u.check("multistep", "multistep", object{"steps": []object{
		{
			"name": "log in", "type": "http", "config": object{"url": site("/login"), "method": "POST"},
			"extract": []object{{"name": "token", "source": "json", "property": "$.token"}},
		},
		{"name": "use the token", "type": "http", "config": object{"url": site("/secrets/step"), "headers": object{"X-Auth-Token": "{{token}}"}}},
		{"name": "send secrets", "type": "http", "config": object{"url": site("/secrets/headers"), "headers": object{
			"Authorization": upgradeBearer, "X-Auth-Token": upgradeToken, "X-Api-Key": upgradeAPIKey,
		}}},
	}})
	u.check("headers", "http", object{"url": site("/secrets/headers"), "headers": object{
		"Authorization": upgradeBearer, "X-Auth-Token": upgradeToken, "X-Api-Key": upgradeAPIKey, "Accept": "text/plain",
	}})
	u.check("basic", "http", object{
		"url": site("/secrets/basic"), "basic_auth": object{"username": upgradeUser, "password": upgradePassword},
	}, object{"simultaneous_regions": false, "regions": []string{"eu-central-fra", "na-east-ewr"}})
	u.check("slow", "http", object{"url": site("/slow")}, object{"interval_seconds": 3600})
	u.check("disabled", "http", object{"url": site("/disabled")}, object{"enabled": false})
	u.check("deleted", "http", object{"url": site("/deleted")}, everywhere)
	u.addRules()
	doomed := "/v1/checks/" + u.facts.Checks["deleted"]
	eventually(u.t, "the check to delete has results", func() bool { return len(resultsOf(u.client, doomed)) > 2 })
	u.client.into(nil, http.MethodDelete, doomed, nil)
	u.client.into(nil, http.MethodPut, "/v1/checks/"+u.facts.Checks["http"], object{
		"name": "http, renamed", "config": object{"url": site("/http/moved")},
	})

	var account struct {
		APIKey string `json:"api_key"`
	}
	u.client.into(&account, http.MethodPost, "/v1/auth/quick-signup", object{"email": "unverified@vigil.test", "org_name": "Unverified"})
	other := *u
	other.client.key = account.APIKey
	other.check("unverified", "http", object{"url": site("/unverified")}, object{"interval_seconds": 60})
}

// mailServer is the smtp or imap member of a config.
func mailServer(address, security string) object {
	return object{
		"host": "127.0.0.1", "port": json.Number(portOf(address)), "security": security,
		"username": "ann", "password": probetest.Password,
	}
}

// addRules gives the check named ssl a rule of each kind that does not fire.
func (u *upgradeCapture) addRules() {
	u.t.Helper()
	u.rule("ssl", object{
		"name": "expiry", "condition": object{"ssl_days_remaining": 14, "severity": "warning"}, "notify_on": "healthy",
	}, "email")
	u.rule("ssl", object{
		"name": "slow", "condition": object{"response_time_ms": 60000, "severity": "info"}, "region_policy": "majority",
	}, "chat", "email")
	u.rule("ssl", object{
		"name": "legacy", "region_policy": "all",
		"condition": object{"type": "consecutive_failures", "threshold": 900, "operator": "gte"},
	}, "pager")
	u.rule("ssl", object{"name": "pair", "condition_type": "status_code", "threshold": 500, "enabled": false}, "disabled")
	u.rule("dns", object{"name": "changed", "condition": object{"dns_changed": true}, "notify_on": "both"}, "push")
	u.rule("http", object{"name": "down", "condition": object{"health_status": "down"}}, "accepts", "refuses")
}

// failing makes a check of a path that fails, with a rule, and waits for its incident.
func (u *upgradeCapture) failing(name string, rule object, channels ...string) {
	u.t.Helper()
	u.targets.fail("/"+name, true)
	u.check(name, "http", object{"url": "http://" + upgradeSite + "/" + name}, object{"regions": []string{"eu-central-fra", "na-east-ewr"}})
	u.rule(name, rule, channels...)
	u.awaitIncident(name, "active")
}

func (u *upgradeCapture) awaitIncident(name, status string) {
	u.t.Helper()
	var incidents []struct{ ID, Status string }
	eventually(u.t, "the incident of "+name+" is "+status, func() bool {
		u.client.into(&incidents, http.MethodGet, "/v1/incidents?check_id="+u.facts.Checks[name], nil)
		return len(incidents) == 1 && incidents[0].Status == status
	})
	u.facts.Incidents[name] = incidents[0].ID
}

// playIncidents leaves an incident of each kind behind, and deliveries that have ended.
func (u *upgradeCapture) playIncidents() {
	u.t.Helper()
	u.targets.refuse("/refuses", true)
	down := func() object { return object{"condition": object{"failure_threshold": 1}, "notify_on": "both"} }
	u.failing("open", down(), "accepts", "refuses", "email", "push", "chat", "pager")
	u.rule("open", object{"name": "status", "condition": object{"status_code": 500, "severity": "warning"}, "region_policy": "all"}, "email")
	u.failing("acknowledged", down(), "accepts")
	u.client.act(nil, u.facts.Incidents["acknowledged"], "acknowledge", nil)
	u.failing("ended", down(), "accepts", "chat")
	u.failing("latched", down(), "accepts")
	u.client.act(nil, u.facts.Incidents["latched"], "resolve", object{"note": "known"})
	u.targets.fail("/ended", false)
	u.awaitIncident("ended", "resolved")
	u.awaitDelivery("delivered", "open", "accepts", "delivered", 1)
	u.awaitDelivery("exhausted", "open", "refuses", "exhausted", 2)
}

// playWaiting leaves deliveries behind that wait for their next attempt.
func (u *upgradeCapture) playWaiting() {
	u.t.Helper()
	u.targets.refuse("/waits", true)
	u.targets.refuse("/push", true)
	u.failing("waiting", object{"condition": object{"failure_threshold": 2}, "notify_on": "both"}, "waits", "push", "accepts")
	u.awaitDelivery("waiting", "waiting", "waits", "pending", 4)
	u.awaitDelivery("waiting_push", "waiting", "push", "pending", 4)
}

func (u *upgradeCapture) awaitDelivery(name, incident, channel, status string, attempts int) {
	u.t.Helper()
	eventually(u.t, "the delivery "+name+" is "+status, func() bool {
		var deliveries []delivery
		u.client.into(&deliveries, http.MethodGet, "/v1/deliveries?incident_id="+u.facts.Incidents[incident], nil)
		for _, d := range deliveries {
			if d.ChannelID == u.facts.Channels[channel] {
				u.facts.Deliveries[name] = d.ID
				return d.Status == status && d.Attempts == attempts && (status != "pending" || d.NextAttemptAt != nil)
			}
		}
		return false
	})
}

// awaitResults waits until every enabled check has results of both starts.
func (u *upgradeCapture) awaitResults() {
	u.t.Helper()
	for name, id := range u.facts.Checks {
		if name == "disabled" || name == "deleted" || name == "unverified" {
			continue
		}
		eventually(u.t, name+" has results", func() bool {
			results := resultsOf(u.client, "/v1/checks/"+id)
			return len(results) >= 5 || name == "slow" && len(results) > 0
		})
	}
}

// keepHistories keeps the histories of a workflow of each kind.
func (u *upgradeCapture) keepHistories(p *process, fixture string) {
	u.t.Helper()
	c := dialTemporal(u.t, p.ready.TemporalAddress, p.ready.Namespace)
	defer c.Close()
	for name, id := range map[string]string{
		"check_loop":            "check/" + u.facts.Checks["http"] + "/na-east-ewr",
		"check_loop_fails":      "check/" + u.facts.Checks["open"] + "/eu-central-fra",
		"check_loop_stopped":    "check/" + u.facts.Checks["deleted"] + "/na-east-ewr",
		"incident":              "incident/" + u.facts.Checks["open"],
		"incident_acknowledged": "incident/" + u.facts.Checks["acknowledged"],
		"incident_ended":        "incident/" + u.facts.Checks["ended"],
		"incident_latched":      "incident/" + u.facts.Checks["latched"],
		"delivery":              "delivery/" + u.facts.Incidents["open"] + "/" + u.facts.Channels["refuses"],
		"delivery_waiting":      "delivery/" + u.facts.Incidents["waiting"] + "/" + u.facts.Channels["waits"],
	} {
		writeFixture(u.t, fixture, filepath.Join("histories", name+".json"), marshalHistory(u.t, historyOf(u.t, c, id)))
	}
	u.facts.FirstRuns = firstRuns(u.t, c)
}
