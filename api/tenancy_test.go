// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/listing"
)

// operationsWithIDs are all operations of the document whose path names
// something, so that a new one cannot be forgotten here.
func operationsWithIDs(t *testing.T) map[string][]string {
	t.Helper()
	doc := document(t)
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatalf("the document is not valid OpenAPI: %v", err)
	}
	found := make(map[string][]string)
	for path, item := range doc.Paths.Map() {
		if !strings.Contains(path, "{") || ofAgents(path) {
			continue
		}
		for method := range item.Operations() {
			found[path] = append(found[path], method)
		}
		slices.Sort(found[path])
	}
	return found
}

// ofAgents reports whether a path is for agents: only the token of a location opens it, and TestAgentSession has who
// else tries.
func ofAgents(path string) bool { return strings.HasPrefix(path, "/v1/agent/") }

// belongings are what one organization owns: for each kind of resource, by the
// part of the path before the id, a way to make one.
func belongings(t *testing.T, b *testServer, a person) map[string]string {
	t.Helper()
	e := b.episode(t, a)
	incident := e.open(t)
	deliveries, _, err := b.store.Deliveries(t.Context(), a.org, listing.DeliveryFilter{Page: listing.Page{Limit: 1}})
	if err != nil || len(deliveries) != 1 {
		t.Fatalf("deliveries %v, %v", deliveries, err)
	}
	key := a.want(t, http.StatusCreated, http.MethodPost, "/v1/api-keys", map[string]any{"name": "mine"}).data(t)
	invitation := a.want(t, http.StatusCreated, http.MethodPost, "/v1/invitations",
		map[string]any{"email": uuid.NewString() + "@example.com", "role": "viewer"}).data(t)
	return map[string]string{
		"/v1/checks":                e.check.String(),
		"/v1/api-keys":              text(key, "id"),
		"/v1/notification-channels": e.channel.String(),
		"/v1/alert-rules":           e.rule.String(),
		"/v1/status-pages":          text(a.want(t, http.StatusCreated, http.MethodPost, "/v1/status-pages", pageOf("tenant")).data(t), "id"),
		"/v1/maintenance-windows": text(
			a.want(t, http.StatusCreated, http.MethodPost, "/v1/maintenance-windows", windowOf(e.check.String())).data(t),
			"id",
		),
		"/v1/subscriptions": text(
			a.want(t, http.StatusCreated, http.MethodPost, "/v1/subscriptions", subscriptionTo(e.channel.String())).data(t), "id",
		),
		"/v1/members":       a.user.String(),
		"/v1/invitations":   text(invitation, "id"),
		"/v1/auth/sessions": sessionOf(t, b, a),
		"/v1/incidents":     incident.String(),
		"/v1/deliveries":    deliveries[0].ID.String(),
		"/v1/drills":        drillOf(t, a, e.channel),
		"/v1/drill-schedules": text(
			a.want(t, http.StatusCreated, http.MethodPost, "/v1/drill-schedules", scheduleOf(e.channel.String())).data(t), "id",
		),
		"/v1/report-schedules": text(
			a.want(t, http.StatusCreated, http.MethodPost, "/v1/report-schedules", reportScheduleOf(e.channel.String())).data(t), "id",
		),
		"/v1/locations": text(
			a.want(t, http.StatusCreated, http.MethodPost, "/v1/locations", map[string]any{"name": "Office"}).data(t), "id",
		),
		"ruleID": e.rule.String(),
		"recoveryID": text(a.want(t, http.StatusAccepted, http.MethodPost, "/v1/notification-channels/"+e.channel.String()+"/recover",
			map[string]any{"since": "2026-03-01T00:00:00Z"}).data(t), "id"),
	}
}

// snapshot is everything that an organization sees of its own.
func snapshot(t *testing.T, a person) string {
	t.Helper()
	var all strings.Builder
	paths := []string{
		"/v1/checks",
		"/v1/api-keys",
		"/v1/auth/me",
		"/v1/notification-channels",
		"/v1/incidents",
		"/v1/deliveries",
		"/v1/members",
		"/v1/status-pages",
		"/v1/maintenance-windows",
		"/v1/subscriptions",
		"/v1/drills",
		"/v1/drill-schedules",
		"/v1/report-schedules",
		"/v1/locations",
		"/v1/invitations",
		"/v1/auth/sessions",
	}
	for _, check := range a.want(t, http.StatusOK, http.MethodGet, "/v1/checks", nil).rows(t) {
		paths = append(paths, "/v1/checks/"+text(check, "id")+"/alerts")
	}
	for _, path := range paths {
		all.Write(a.want(t, http.StatusOK, http.MethodGet, path, nil).raw)
	}
	// When a key was used last changes with every look.
	return regexp.MustCompile(`"last_used_at":[^,}]*`).ReplaceAllString(all.String(), "")
}

