// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// channel creates a webhook channel.
func (c caller) channel(url string) string {
	c.t.Helper()
	body := object{"name": "Hook", "type": "webhook", "config": object{"url": url, "secret": "shared secret"}}
	return text(c.want(http.StatusCreated, "POST", "/v1/notification-channels", body).data()["id"])
}

// TestAlertRules tests section 4, Alert rules.
func TestAlertRules(t *testing.T) {
	t.Parallel()
	service, hook := newTarget(t), newSink(t)
	c := newCaller(t)
	path := "/v1/checks/" + text(c.check(service.URL)["id"]) + "/alerts"
	channels := []string{c.channel(hook.URL)}
	none := "/v1/checks/00000000-0000-4000-8000-000000000000/alerts"

	t.Run("POST /v1/checks/{id}/alerts, reference form", func(t *testing.T) {
		t.Parallel()
		c := withTest(t, c)
		for kind, threshold := range map[string]int{"consecutive_failures": 3, "response_time": 500, "status_code": 500, "ssl_expiry": 14} {
			body := object{"name": kind, "condition_type": kind, "threshold": threshold, "notification_channel_ids": channels}
			rule := c.want(http.StatusCreated, "POST", path, body).data()
			has(t, "rule", rule, ruleShape())
			if rule["condition_type"] != kind || rule["threshold"] != float64(threshold) ||
				rule["notify_on"] != "unhealthy" || rule["enabled"] != true {
				t.Errorf("rule %v", rule)
			}
			for _, required := range []string{"name", "condition_type", "threshold", "notification_channel_ids"} {
				body := clone(body)
				delete(body, required)
				c.want(http.StatusBadRequest, "POST", path, body)
			}
			body["notification_channel_ids"] = []string{}
			c.want(http.StatusBadRequest, "POST", path, body)
		}
		anonymous(t).want(http.StatusUnauthorized, "POST", path, object{})
	})

	t.Run("POST /v1/checks/{id}/alerts, guide-level form", func(t *testing.T) {
		t.Parallel()
		c := withTest(t, c)
		path := "/v1/checks/" + text(c.check(service.URL)["id"]) + "/alerts" // the free plan allows ten rules of a check
		for key, value := range map[string]any{
			"health_status": "down", "failure_threshold": 3.0, "response_time_ms": 500.0, "dns_changed": true, "ssl_days_remaining": 14.0,
		} {
			condition := object{key: value, "severity": "warning"}
			rule := c.want(http.StatusCreated, "POST", path, object{
				"name": key, "condition": condition, "notification_channel_ids": channels, "notify_on": "both",
			}).data()
			has(t, "rule", rule, ruleShape())
			got, _ := rule["condition"].(object)
			if got[key] != value || got["severity"] != "warning" || rule["notify_on"] != "both" {
				t.Errorf("%s: rule %v", key, rule)
			}
		}
	})

	t.Run("POST /v1/checks/{id}/alerts, legacy structured form", func(t *testing.T) {
		t.Parallel()
		c := withTest(t, c)
		path := "/v1/checks/" + text(c.check(service.URL)["id"]) + "/alerts" // the free plan allows ten rules of a check
		for _, kind := range []string{"consecutive_failures", "response_time", "ssl_expiry"} {
			condition := object{"type": kind, "threshold": 3, "operator": "gte"}
			rule := c.want(http.StatusCreated, "POST", path, object{
				"name": kind, "condition": condition, "notification_channel_ids": channels,
			}).data()
			if rule["condition_type"] != kind || rule["threshold"] != 3.0 {
				t.Errorf("rule %v", rule)
			}
			condition["operator"] = "lte"
			c.want(http.StatusBadRequest, "POST", path, object{"name": kind, "condition": condition, "notification_channel_ids": channels})
		}
	})

	t.Run("an unrecognized condition is a 400 that names the accepted forms", func(t *testing.T) {
		t.Parallel()
		c := withTest(t, c)
		for _, condition := range []any{
			object{},
			object{"severity": "critical"},
			object{"colour": "red"},
			object{"failure_threshold": "3"},
			object{"failure_threshold": -1},
			"down",
			[]any{},
		} {
			a := c.want(http.StatusBadRequest, "POST", path, object{"name": "x", "condition": condition, "notification_channel_ids": channels})
			for _, form := range []string{"health_status", "failure_threshold"} {
				if !strings.Contains(text(a.body["error"]), form) {
					t.Errorf("%v: %s is not named: %s", condition, form, a.raw)
				}
			}
		}
	})

	t.Run("GET /v1/checks/{id}/alerts", func(t *testing.T) {
		t.Parallel()
		c := withTest(t, c)
		c.rule(path, channels)
		rules := c.want(http.StatusOK, "GET", path, nil).list()
		if len(rules) == 0 {
			t.Error("no rule")
		}
		for _, rule := range rules {
			has(t, "rule", rule, ruleShape())
		}
		c.want(http.StatusNotFound, "GET", none, nil)
		anonymous(t).want(http.StatusUnauthorized, "GET", path, nil)
	})

	t.Run("GET /v1/checks/{id}/alerts/{ruleID}", func(t *testing.T) {
		t.Parallel()
		c := withTest(t, c)
		id := c.rule(path, channels)
		has(t, "rule", c.want(http.StatusOK, "GET", path+"/"+id, nil).data(), ruleShape())
		c.want(http.StatusNotFound, "GET", path+"/00000000-0000-4000-8000-000000000000", nil)
		anonymous(t).want(http.StatusUnauthorized, "GET", path+"/"+id, nil)
	})

	t.Run("DELETE /v1/checks/{id}/alerts/{ruleID}", func(t *testing.T) {
		t.Parallel()
		c := withTest(t, c)
		id := c.rule(path, channels)
		anonymous(t).want(http.StatusUnauthorized, "DELETE", path+"/"+id, nil)
		c.want(http.StatusNoContent, "DELETE", path+"/"+id, nil)
		c.want(http.StatusNotFound, "DELETE", path+"/"+id, nil)
	})
}

