// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/api/apitest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/agentlink"
)

// specimen is a request with a body that the document and the API allow.
type specimen struct {
	method, path string // as the document has it
	at           string // what is asked
	body         map[string]any
	// under limits the changes to members below it; empty: all.
	under string
}

// specimens are requests with a body, for every operation that takes one.
// The resources that they name are owned ones.
func specimens(t *testing.T, owned map[string]string) []specimen {
	t.Helper()
	at := func(path string) string {
		prefix, _, _ := strings.Cut(path, "/{")
		return strings.NewReplacer("{id}", owned[prefix], "{ruleID}", owned["ruleID"], "{recoveryID}", owned["recoveryID"]).Replace(path)
	}
	var all []specimen
	add := func(method, path, body string) {
		all = append(all, specimen{method: method, path: path, at: at(path), body: asked(t, body)})
	}
	const post, put = http.MethodPost, http.MethodPut
	for _, kind := range slices.Sorted(maps.Keys(checkConfigs())) {
		region := "na-east-ewr"
		if kind == "heartbeat" {
			region = kind
		}
		add(post, "/v1/checks", `{"name":"x","type":"`+kind+`","interval_seconds":300,"labels":{"a":"b"},"regions":["`+region+`"],`+
			`"retry":{"attempts":0},"config":`+checkConfigs()[kind]+`}`)
		if kind != "https" {
			all[len(all)-1].under = "config"
		}
	}
	add(post, "/v1/checks/try", `{"type":"https","config":`+checkConfigs()["https"]+`}`)
	add(put, "/v1/checks/{id}", `{"name":"y","config":{"url":"https://example.com/"},"retry":{"attempts":0},"labels":{"a":"b"}}`)
	for _, kind := range slices.Sorted(maps.Keys(channelConfigs())) {
		add(post, "/v1/notification-channels", `{"name":"x","type":"`+kind+`","config":`+channelConfigs()[kind]+`}`)
		if kind != "webhook" {
			all[len(all)-1].under = "config"
		}
	}
	add(put, "/v1/notification-channels/{id}", `{"name":"y","config":`+channelConfigs()["webhook"]+`}`)
	add(post, "/v1/notification-channels/{id}/rotate-secret", `{"overlap_seconds":3600,"force":true}`)
	add(post, "/v1/notification-channels/{id}/recover", `{"since":"2026-03-01T00:00:00Z","until":"2026-03-02T00:00:00Z",`+
		`"statuses":["exhausted"],"event_types":["incident.triggered"]}`)
	channel := owned["/v1/notification-channels"]
	add(post, "/v1/checks/{id}/alerts", `{"name":"x","condition":{"failure_threshold":3},"notification_channel_ids":["`+channel+`"]}`)
	add(post, "/v1/checks/{id}/alerts",
		`{"name":"x","condition_type":"response_time","threshold":5,"notification_channel_ids":["`+channel+`"]}`)
	add(post, "/v1/checks/{id}/alerts",
		`{"name":"x","condition":{"type":"response_time","threshold":5},"notification_channel_ids":["`+channel+`"]}`)
	add(put, "/v1/checks/{id}/alerts/{ruleID}", `{"name":"x","condition":{"failure_threshold":3}}`)
	add(post, "/v1/checks/{id}/alerts/backtest", `{"rules":[{"condition":{"failure_threshold":3}}]}`)
	add(post, "/v1/backtest", `{"label":"a=b","rules":[{"condition":{"failure_threshold":3}}]}`)
	add(post, "/v1/checks/bulk", `{"action":"set","dry_run":true,"ids":["`+owned["/v1/checks"]+`"],"members":{"interval_seconds":300}}`)
	add(post, "/v1/checks/bulk", `{"action":"disable","dry_run":true,"selector":{"labels":["a=b"]}}`)
	add(post, "/v1/apply", `{"project":"p","dry_run":true,"document":{"version":1},"sources":{"a":"b"},"adopt":{}}`)
	add(post, "/v1/status-pages",
		`{"slug":"x","title":"x","groups":[{"name":"g","checks":[{"check_id":"`+owned["/v1/checks"]+`","name":"n"}]}]}`)
	add(put, "/v1/status-pages/{id}",
		`{"title":"x","groups":[{"name":"g","checks":[{"check_id":"`+owned["/v1/checks"]+`","name":"n"}]}]}`)
	add(put, "/v1/status-pages/{id}/password", `{"password":"a long password"}`)
	add(put, "/v1/status-pages/{id}/logo", `{"image":"`+pngLogo+`"}`)
	window := `"starts_at":"` + localTime(
		1e15,
	) + `","duration_seconds":3600,"scope":{"check_ids":["` + owned["/v1/checks"] + `"]},"timezone":"UTC"`
	add(post, "/v1/maintenance-windows", `{"name":"x",`+window+`}`)
	add(put, "/v1/maintenance-windows/{id}", `{"name":"x",`+window+`}`)
	add(post, "/v1/maintenance-windows/preview", `{`+window+`}`)
	add(post, "/v1/subscriptions", `{"name":"x","channel_id":"`+channel+`","events":["incident.*"],"selector":{"severity_min":"warning"}}`)
	add(put, "/v1/subscriptions/{id}", `{"name":"x","events":["incident.*"],"selector":{"check_ids":["`+owned["/v1/checks"]+`"]}}`)
	add(post, "/v1/drills", `{"rule_ids":["`+owned["/v1/alert-rules"]+`"],"regions":["na-east-ewr"],"expect_within_seconds":60}`)
	monthly := `"recurrence":{"every":"monthly","day":1,"hour":9,"timezone":"UTC"}`
	add(post, "/v1/locations", `{"name":"x","key":"loc-x","labels":{"a":"b"}}`)
	add(put, "/v1/locations/{id}", `{"name":"x","labels":{"a":"b"}}`)
	quarterly := `"recurrence":{"every":"quarterly","day":28,"hour":9,"timezone":"UTC"}`
	add(post, "/v1/report-schedules", `{"name":"x","channel_ids":["`+channel+`"],"labels":["a=b"],"target_percentage":99,`+quarterly+`}`)
	add(put, "/v1/report-schedules/{id}", `{"name":"x","channel_ids":["`+channel+`"],"labels":["a=b"],"target_percentage":99,`+quarterly+`}`)
	add(post, "/v1/drill-schedules", `{"name":"x","channel_ids":["`+channel+`"],`+monthly+`}`)
	add(put, "/v1/drill-schedules/{id}", `{"name":"x","rule_ids":["`+owned["/v1/alert-rules"]+`"],`+monthly+`}`)
	add(post, "/v1/incidents/{id}/updates", `{"text":"x","state":"identified"}`)
	add(post, "/v1/incidents/{id}/resolve", `{"note":"x"}`)
	add(post, "/v1/api-keys", `{"name":"x","scopes":["read"]}`)
	add(post, "/v1/invitations", `{"email":"x@example.com","role":"viewer"}`)
	add(put, "/v1/organization", `{"name":"x"}`)
	add(http.MethodDelete, "/v1/organization", `{"confirm":"not its name"}`) // which would end the test
	add(http.MethodDelete, "/v1/auth/me", `{"confirm":"x@example.com"}`)
	add(put, "/v1/members/{id}", `{"role":"owner"}`)
	add(put, "/v1/auth/email", `{"new_email":"y@example.com"}`)
	add(put, "/v1/auth/password", `{"new_password":"difference engine"}`)
	add(post, "/v1/auth/login", `{"email":"x@example.com","password":"difference engine"}`)
	add(post, "/v1/auth/quick-signup", `{"email":"x@example.com","org_name":"x"}`)
	add(post, "/v1/auth/recover", `{"email":"x@example.com"}`)
	add(post, "/v1/auth/signup", `{"email":"z@example.com","password":"difference engine","name":"x","organization_name":"x"}`)
	add(post, "/v1/auth/signup/request", `{"email":"x@example.com","name":"x","organization_name":"x"}`)
	add(post, "/v1/auth/signup/confirm", `{"token":"x","password":"difference engine"}`)
	add(post, "/v1/auth/verify", `{"token":"x"}`)
	for _, path := range []string{
		"/v1/auth/email/approve", "/v1/auth/email/stop", "/v1/auth/signup/inspect", "/v1/auth/verify/inspect", "/v1/invitations/inspect",
	} {
		add(post, path, `{"token":"x"}`)
	}
	add(post, agentlink.PathSessions, `{"protocol":1,"version":"v1","name":"pi","instance":"00000000-0000-4000-8000-000000000001",
		"key":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=","types":["http"]}`)
	const seen = `{"success":false,"response_time_ms":1,"error":"x","status_code":503,"metadata":{},"evidence":{"address":"x"}}`
	add(post, agentlink.PathResults, `{"sent_at":"2026-03-01T00:00:00Z","clock_difference_ms":0,"spool":{"results":0,"bytes":0,"dropped":0},
		"checks":1,"leaving":false,"blind":false,"results":[{"check_id":"00000000-0000-4000-8000-000000000001","revision":1,
		"slot":"2026-03-01T00:00:00Z","time":"2026-03-01T00:00:00Z","observation":`+seen+`}]}`)
	add(post, agentlink.PathTask, `{"time":"2026-03-01T00:00:00Z","observation":`+seen+`}`)
	add(post, "/v1/invitations/accept", `{"token":"x","name":"x","password":"difference engine"}`)
	return all
}

