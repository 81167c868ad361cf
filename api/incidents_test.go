// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

func TestIncident(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	e := b.episode(t, a)
	b.record(t, result(e.check, b.clock.Now(), false))
	id := e.open(t)
	got := a.want(t, http.StatusOK, http.MethodGet, e.incidentPath, nil).data(t)
	trigger, _ := got["trigger"].(map[string]any)
	seen, _ := trigger["result"].(map[string]any)
	if got["id"] != id.String() || got["check_id"] != e.check.String() || got["alert_rule_id"] != e.rule.String() ||
		got["status"] != "active" || got["severity"] != "critical" || got["title"] != "Home page is failing" ||
		got["acknowledged_at"] != nil || got["resolved_at"] != nil || got["resolution"] != nil ||
		got["workflow_id"] != "incident/"+e.check.String() || !strings.HasPrefix(text(got, "run_url"), "http://ui.test/") {
		t.Errorf("incident %v", got)
	}
	if encoded(t, got["regions"]) != `["na-east-ewr"]` || encoded(t, trigger["matched"]) != `["failure_threshold"]` ||
		trigger["failure_count"] != 1.0 ||
		seen["status_code"] != 503.0 ||
		seen["check_id"] != e.check.String() ||
		!strings.Contains(text(got, "description"), "got 503") {
		t.Errorf("incident %v", got)
	}
	for _, wrong := range []string{uuid.NewString(), "x"} {
		for _, rest := range []string{"", "/timeline", "/acknowledge", "/resolve"} {
			method := http.MethodGet
			if rest == "/acknowledge" || rest == "/resolve" {
				method = http.MethodPost
			}
			if r := a.want(t, http.StatusNotFound, method, "/v1/incidents/"+wrong+rest, nil); r.problem() != "incident not found" {
				t.Errorf("%s%s: %s", wrong, rest, r.raw)
			}
		}
	}
}

// TestIncidentWithoutResult holds that an incident can be shown whose result is
// past its retention.
func TestIncidentWithoutResult(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	e := b.episode(t, a)
	e.open(t)
	got := a.want(t, http.StatusOK, http.MethodGet, e.incidentPath, nil).data(t)
	if trigger, _ := got["trigger"].(map[string]any); trigger["result"] != nil || encoded(t, trigger["matched"]) != "[]" {
		t.Errorf("incident %v", got)
	}
}