// rule creates a rule that fires on the first failure and notifies of incident and recovery.
func (c caller) rule(path string, channels []string) string {
	c.t.Helper()
	body := object{"name": "Down", "condition": object{"failure_threshold": 1}, "notification_channel_ids": channels, "notify_on": "both"}
	return text(c.want(http.StatusCreated, "POST", path, body).data()["id"])
}

// TestNotificationChannels tests section 4, Notification channels, and section 2, Channel
// config by type.
func TestNotificationChannels(t *testing.T) {
	t.Parallel()
	const path = "/v1/notification-channels"
	c := newCaller(t)
	configs := map[string][]object{
		"email":   {{"to": []any{"ops@example.com"}}, {"email": "ops@example.com"}},
		"webhook": {{"url": "http://127.0.0.1:9/hook", "method": "PUT", "headers": object{"X-Team": "a"}, "secret": "shared secret"}},
		"push":    {{"topic": "alerts"}, {"topic": "alerts", "server": "http://127.0.0.1:9"}},
		"chat":    {{"webhook_url": "http://127.0.0.1:9/chat"}},
		"pager":   {{"routing_key": "0123456789abcdef0123456789abcdef"}},
	}
	for kind, forms := range configs {
		t.Run("POST /v1/notification-channels, "+kind, func(t *testing.T) {
			t.Parallel()
			c := withTest(t, c)
			for _, config := range forms {
				channel := c.want(http.StatusCreated, "POST", path, object{"name": kind, "type": kind, "config": config}).data()
				has(t, "channel", channel, channelShape())
				got, _ := channel["config"].(object)
				for member, value := range config {
					want := value
					switch member {
					case "secret", "routing_key":
						want = "***"
					case "webhook_url": // the path is the credential
						want = "http://127.0.0.1:9/***"
					}
					if encode(t, got[member]) != encode(t, want) {
						t.Errorf("config.%s is %v, want %v", member, got[member], want)
					}
				}
			}
			for _, required := range []string{"name", "type", "config"} {
				body := object{"name": kind, "type": kind, "config": forms[0]}
				delete(body, required)
				c.want(http.StatusBadRequest, "POST", path, body)
			}
			c.want(http.StatusBadRequest, "POST", path, object{"name": kind, "type": kind, "config": object{}})
		})
	}

	t.Run("GET /v1/notification-channels", func(t *testing.T) {
		t.Parallel()
		c := withTest(t, c)
		c.channel("http://127.0.0.1:9/")
		for _, channel := range c.want(http.StatusOK, "GET", path, nil).list() {
			has(t, "channel", channel, channelShape())
		}
		anonymous(t).want(http.StatusUnauthorized, "GET", path, nil)
	})

	t.Run("GET PUT DELETE /v1/notification-channels/{id}", func(t *testing.T) {
		t.Parallel()
		c := withTest(t, c)
		at := path + "/" + c.channel("http://127.0.0.1:9/")
		channel := c.want(http.StatusOK, "GET", at, nil).data()
		has(t, "channel", channel, channelShape())
		channel["name"], channel["enabled"] = "Renamed", false
		if got := c.want(http.StatusOK, "PUT", at, channel).data(); got["name"] != "Renamed" || got["enabled"] != false {
			t.Errorf("channel %v", got)
		}
		c.want(http.StatusBadRequest, "PUT", at, object{"config": object{"url": "ftp://example.com"}})
		for _, method := range []string{"GET", "DELETE"} {
			anonymous(t).want(http.StatusUnauthorized, method, at, nil)
		}
		c.want(http.StatusNoContent, "DELETE", at, nil)
		for _, method := range []string{"GET", "DELETE"} {
			c.want(http.StatusNotFound, method, at, nil)
		}
		c.want(http.StatusNotFound, "PUT", at, object{"name": "x"})
	})

	t.Run("GET /v1/template-variables", func(t *testing.T) {
		t.Parallel()
		var names []string
		for _, variable := range anonymous(t).want(http.StatusOK, "GET", "/v1/template-variables", nil).list() {
			has(t, "variable", variable, shape{
				"name": "string", "placeholder": "string", "type": "string", "description": "string", "example": "string",
			})
			names = append(names, text(variable["name"]))
		}
		for _, name := range []string{"check_name", "error_message", "failure_count"} {
			if !slices.Contains(names, name) {
				t.Errorf("%s is not listed", name)
			}
		}
	})
}

