// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
)

const drills = "/v1/drills"

// drillOf asks for a drill of a channel.
func drillOf(t *testing.T, a person, channel uuid.UUID) string {
	t.Helper()
	return text(
		a.want(t, http.StatusAccepted, http.MethodPost, drills, map[string]any{"channel_ids": []string{channel.String()}}).data(t),
		"id",
	)
}

func TestDrills(t *testing.T) {
	t.Parallel()
	b := setup(t)

	t.Run("AreAskedForReadAndCanceled", func(t *testing.T) {
		t.Parallel()
		a := b.signup(t)
		e := b.episode(t, a)
		body := map[string]any{"check_id": e.check.String(), "severity": "warning", "expect_within_seconds": 30}
		made := a.want(t, http.StatusAccepted, http.MethodPost, drills, body, "Idempotency-Key", "drill")
		again := a.want(t, http.StatusAccepted, http.MethodPost, drills, body, "Idempotency-Key", "drill")
		drill := made.data(t)
		if string(made.raw) != string(again.raw) || drill["state"] != "asked" || drill["verdict"] != nil || drill["receipt"] != nil ||
			drill["severity"] != "warning" || drill["expect_within_seconds"] != 30.0 {
			t.Errorf("made %s, repeated %s", made.raw, again.raw)
		}
		path := drills + "/" + text(drill, "id")
		if got := a.want(t, http.StatusOK, http.MethodGet, path, nil); encoded(t, got.data(t)) != encoded(t, drill) {
			t.Errorf("read %s", got.raw)
		}
		if busy := a.want(
			t,
			http.StatusConflict,
			http.MethodPost,
			drills,
			map[string]any{"channel_ids": []string{e.channel.String()}},
		); busy.detail(
			"channel_id",
		) != e.channel.String() {
			t.Errorf("a second drill of the channel: %s", busy.raw)
		}
		a.want(t, http.StatusOK, http.MethodPost, path+"/cancel", nil)
		if _, _, err := b.store.CloseDrill(t.Context(), parseUUID(t, text(drill, "id")), "v1", unsigned); err != nil {
			t.Fatal(err)
		}
		listed := a.want(t, http.StatusOK, http.MethodGet, drills+"?verdict=canceled", nil).rows(t)
		if len(listed) != 1 || listed[0]["state"] != "closed" || listed[0]["receipt"] == nil {
			t.Errorf("listed %v", listed)
		}
		a.want(t, http.StatusConflict, http.MethodPost, path+"/cancel", nil)
		log := a.want(t, http.StatusOK, http.MethodGet, "/v1/audit-log", nil).rows(t)
		for _, action := range []string{"drill.create", "drill.cancel"} {
			if !slices.ContainsFunc(log, func(row map[string]any) bool { return row["action"] == action }) {
				t.Errorf("the audit log lacks %s: %v", action, log)
			}
		}
	})

	t.Run("AreRefused", func(t *testing.T) {
		t.Parallel()
		a, other := b.signup(t), b.signup(t)
		e, foreign := b.episode(t, a), b.episode(t, other)
		for name, test := range map[string]struct {
			member string
			body   map[string]any
		}{
			"Nothing":         {"channel_ids", map[string]any{}},
			"Two":             {"channel_ids", map[string]any{"check_id": e.check.String(), "rule_ids": []string{e.rule.String()}}},
			"NoID":            {"channel_ids[0]", map[string]any{"channel_ids": []string{"x"}}},
			"ForeignChannel":  {"channel_ids[0]", map[string]any{"channel_ids": []string{foreign.channel.String()}}},
			"ForeignRule":     {"rule_ids[0]", map[string]any{"rule_ids": []string{foreign.rule.String()}}},
			"ForeignCheck":    {"check_id", map[string]any{"check_id": foreign.check.String()}},
			"UnknownRegion":   {"regions[0]", map[string]any{"check_id": e.check.String(), "regions": []string{"moon"}}},
			"TooSoon":         {"expect_within_seconds", map[string]any{"check_id": e.check.String(), "expect_within_seconds": 9}},
			"UnknownSeverity": {"severity", map[string]any{"check_id": e.check.String(), "severity": "doom"}},
		} {
			if got := a.want(t, http.StatusBadRequest, http.MethodPost, drills, test.body); got.detail("member") != test.member {
				t.Errorf("%s: %s", name, got.raw)
			}
		}
		if n := len(a.want(t, http.StatusOK, http.MethodGet, drills, nil).rows(t)); n != 0 {
			t.Errorf("%d drills after refusals", n)
		}
	})
}

