// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestChecks tests section 4, Checks.
func TestChecks(t *testing.T) {
	t.Parallel()
	service := newTarget(t)
	c := newCaller(t)
	shared := c.check(service.URL)
	path := "/v1/checks/" + text(shared["id"])

	t.Run("GET /v1/checks", func(t *testing.T) {
		t.Parallel()
		c := newCaller(t)
		for range 3 {
			c.check(service.URL)
		}
		a := c.want(http.StatusOK, "GET", "/v1/checks?limit=2&offset=1", nil)
		if meta, _ := a.body["meta"].(object); meta["total"] != "3" || len(a.list()) != 2 {
			t.Errorf("answer %s", a.raw)
		}
		for _, check := range a.list() {
			has(t, "check", check, checkShape())
		}
		anonymous(t).want(http.StatusUnauthorized, "GET", "/v1/checks", nil)
	})

	t.Run("POST /v1/checks", func(t *testing.T) {
		t.Parallel()
		c := newCaller(t)
		check := c.check(service.URL)
		has(t, "check", check, checkShape())
		regions, _ := check["regions"].([]any)
		if check["enabled"] != true || check["simultaneous_regions"] != true || check["health_status"] != "unknown" ||
			len(regions) != 1 || regions[0] != "na-east-ewr" {
			t.Errorf("defaults %v", check)
		}
		for _, required := range []string{"name", "type", "config", "interval_seconds"} {
			body := newCheck(service.URL)
			delete(body, required)
			c.want(http.StatusBadRequest, "POST", "/v1/checks", body)
		}
		anonymous(t).want(http.StatusUnauthorized, "POST", "/v1/checks", newCheck(service.URL))
	})

	t.Run("GET /v1/checks/{id}", func(t *testing.T) {
		t.Parallel()
		has(t, "check", withTest(t, c).want(http.StatusOK, "GET", path, nil).data(), checkShape())
		withTest(t, c).want(http.StatusNotFound, "GET", "/v1/checks/00000000-0000-4000-8000-000000000000", nil)
		anonymous(t).want(http.StatusUnauthorized, "GET", path, nil)
	})

	t.Run("PUT /v1/checks/{id}", func(t *testing.T) {
		t.Parallel()
		c := newCaller(t)
		check := c.check(service.URL)
		path := "/v1/checks/" + text(check["id"])
		changes := object{
			"name": "Renamed", "interval_seconds": 120.0, "enabled": false, "regions": []any{"eu-central-fra"},
			"config": object{"url": service.URL + "/other", "timeout_seconds": 5.0},
		}
		for member, value := range changes {
			got := c.want(http.StatusOK, "PUT", path, object{member: value}).data()
			has(t, "check", got, checkShape())
			if encode(t, got[member]) != encode(t, value) {
				t.Errorf("%s is %v, want %v", member, got[member], value)
			}
		}
		parsed, _ := url.Parse(service.URL)
		change := object{"type": "tcp", "config": object{"host": parsed.Hostname(), "port": port(t, parsed)}}
		if got := c.want(http.StatusOK, "PUT", path, change).data(); got["type"] != "tcp" {
			t.Errorf("type %v", got["type"])
		}
		c.want(http.StatusBadRequest, "PUT", path, object{"interval_seconds": 59})
		c.want(http.StatusNotFound, "PUT", "/v1/checks/nonsense", object{"name": "x"})
		anonymous(t).want(http.StatusUnauthorized, "PUT", path, object{"name": "x"})
	})

	t.Run("DELETE /v1/checks/{id}", func(t *testing.T) {
		t.Parallel()
		c := newCaller(t)
		path := "/v1/checks/" + text(c.check(service.URL)["id"])
		anonymous(t).want(http.StatusUnauthorized, "DELETE", path, nil)
		if a := c.want(http.StatusNoContent, "DELETE", path, nil); len(a.raw) != 0 {
			t.Errorf("body %s", a.raw)
		}
		for _, gone := range []string{"", "/results", "/uptime", "/alerts"} {
			c.want(http.StatusNotFound, "GET", path+gone, nil)
		}
		c.want(http.StatusNotFound, "DELETE", path, nil)
	})

	t.Run("GET /v1/checks/{id}/results", func(t *testing.T) {
		t.Parallel()
		c := withTest(t, c)
		eventually(t, "the first result", func() bool { return len(c.want(http.StatusOK, "GET", path+"/results", nil).list()) > 0 })
		for _, result := range c.want(http.StatusOK, "GET", path+"/results?limit=10", nil).list() {
			has(t, "result", result, resultShape())
			metadata, _ := result["metadata"].(object)
			timings, _ := metadata["timings"].(object)
			// An IP address needs no DNS lookup and plain HTTP no TLS handshake.
			has(t, "timings", timings, shape{"connect_ms": "number", "ttfb_ms": "number", "transfer_ms": "number"})
		}
		past := url.QueryEscape(time.Now().Add(-time.Hour).Format(time.RFC3339))
		if got := c.want(http.StatusOK, "GET", path+"/results?to="+past, nil).list(); len(got) != 0 {
			t.Errorf("%d results an hour ago", len(got))
		}
		if got := c.want(http.StatusOK, "GET", path+"/results?from="+past, nil).list(); len(got) == 0 {
			t.Error("no result of the last hour")
		}
		c.want(http.StatusBadRequest, "GET", path+"/results?from=yesterday", nil)
		c.want(http.StatusNotFound, "GET", "/v1/checks/00000000-0000-4000-8000-000000000000/results", nil)
		anonymous(t).want(http.StatusUnauthorized, "GET", path+"/results", nil)
	})

	t.Run("GET /v1/checks/{id}/uptime", func(t *testing.T) {
		t.Parallel()
		c := withTest(t, c)
		eventually(t, "the first result", func() bool {
			return c.want(http.StatusOK, "GET", path+"/uptime", nil).data()["total_checks"] != 0.0
		})
		for _, period := range []string{"1h", "24h", "7d", "30d", "90d"} {
			stats := c.want(http.StatusOK, "GET", path+"/uptime?period="+period, nil).data()
			has(t, "uptime", stats, uptimeShape())
			if stats["period"] != period {
				t.Errorf("period %v, want %s", stats["period"], period)
			}
		}
		if stats := c.want(http.StatusOK, "GET", path+"/uptime", nil).data(); stats["period"] != "24h" {
			t.Errorf("default period %v", stats["period"])
		}
		c.want(http.StatusBadRequest, "GET", path+"/uptime?period=1y", nil)
		anonymous(t).want(http.StatusUnauthorized, "GET", path+"/uptime", nil)
	})

	t.Run("POST /v1/checks/{id}/test", func(t *testing.T) {
		t.Parallel()
		c := newCaller(t)
		path := "/v1/checks/" + text(c.check(service.URL)["id"])
		result := c.want(http.StatusOK, "POST", path+"/test", nil).data()
		has(t, "result", result, resultShape())
		if result["success"] != true || result["status_code"] != 200.0 {
			t.Errorf("result %v", result)
		}
		eventually(t, "the test is listed as a result", func() bool {
			for _, row := range c.want(http.StatusOK, "GET", path+"/results", nil).list() {
				if row["id"] == result["id"] {
					return true
				}
			}
			return false
		})
		dry := c.want(http.StatusOK, "POST", path+"/test?dry_run=true", nil).data()
		if metadata, _ := dry["metadata"].(object); metadata["test"] != true {
			t.Errorf("dry run %v", dry)
		}
		c.want(http.StatusNotFound, "POST", "/v1/checks/00000000-0000-4000-8000-000000000000/test", nil)
		anonymous(t).want(http.StatusUnauthorized, "POST", path+"/test", nil)
	})

	t.Run("GET /v1/checks/{id}/regions", func(t *testing.T) {
		t.Parallel()
		c := withTest(t, c)
		eventually(t, "the loop answers", func() bool {
			rows := c.want(http.StatusOK, "GET", path+"/regions", nil).list()
			return len(rows) == 1 && rows[0]["source"] == "workflow" && text(rows[0]["run_url"]) != "" && rows[0]["state"] == "running"
		})
	})
}