// TestIncidents tests section 3, Incident status, and section 4, Incidents: it follows the
// rows of both tables through one incident.
func TestIncidents(t *testing.T) {
	t.Parallel()
	service, hook := newTarget(t), newSink(t)
	c := newCaller(t)
	check := text(c.check(service.URL)["id"])
	eventually(t, "the first result", func() bool {
		return c.want(http.StatusOK, "GET", "/v1/checks/"+check, nil).data()["health_status"] == "healthy"
	})
	c.rule("/v1/checks/"+check+"/alerts", []string{c.channel(hook.URL)})
	incidents := func(query string) []object {
		return c.want(http.StatusOK, "GET", "/v1/incidents?check_id="+check+query, nil).list()
	}
	probe := func() { c.want(http.StatusOK, "POST", "/v1/checks/"+check+"/test", nil) }
	received := func(kind string) bool {
		return slices.ContainsFunc(hook.all(), func(r request) bool { return r.header.Get("X-Service-Event") == kind })
	}

	// (none) -> active, on the first result that makes a rule fire.
	service.broken.Store(true)
	probe()
	eventually(t, "an incident opens", func() bool { return len(incidents("&status=active")) == 1 })
	incident := incidents("")[0]
	has(t, "incident", incident, incidentShape())
	at := "/v1/incidents/" + text(incident["id"])
	has(t, "incident", c.want(http.StatusOK, "GET", at, nil).data(), incidentShape())
	eventually(t, "the channel receives the incident", func() bool { return received("incident.triggered") })

	// (none), while an incident is open: no new incident.
	probe()
	probe()

	// active -> acknowledged.
	acknowledged := c.want(http.StatusOK, "POST", at+"/acknowledge", nil).data()
	if acknowledged["status"] != "acknowledged" || acknowledged["acknowledged_at"] == nil {
		t.Errorf("acknowledged %v", acknowledged)
	}
	if again := c.want(http.StatusOK, "POST", at+"/acknowledge", nil).data(); encode(t, again) != encode(t, acknowledged) {
		t.Errorf("again %v", again)
	}
	if n := len(incidents("")); n != 1 {
		t.Errorf("%d incidents in one episode", n)
	}

	// acknowledged -> resolved, when the check recovers and no rule fires.
	service.broken.Store(false)
	probe()
	eventually(t, "the incident resolves", func() bool { return len(incidents("&status=resolved")) == 1 })
	resolved := c.want(http.StatusOK, "GET", at, nil).data()
	if resolved["resolved_at"] == nil || resolved["resolution"] != "automatic" {
		t.Errorf("resolved %v", resolved)
	}
	eventually(t, "the channel receives the recovery", func() bool { return received("incident.resolved") })
	c.want(http.StatusConflict, "POST", at+"/acknowledge", nil)

	// active -> resolved, by hand.
	service.broken.Store(true)
	probe()
	eventually(t, "another incident opens", func() bool { return len(incidents("&status=active")) == 1 })
	byHand := "/v1/incidents/" + text(incidents("&status=active")[0]["id"])
	got := c.want(http.StatusOK, "POST", byHand+"/resolve", object{"note": "planned"}).data()
	if got["status"] != "resolved" || got["resolution"] != "manual" || got["note"] != "planned" {
		t.Errorf("resolved by hand %v", got)
	}
	if list := incidents("&limit=1"); len(list) != 1 || list[0]["id"] == incident["id"] {
		t.Errorf("the newest is not first: %v", list)
	}
	for _, query := range []string{"?status=broken", "?limit=0", "?offset=-1"} {
		c.want(http.StatusBadRequest, "GET", "/v1/incidents"+query, nil)
	}
	none := "/v1/incidents/00000000-0000-4000-8000-000000000000"
	c.want(http.StatusNotFound, "GET", none, nil)
	c.want(http.StatusNotFound, "POST", none+"/acknowledge", nil)
	newCaller(t).want(http.StatusNotFound, "GET", at, nil)
	anonymous(t).want(http.StatusUnauthorized, "GET", at, nil)
	anonymous(t).want(http.StatusUnauthorized, "POST", at+"/acknowledge", nil)
	signatures(t, hook)
}

// signatures tests section 6, item 2: deliveries are signed with the channel's secret.
func signatures(t *testing.T, hook *sink) {
	t.Helper()
	for _, r := range hook.all() {
		mac := hmac.New(sha256.New, []byte("shared secret"))
		mac.Write(r.body)
		if want := "sha256=" + hex.EncodeToString(mac.Sum(nil)); r.header.Get("X-Service-Signature") != want {
			t.Errorf("signature %s, want %s", r.header.Get("X-Service-Signature"), want)
		}
		var event struct {
			ID, Type, Version string
			Data              map[string]json.RawMessage
		}
		if err := json.Unmarshal(r.body, &event); err != nil || event.ID == "" || event.Data["incident"] == nil || event.Data["check"] == nil {
			t.Errorf("body %s (%v)", r.body, err)
		}
	}
}