func TestIncidentTurns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	acknowledge := func(t *testing.T, e *episode) map[string]any {
		t.Helper()
		return a.want(t, http.StatusOK, http.MethodPost, e.incidentPath+"/acknowledge", nil).data(t)
	}

	t.Run("AcknowledgedOnceAndForAll", func(t *testing.T) {
		t.Parallel()
		e := b.episode(t, a)
		e.open(t)
		first := acknowledge(t, e)
		if first["status"] != "acknowledged" || first["acknowledged_at"] == nil || first["acknowledged_by"] != a.email ||
			first["resolved_at"] != nil {
			t.Errorf("incident %v", first)
		}
		if again := acknowledge(t, e); encoded(t, again) != encoded(t, first) {
			t.Errorf("first %v\nagain %v", first, again)
		}
	})
	t.Run("ResolvedWithANoteOnce", func(t *testing.T) {
		t.Parallel()
		e := b.episode(t, a)
		e.open(t)
		first := a.want(t, http.StatusOK, http.MethodPost, e.incidentPath+"/resolve", map[string]any{"note": "  Turned it off and on.\nAgain. "}).
			data(t)
		if first["status"] != "resolved" || first["resolution"] != "manual" || first["resolved_by"] != a.email ||
			first["note"] != "Turned it off and on.\nAgain." ||
			first["resolved_at"] == nil {
			t.Errorf("incident %v", first)
		}
		again := a.want(t, http.StatusOK, http.MethodPost, e.incidentPath+"/resolve", map[string]any{"note": "other"}).data(t)
		if encoded(t, again) != encoded(t, first) {
			t.Errorf("first %v\nagain %v", first, again)
		}
		if r := a.want(t, http.StatusConflict, http.MethodPost, e.incidentPath+"/acknowledge", nil); r.body["code"] != "conflict" {
			t.Errorf("answer %s", r.raw)
		}
	})
	t.Run("ResolvedWithoutABody", func(t *testing.T) {
		t.Parallel()
		e := b.episode(t, a)
		e.open(t)
		acknowledge(t, e)
		got := a.want(t, http.StatusOK, http.MethodPost, e.incidentPath+"/resolve", nil).data(t)
		if got["status"] != "resolved" || got["note"] != nil || got["acknowledged_by"] != a.email {
			t.Errorf("incident %v", got)
		}
	})
	t.Run("KeysReachTheWorkflow", func(t *testing.T) {
		t.Parallel()
		e := b.episode(t, a)
		e.open(t)
		longest := strings.Repeat("k", 255)
		a.want(t, http.StatusOK, http.MethodPost, e.incidentPath+"/acknowledge", nil, "Idempotency-Key", longest)
		a.want(t, http.StatusOK, http.MethodPost, e.incidentPath+"/resolve", nil, "Idempotency-Key", "4b7d~!")
		for _, key := range []string{longest, "4b7d~!"} {
			if !b.incidents.used(key) {
				t.Errorf("the key %q did not reach the workflow", key)
			}
		}
	})
	t.Run("BadKeysChangeNothing", func(t *testing.T) {
		t.Parallel()
		e := b.episode(t, a)
		e.open(t)
		for _, key := range []string{strings.Repeat("k", 256), "two words", "schl\u00fcssel"} {
			for _, verb := range []string{"/acknowledge", "/resolve"} {
				r := a.want(t, http.StatusBadRequest, http.MethodPost, e.incidentPath+verb, nil, "Idempotency-Key", key)
				if !strings.Contains(string(r.raw), "Idempotency-Key") {
					t.Errorf("the answer does not name the header: %s", r.raw)
				}
			}
		}
		if got := a.want(t, http.StatusOK, http.MethodGet, e.incidentPath, nil).data(t); got["status"] != "active" {
			t.Errorf("incident %v", got)
		}
	})
	t.Run("BadNotesChangeNothing", func(t *testing.T) {
		t.Parallel()
		e := b.episode(t, a)
		e.open(t)
		for _, body := range []any{
			map[string]any{"note": 7},
			map[string]any{"note": strings.Repeat("x", 2001)},
			map[string]any{"status": "resolved"},
			"[]", "{",
			`{"note":"a\u0000b"}`,
		} {
			a.want(t, http.StatusBadRequest, http.MethodPost, e.incidentPath+"/resolve", body)
		}
		if got := a.want(t, http.StatusOK, http.MethodGet, e.incidentPath, nil).data(t); got["status"] != "active" {
			t.Errorf("incident %v", got)
		}
	})
	t.Run("ItIsInTheAuditLog", func(t *testing.T) {
		t.Parallel()
		other := b.signup(t)
		e := b.episode(t, other)
		id := e.open(t)
		other.want(t, http.StatusOK, http.MethodPost, e.incidentPath+"/acknowledge", nil)
		entries := other.want(t, http.StatusOK, http.MethodGet, "/v1/audit-log", nil)
		if !slices.ContainsFunc(entries.rows(t), func(entry map[string]any) bool {
			return entry["action"] == "incident.acknowledge" && entry["resource_id"] == id.String() && entry["user_id"] == other.user.String()
		}) {
			t.Errorf("entries %s", entries.raw)
		}
	})
}

func TestIncidentWhileTheWorkflowDoesNotAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	e := b.episode(t, a)
	e.open(t)
	b.incidents.away = true
	for _, verb := range []string{"/acknowledge", "/resolve"} {
		r := a.want(t, http.StatusServiceUnavailable, http.MethodPost, e.incidentPath+verb, nil)
		if r.body["code"] != "unavailable" || r.header.Get("Retry-After") == "" {
			t.Errorf("%s: %s", verb, r.raw)
		}
	}
}