// TestForbiddenBodies changes each member of each body to what the document does not allow: the
// API refuses it, and names the member.
func TestForbiddenBodies(t *testing.T) {
	t.Parallel()
	b := setup(t, func(d *api.Deps) { d.Config.AddressRate, d.Config.EnterpriseRate = 1e6, 1e6 })
	a := b.tier(t, b.signup(t), account.TierEnterprise)
	agent := newPlace(t, a, "Laboratory")
	c := documented(t)
	tried, wrong := map[string]bool{}, []wrongBody{}
	for _, s := range specimens(t, belongings(t, b, a)) {
		tried[s.method+" "+s.path] = true
		valid, _ := json.Marshal(s.body)
		if err := c.Request(s.method, s.path, valid); err != nil {
			t.Errorf("%s %s: the specimen is forbidden: %v", s.method, s.path, err)
		}
		by := a.client
		if ofAgents(s.path) {
			by = agent.client
			s.at = strings.NewReplacer("{session}", path.Base(agent.session), "{task}", uuid.NewString()).Replace(s.at)
		}
		got := by.do(t, s.method, s.at, s.body)
		if member := got.detail("member"); got.status == http.StatusBadRequest && member != "token" && member != "confirm" {
			t.Errorf("%s %s: the specimen is refused: %s", s.method, s.path, got.raw)
		}
		schema, _ := c.At("paths", s.path, strings.ToLower(s.method), "requestBody", "content", apitest.JSON, "schema").(map[string]any)
		changes := &changer{contract: c, base: s.body}
		changes.walk(schema, nil, 0)
		for _, one := range changes.distinct() {
			if strings.HasPrefix(one.at, s.under) && c.Request(s.method, s.path, one.body) != nil {
				wrong = append(wrong, wrongBody{change: one, of: s, by: by})
			}
		}
	}
	for _, one := range c.Operations() {
		if one.RequestBody != nil && !tried[one.Method+" "+one.Path] {
			t.Errorf("%s %s has no specimen", one.Method, one.Path)
		}
	}
	t.Logf("%d forbidden bodies", len(wrong))
	if len(wrong) < 2000 {
		t.Errorf("only %d bodies were tried", len(wrong))
	}
	// What is refused changes nothing, so the order does not matter, and each waits for an answer.
	for part := range slices.Chunk(wrong, (len(wrong)+partsOfBodies-1)/partsOfBodies) {
		t.Run(part[0].of.method+part[0].of.path, func(t *testing.T) {
			t.Parallel()
			for _, one := range part {
				one.refused(t, one.by.do(t, one.of.method, one.of.at, string(one.body)), one.of)
			}
		})
	}
}

// partsOfBodies are sent side by side.
const partsOfBodies = 8

// wrongBody is a change that the document forbids, and who sends it.
type wrongBody struct {
	change

	of specimen
	by *client
}

// refused holds that an answer refuses the change, and names the member or what had to be made
// around it.
func (c change) refused(t *testing.T, got answer, s specimen) {
	t.Helper()
	member, _ := got.detail("member").(string)
	switch {
	case got.status != http.StatusBadRequest:
		t.Errorf("%s %s answers %d to a forbidden %s: %.300s", s.method, s.path, got.status, c.at, c.body)
	case c.within == "" && (c.at == "condition_type" || c.at == "threshold"):
		// The error of a condition names the form that is closest to what was sent.
	case !strings.HasPrefix(member, c.within) || c.within == "" && !strings.HasPrefix(member, strings.FieldsFunc(c.at, separates)[0]):
		t.Errorf("%s %s names %q instead of %s: %s: %.300s", s.method, s.path, member, c.at, got.problem(), c.body)
	}
}

func separates(r rune) bool { return r == '.' || r == '[' }