// TestCheckConfigs tests section 2, Check config by type: the members that each type
// accepts, and that any other is refused.
func TestCheckConfigs(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	for kind, config := range map[string]object{
		"http": {
			"url": "http://example.com", "method": "GET", "expected_status_code": 200, "timeout_seconds": 10,
			"headers": object{"Accept": "text/html"},
		},
		"https":     {"url": "https://example.com", "method": "HEAD", "expected_status_code": 204, "timeout_seconds": 10},
		"tcp":       {"host": "example.com", "port": 443, "timeout_seconds": 10},
		"ping":      {"host": "example.com", "timeout_seconds": 10, "packet_count": 3},
		"ssl":       {"host": "example.com", "alert_days_before": 14},
		"multistep": {"steps": []object{{"name": "home", "type": "http", "config": object{"url": "http://example.com"}}}},
		"dns":       {"host": "example.com"}, "throughput": {"url": "http://example.com/file"},
		"smtp-imap": {"smtp": object{"host": "example.com", "port": 25}}, "http3": {"url": "https://example.com"},
		"grpc": {"host": "example.com", "port": 443, "service": "shop"}, "websocket": {"url": "wss://example.com/live", "expect": "ready"},
		"domain": {"domain": "example.com", "alert_days_before": 30},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c := withTest(t, c)
			body := newCheck("")
			body["type"], body["config"], body["enabled"] = kind, config, false
			check := c.want(http.StatusCreated, "POST", "/v1/checks", body).data()
			got, _ := check["config"].(object)
			for member := range config {
				if _, there := got[member]; !there {
					t.Errorf("config.%s is not returned: %v", member, got)
				}
			}
			config := clone(config)
			config["nonsense"] = 1
			body["config"] = config
			if a := c.want(http.StatusBadRequest, "POST", "/v1/checks", body); !strings.Contains(text(a.body["error"]), "nonsense") {
				t.Errorf("the error does not name it: %s", a.raw)
			}
		})
	}
}