func TestListIncidents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	first, second := b.episode(t, a), b.episode(t, a)
	var ids []string // newest first
	for range 2 {
		for _, e := range []*episode{first, second} {
			id := e.open(t)
			ids = slices.Insert(ids, 0, id.String())
			e.resolve(t, id)
			b.clock.Advance(time.Second)
		}
	}
	ids = slices.Insert(ids, 0, first.open(t).String())
	b.clock.Advance(time.Second)
	ids = slices.Insert(ids, 0, second.open(t).String())
	a.want(t, http.StatusOK, http.MethodPost, second.incidentPath+"/acknowledge", nil)
	for query, want := range map[string][]string{
		"": ids, "?limit=2": ids[:2], "?limit=2&offset=5": ids[5:], "?offset=9": nil,
		"?status=active": {ids[1]}, "?status=acknowledged": {ids[0]}, "?status=resolved": ids[2:],
		"?check_id=" + second.check.String():                    {ids[0], ids[2], ids[4]},
		"?check_id=" + second.check.String() + "&status=active": nil,
		"?alert_rule_id=" + first.rule.String():                 {ids[1], ids[3], ids[5]},
		"?check_id=" + uuid.NewString():                         nil,
	} {
		r := a.want(t, http.StatusOK, http.MethodGet, "/v1/incidents"+query, nil)
		var got []string
		for _, row := range r.rows(t) {
			got = append(got, text(row, "id"))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", query, got, want)
		}
		if meta, _ := r.body["meta"].(map[string]any); query == "?limit=2" && meta["total"] != "6" {
			t.Errorf("total %v", meta["total"])
		}
	}
	for query, member := range map[string]string{
		"?status=open": "status", "?status=": "status", "?check_id=x": "check_id", "?alert_rule_id=1": "alert_rule_id",
		"?check_id=urn:uuid:00000000-0000-4000-8000-000000000000": "check_id", "?limit=0": "limit",
	} {
		if r := a.want(t, http.StatusBadRequest, http.MethodGet, "/v1/incidents"+query, nil); r.detail("member") != member {
			t.Errorf("%s: %s", query, r.raw)
		}
	}
}

func TestTimeline(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	e := b.episode(t, a)
	begin := b.clock.Now()
	vote := func(firing ...uuid.UUID) {
		v := vigil.Vote{Region: "na-east-ewr", Revision: 2, Slot: b.clock.Now(), Failures: len(firing), Firing: firing}
		if _, err := b.store.SaveVote(t.Context(), e.check, v); err != nil {
			t.Fatal(err)
		}
	}
	b.record(t, result(e.check, begin, false))
	vote(e.rule)
	id := e.open(t)
	b.clock.Advance(time.Second)
	e.attempt(t, id, "status")
	b.clock.Advance(time.Second)
	a.want(t, http.StatusOK, http.MethodPost, e.incidentPath+"/acknowledge", nil)
	b.clock.Advance(2 * time.Minute)
	e.attempt(t, id, "")
	b.clock.Advance(time.Second)
	vote()
	b.clock.Advance(time.Second)
	e.resolve(t, id)
	b.clock.Advance(time.Second)
	e.attempt(t, id, "")

	r := a.want(t, http.StatusOK, http.MethodGet, e.incidentPath+"/timeline", nil)
	var story []string
	for _, row := range r.rows(t) {
		line := text(row, "kind")
		switch line {
		case "edge":
			line += " " + encoded(t, row["firing_rules"])
		case "state":
			line += " " + text(row, "event")
			if by := text(row, "by"); by != "" {
				line += " by " + by
			}
		case "attempt":
			attempt, _ := row["attempt"].(map[string]any)
			delivery, _ := row["delivery"].(map[string]any)
			line += " " + text(delivery, "event_type") + " " + encoded(t, attempt["delivered"])
			if delivery["status"] != "delivered" || delivery["channel_id"] != e.channel.String() {
				t.Errorf("delivery %v", delivery)
			}
		}
		story = append(story, line)
	}
	want := []string{
		`edge ["` + e.rule.String() + `"]`,
		"state incident.triggered",
		"attempt incident.triggered false",
		"state incident.acknowledged by " + a.email,
		"attempt incident.triggered true",
		"edge []",
		"state incident.resolved",
		"attempt incident.resolved true",
	}
	if !slices.Equal(story, want) {
		t.Errorf("timeline\n%s\nwant\n%s", strings.Join(story, "\n"), strings.Join(want, "\n"))
	}
	page := a.want(t, http.StatusOK, http.MethodGet, e.incidentPath+"/timeline?limit=2&offset=1", nil)
	if rows := page.rows(t); len(rows) != 2 || text(rows[0], "event") != "incident.triggered" {
		t.Errorf("page %s", page.raw)
	}
}