func unsigned([]byte) (string, error) { return "", nil }

// TestDrillIsInNoAnswer asks every GET of the document before a drill and while its incident is
// open and delivered, and compares the answers; and asks each that takes an id for the parts of
// the drill.
func TestDrillIsInNoAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.tier(t, b.signup(t), account.TierPaid)
	owned := belongings(t, b, a)
	if _, _, err := b.store.CloseDrill(t.Context(), parseUUID(t, owned[drills]), "v1", unsigned); err != nil {
		t.Fatal(err)
	}
	// What says when, among it when the channel got a message, and the audit log, which has that a drill
	// was asked for.
	volatile := regexp.MustCompile(
		`"(remaining|resets_in_seconds|last_used_at|last_delivered_at|seen_at|last_seen_at|generated_at|request_id|time|now|at|` +
			`until|to|from)":[^,}]*`,
	)
	walk := func(ids map[string]string) map[string]string {
		answers := make(map[string]string)
		for path, item := range document(t).Paths.Map() {
			if item.Get == nil || strings.HasPrefix(path, drills) || path == "/v1/audit-log" || strings.HasPrefix(path, "/v1/stream/") {
				continue
			}
			prefix, _, _ := strings.Cut(path, "/{")
			at := strings.NewReplacer("{id}", ids[prefix], "{ruleID}", ids["ruleID"]).Replace(path)
			if strings.Contains(at, "{") || strings.Contains(path, "{") && ids[prefix] == "" {
				continue // such as a token in the path, which TestTenancy knows
			}
			got := a.do(t, http.MethodGet, at, nil)
			answers[path] = http.StatusText(got.status) + " " + volatile.ReplaceAllString(string(got.raw), "")
		}
		return answers
	}
	before := walk(owned)
	if len(before) < 30 {
		t.Fatalf("%d operations were asked", len(before))
	}
	drill, incident, delivery, rule := b.runningDrill(t, a, owned["/v1/notification-channels"])
	during := walk(owned)
	for path := range before {
		if before[path] != during[path] {
			t.Errorf("GET %s: before\n%s\nduring the drill\n%s", path, before[path], during[path])
		}
	}
	hidden := map[string]string{
		"/v1/checks":      drill,
		"/v1/incidents":   incident,
		"/v1/deliveries":  delivery,
		"/v1/alert-rules": rule,
		"ruleID":          rule,
	}
	for path, answer := range walk(hidden) {
		if strings.Contains(path, "{") && !strings.HasPrefix(answer, "Not Found") {
			t.Errorf("GET %s finds a part of the drill: %s", path, answer)
		}
	}
}

// runningDrill is a drill of a channel whose incident is open and delivered.
func (b *testServer) runningDrill(t *testing.T, a person, channel string) (drill, incident, delivery, rule string) {
	t.Helper()
	drill = drillOf(t, a, parseUUID(t, channel))
	id := parseUUID(t, drill)
	if _, err := b.store.StageDrill(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	def, err := b.store.Definition(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	e := &episode{b: b, check: id, rule: def.Rules[0].ID, channel: parseUUID(t, channel)}
	b.record(t, vigil.Result{
		CheckID: id, Region: def.Check.Regions[0], Slot: b.clock.Now(), Time: b.clock.Now(), Observation: vigil.Observation{Error: "drill"},
	})
	vote := e.vote()
	vote.Region = def.Check.Regions[0]
	if _, err := b.store.SaveVote(t.Context(), id, vote); err != nil {
		t.Fatal(err)
	}
	opened := e.open(t)
	e.attempt(t, opened, "")
	err = b.store.DB().NewRaw("SELECT id::text FROM deliveries WHERE incident_id = ?", opened).Scan(t.Context(), &delivery)
	if err != nil {
		t.Fatal(err)
	}
	return drill, opened.String(), delivery, e.rule.String()
}