// TestTenancy tries every operation that takes an id with another
// organization's: it is not found, and nothing changes.
func TestTenancy(t *testing.T) {
	t.Parallel()
	b := setup(t)
	owner, stranger := b.signup(t), b.signup(t)
	owned := belongings(t, b, owner)
	before := snapshot(t, owner)
	tried := 0
	for path, methods := range operationsWithIDs(t) {
		prefix, _, _ := strings.Cut(path, "/{")
		id, ok := owned[prefix]
		if !ok {
			t.Errorf("no one owns anything under %s: teach belongings to make one", prefix)
			continue
		}
		target := strings.Replace(path, "{id}", id, 1)
		target = regexp.MustCompile(`\{(\w+)\}`).ReplaceAllStringFunc(target, func(name string) string { return owned[strings.Trim(name, "{}")] })
		for _, method := range methods {
			var body any
			switch {
			case strings.HasSuffix(path, "/resolve"):
				body = map[string]any{"note": "stolen"}
			case strings.HasSuffix(path, "/updates"):
				body = map[string]any{"text": "stolen", "state": "resolved"}
			case strings.HasSuffix(path, "/recover"):
				body = map[string]any{"since": "2026-03-01T00:00:00Z"}
			case strings.HasSuffix(path, "/rotate-secret"):
				body = map[string]any{"force": true}
			case strings.HasSuffix(path, "/password"):
				body = map[string]any{"password": "stolen page"}
			case strings.HasSuffix(path, "/logo"):
				body = map[string]any{"image": pngLogo}
			case strings.HasPrefix(path, "/v1/status-pages"):
				body = map[string]any{"title": "stolen"}
			case method == http.MethodPost && strings.HasSuffix(path, "/alerts"):
				body = map[string]any{
					"name":                     "stolen",
					"condition":                map[string]any{"health_status": "down"},
					"notification_channel_ids": []string{owned["/v1/notification-channels"]},
				}
			case strings.HasSuffix(path, "/backtest"):
				body = map[string]any{"rules": []any{map[string]any{"condition": map[string]any{"health_status": "down"}}}}
			case prefix == "/v1/members":
				body = map[string]any{"role": "viewer"}
			case method == http.MethodPost || method == http.MethodPut:
				body = map[string]any{"name": "stolen"}
			}
			tried++
			r := stranger.do(t, method, target, body)
			if r.status != http.StatusNotFound || r.body["code"] != "not_found" {
				t.Errorf("%s %s: status %d, want 404: %s", method, path, r.status, r.raw)
			}
			if strings.Contains(string(r.raw), id) {
				t.Errorf("%s %s reveals it: %s", method, path, r.raw)
			}
		}
	}
	t.Logf("%d operations tried", tried)
	if after := snapshot(t, owner); after != before {
		t.Errorf("before %s\nafter  %s", before, after)
	}
}

// TestMassAssignment holds that members which cannot be set change nothing,
// wherever they are accepted at all.
func TestMassAssignment(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a, other := b.signup(t), b.signup(t)
	check := a.check(t)
	delete(check, "warnings") // of the creation
	path := "/v1/checks/" + text(check, "id")
	foreign := map[string]any{
		"id": "00000000-0000-4000-8000-000000000000", "org_id": other.org.String(), "created_at": "2001-01-01T00:00:00Z",
		"updated_at": "2001-01-01T00:00:00Z", "health_status": "healthy", "last_checked": "2001-01-01T00:00:00Z", "expires_at": nil,
		"revision": 99,
	}
	got := a.want(t, http.StatusOK, http.MethodPut, path, foreign).data(t)
	if encoded(t, got) != encoded(t, check) {
		t.Errorf("before %v\nafter  %v", check, got)
	}
	if rows := other.want(t, http.StatusOK, http.MethodGet, "/v1/checks", nil).rows(t); len(rows) != 0 {
		t.Errorf("the other organization has %v", rows)
	}
	for _, member := range []string{"tier", "user_id", "version", "anchor", "role"} {
		a.want(t, http.StatusBadRequest, http.MethodPut, path, map[string]any{member: "x"})
	}
	for _, member := range []string{"tier", "id", "email_verified"} {
		body := map[string]any{"email": "m@example.com", "org_name": "M", member: "x"}
		b.want(t, http.StatusBadRequest, http.MethodPost, "/v1/auth/quick-signup", body)
	}
}