func TestDeliveries(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	e := b.episode(t, a)
	id := e.open(t)
	only := func(query string) map[string]any {
		t.Helper()
		rows := a.want(t, http.StatusOK, http.MethodGet, "/v1/deliveries"+query, nil).rows(t)
		if len(rows) != 1 {
			t.Fatalf("%s: %v", query, rows)
		}
		return rows[0]
	}
	pending := only("?incident_id=" + id.String() + "&channel_id=" + e.channel.String() + "&status=pending")
	path := "/v1/deliveries/" + text(pending, "id")
	if pending["event_type"] != "incident.triggered" || pending["attempts"] != 0.0 || pending["finished_at"] != nil ||
		pending["channel_name"] != "Hook" ||
		pending["channel_type"] != "webhook" ||
		pending["workflow_id"] != "delivery/"+id.String()+"/"+e.channel.String() ||
		pending["check_id"] != e.check.String() {
		t.Errorf("delivery %v", pending)
	}
	e.attempt(t, id, "status")
	if got := a.want(t, http.StatusOK, http.MethodGet, path, nil).
		data(t); got["status"] != "pending" || got["attempts"] != 1.0 ||
		got["next_attempt_at"] == nil {
		t.Errorf("delivery %v", got)
	}
	b.clock.Advance(2 * time.Minute)
	e.attempt(t, id, "")
	if got := only("?status=delivered"); got["attempts"] != 2.0 || got["finished_at"] == nil || got["next_attempt_at"] != nil {
		t.Errorf("delivery %v", got)
	}

	r := a.want(t, http.StatusOK, http.MethodGet, path+"/attempts", nil)
	rows := r.rows(t)
	if len(rows) != 2 || rows[0]["number"] != 2.0 || rows[0]["delivered"] != true || rows[0]["error"] != nil ||
		rows[0]["status_code"] != 200.0 ||
		rows[1]["number"] != 1.0 || rows[1]["error_code"] != "status" || rows[1]["status_code"] != 418.0 ||
		rows[1]["next_attempt_at"] == nil ||
		rows[1]["duration_ms"] != 12.0 {
		t.Errorf("attempts %s", r.raw)
	}
	if page := a.want(t, http.StatusOK, http.MethodGet, path+"/attempts?limit=1&offset=1", nil).
		rows(t); len(page) != 1 ||
		page[0]["number"] != 1.0 {
		t.Errorf("page %v", page)
	}

	t.Run("RedeliveredOnce", func(t *testing.T) { //nolint:paralleltest // in this order
		for range 2 {
			got := a.want(t, http.StatusAccepted, http.MethodPost, path+"/redeliver", nil).data(t)
			if got["redelivering"] != true || got["status"] != "delivered" || got["id"] != pending["id"] {
				t.Errorf("delivery %v", got)
			}
		}
		e.attempt(t, id, "")
		got := a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t)
		if got["redelivering"] != false || got["attempts"] != 3.0 || got["event_id"] != pending["event_id"] {
			t.Errorf("delivery %v", got)
		}
		if newest := a.want(t, http.StatusOK, http.MethodGet, path+"/attempts", nil).rows(t)[0]; newest["manual"] != true {
			t.Errorf("attempt %v", newest)
		}
	})
	t.Run("NotToADisabledChannel", func(t *testing.T) { //nolint:paralleltest // in this order
		a.want(t, http.StatusOK, http.MethodPut, "/v1/notification-channels/"+e.channel.String(), map[string]any{"enabled": false})
		if r := a.want(t, http.StatusConflict, http.MethodPost, path+"/redeliver", nil); r.body["code"] != "conflict" {
			t.Errorf("answer %s", r.raw)
		}
	})
	for query, member := range map[string]string{
		"?status=sent":   "status",
		"?incident_id=x": "incident_id",
		"?channel_id=x":  "channel_id",
		"?offset=-1":     "offset",
	} {
		if r := a.want(t, http.StatusBadRequest, http.MethodGet, "/v1/deliveries"+query, nil); r.detail("member") != member {
			t.Errorf("%s: %s", query, r.raw)
		}
	}
	for _, rest := range []string{"", "/attempts", "/message", "/redeliver"} {
		method := http.MethodGet
		if rest == "/redeliver" {
			method = http.MethodPost
		}
		if r := a.want(t, http.StatusNotFound, method, "/v1/deliveries/"+uuid.NewString()+rest, nil); r.problem() != "delivery not found" {
			t.Errorf("%s: %s", rest, r.raw)
		}
	}
}