// TestRegionValidation tests section 4, the paragraph on regions.
func TestRegionValidation(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	create := func(t *testing.T, regions ...string) answer {
		t.Helper()
		body := newCheck("http://example.com")
		body["regions"], body["enabled"] = regions, false
		return withTest(t, c).do("POST", "/v1/checks", body)
	}

	t.Run("an unknown region gets the full list and a pointer", func(t *testing.T) {
		t.Parallel()
		a := create(t, "moon-base-one")
		details, _ := a.body["details"].(object)
		list, _ := details["valid_regions"].([]any)
		if a.status != http.StatusBadRequest || len(list) != 33 || details["see"] != "/v1/regions" ||
			!strings.Contains(text(a.body["error"]), "/v1/regions") {
			t.Errorf("%d %s", a.status, a.raw)
		}
	})

	t.Run("free uses primary regions only and the error names them", func(t *testing.T) {
		t.Parallel()
		a := create(t, "eu-west-lhr")
		details, _ := a.body["details"].(object)
		list, _ := details["allowed_regions"].([]any)
		if a.status != http.StatusBadRequest || len(list) != 6 || !strings.Contains(text(a.body["error"]), "sa-east-sao") {
			t.Errorf("%d %s", a.status, a.raw)
		}
	})

	t.Run("cloud names are accepted and mapped", func(t *testing.T) {
		t.Parallel()
		for _, name := range []string{"us-east-1", "us-east4", "eastus"} {
			a := create(t, name)
			regions, _ := a.data()["regions"].([]any)
			if a.status != http.StatusCreated || len(regions) != 1 || regions[0] != "na-east-ewr" {
				t.Errorf("%s: %d %s", name, a.status, a.raw)
			}
		}
	})
}

// TestHealthStates tests section 3, Check health_status.
func TestHealthStates(t *testing.T) {
	t.Parallel()
	service := newTarget(t)
	c := newCaller(t)
	check := c.check(service.URL)
	path := "/v1/checks/" + text(check["id"])
	health := func() any { return c.want(http.StatusOK, "GET", path, nil).data()["health_status"] }
	if check["health_status"] != "unknown" || check["last_checked"] != nil {
		t.Errorf("new check %v", check)
	}
	eventually(t, "healthy", func() bool { return health() == "healthy" })
	if got := c.want(http.StatusOK, "GET", path, nil).data(); got["last_checked"] == nil {
		t.Errorf("check %v", got)
	}
	service.broken.Store(true)
	c.want(http.StatusOK, "POST", path+"/test", nil)
	eventually(t, "unhealthy", func() bool { return health() == "unhealthy" })
	service.broken.Store(false)
	c.want(http.StatusOK, "POST", path+"/test", nil)
	eventually(t, "healthy again", func() bool { return health() == "healthy" })
}
