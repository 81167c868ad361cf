// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// TestSystem tests section 4, System, and section 9.
func TestSystem(t *testing.T) {
	t.Parallel()

	t.Run("GET /", func(t *testing.T) {
		t.Parallel()
		data := anonymous(t).want(http.StatusOK, "GET", "/", nil).data()
		has(t, "data", data, shape{"message": "string", "version": "string", "status": "string"})
		if data["version"] != "v1" {
			t.Errorf("version %v", data["version"])
		}
	})

	t.Run("GET /health", func(t *testing.T) {
		t.Parallel()
		has(t, "data", anonymous(t).want(http.StatusOK, "GET", "/health", nil).data(), shape{"status": "string"})
	})

	t.Run("GET /ready", func(t *testing.T) {
		t.Parallel()
		has(t, "data", anonymous(t).want(http.StatusOK, "GET", "/ready", nil).data(), shape{
			"database": "string", "migrations": "string", "temporal": "string", "regions": "string",
		})
	})

	t.Run("GET /v1/regions", func(t *testing.T) {
		t.Parallel()
		a := anonymous(t).want(http.StatusOK, "GET", "/v1/regions", nil)
		counts := make(map[string]int)
		var primary []string
		for _, region := range a.list() {
			has(t, "region", region, regionShape())
			key := text(region["key"])
			if !regexp.MustCompile(`^(na|sa|eu|ap|au|af)-[a-z]+-[a-z]{3}$`).MatchString(key) {
				t.Errorf("key %s", key)
			}
			counts[key[:2]]++
			if region["primary"] == true {
				primary = append(primary, key)
				if region["status"] != "online" {
					t.Errorf("%s is %v", key, region["status"])
				}
			}
		}
		for prefix, want := range map[string]int{"na": 11, "sa": 2, "eu": 9, "ap": 8, "au": 2, "af": 1} {
			if counts[prefix] != want {
				t.Errorf("%d regions %s-, want %d", counts[prefix], prefix, want)
			}
		}
		for _, key := range []string{"na-east-ewr", "eu-central-fra", "ap-southeast-sin", "sa-east-sao", "af-south-jnb", "au-southeast-syd"} {
			if !strings.Contains(strings.Join(primary, " "), key) {
				t.Errorf("%s is not primary", key)
			}
		}
		if meta, _ := a.body["meta"].(object); meta["total"] != "33" || len(primary) != 6 {
			t.Errorf("total %v, primary %v", meta, primary)
		}
	})

	t.Run("GET /openapi.json", func(t *testing.T) {
		t.Parallel()
		a := anonymous(t).want(http.StatusOK, "GET", "/openapi.json", nil)
		info, _ := a.body["info"].(object)
		if info["version"] != "1.0.0" {
			t.Errorf("info %v", info)
		}
		paths, _ := a.body["paths"].(object)
		for _, path := range []string{
			"/", "/health", "/v1/regions", "/v1/auth/signup", "/v1/auth/login", "/v1/auth/quick-signup", "/v1/auth/me", "/v1/auth/email",
			"/v1/auth/resend-verification", "/v1/checks", "/v1/checks/{id}", "/v1/checks/{id}/results",
			"/v1/checks/{id}/uptime", "/v1/checks/{id}/test",
			"/v1/checks/{id}/alerts", "/v1/checks/{id}/alerts/{ruleID}", "/v1/notification-channels", "/v1/notification-channels/{id}",
			"/v1/template-variables", "/v1/incidents", "/v1/incidents/{id}", "/v1/incidents/{id}/acknowledge", "/v1/stream/alerts",
		} {
			if paths[path] == nil {
				t.Errorf("%s is not described", path)
			}
		}
		for _, gone := range []string{`"422"`, `"501"`} {
			if strings.Contains(string(a.raw), gone) {
				t.Errorf("%s is described", gone)
			}
		}
	})
}
