// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
)

func TestRuleForms(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.tier(t, b.signup(t), account.TierPaid) // more rules than the free plan has
	check, channel := text(a.check(t), "id"), text(a.channel(t), "id")
	type object = map[string]any
	without := func(name string) func(map[string]any) { return func(body map[string]any) { delete(body, name) } }
	reference := func(kind string, threshold float64) []func(map[string]any) {
		return []func(map[string]any){without("condition"), with("condition_type", kind), with("threshold", threshold)}
	}
	keyed := func(condition object) []func(map[string]any) {
		return []func(map[string]any){with("condition", condition)}
	}
	for name, tt := range map[string]struct {
		changes   []func(map[string]any)
		condition object
		kind      any
		threshold any
	}{
		"ReferenceFailures": {reference("consecutive_failures", 3), object{"failure_threshold": 3.0}, "consecutive_failures", 3.0},
		"ReferenceResponse": {reference("response_time", 500), object{"response_time_ms": 500.0}, "response_time", 500.0},
		"ReferenceStatus":   {reference("status_code", 500), object{"status_code": 500.0}, "status_code", 500.0},
		"ReferenceExpiry":   {reference("ssl_expiry", 14), object{"ssl_days_remaining": 14.0}, "ssl_expiry", 14.0},
		"Keyed":             {keyed(object{"failure_threshold": 2}), object{"failure_threshold": 2.0}, "consecutive_failures", 2.0},
		"KeyedZero":         {keyed(object{"ssl_days_remaining": 0}), object{"ssl_days_remaining": 0.0}, "ssl_expiry", 0.0},
		"KeyedDown": {
			keyed(object{"health_status": "down", "severity": "warning"}),
			object{"health_status": "down", "severity": "warning"},
			nil,
			nil,
		},
		"KeyedSeveralAdd": {
			keyed(object{"failure_threshold": 3, "response_time_ms": 900}),
			object{"failure_threshold": 3.0, "response_time_ms": 900.0},
			nil,
			nil,
		},
		"KeyedDNS": {keyed(object{"dns_changed": true}), object{"dns_changed": true}, nil, nil},
		"PairWithSeverity": {
			keyed(object{"response_time_ms": 900, "severity": "info"}),
			object{"response_time_ms": 900.0, "severity": "info"},
			"response_time",
			900.0,
		},
		"Legacy": {
			keyed(object{"type": "consecutive_failures", "threshold": 4}),
			object{"failure_threshold": 4.0},
			"consecutive_failures",
			4.0,
		},
		"LegacyWithOperator": {
			keyed(object{"type": "ssl_expiry", "threshold": 30, "operator": "gte"}),
			object{"ssl_days_remaining": 30.0},
			"ssl_expiry",
			30.0,
		},
		"BothThatSayTheSame": {
			[]func(map[string]any){
				with("condition", object{"failure_threshold": 5}),
				with("condition_type", "consecutive_failures"),
				with("threshold", 5),
			},
			object{"failure_threshold": 5.0},
			"consecutive_failures",
			5.0,
		},
		"AWholeNumberAsFloat": {reference("response_time", 1e3), object{"response_time_ms": 1000.0}, "response_time", 1000.0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made := a.rule(t, check, channel, tt.changes...)
			if encoded(t, made["condition"]) != encoded(t, tt.condition) || made["condition_type"] != tt.kind || made["threshold"] != tt.threshold {
				t.Errorf("rule %v", made)
			}
			path := "/v1/checks/" + check + "/alerts/" + text(made, "id")
			shown := a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t)
			if encoded(t, shown) != encoded(t, made) {
				t.Errorf("made %v\nshown %v", made, shown)
			}
			// What is shown can be written back.
			back := a.want(t, http.StatusOK, http.MethodPut, path, shown).data(t)
			back["updated_at"] = shown["updated_at"]
			if encoded(t, back) != encoded(t, shown) {
				t.Errorf("shown %v\nback  %v", shown, back)
			}
		})
	}
	t.Run("DefaultsAreThoseOfTheSpec", func(t *testing.T) {
		t.Parallel()
		made := a.rule(t, check, channel, without("notify_on"))
		if made["notify_on"] != "unhealthy" || made["region_policy"] != "any" || made["enabled"] != true || made["check_id"] != check {
			t.Errorf("rule %v", made)
		}
	})
}

func TestRulesThatCannotBe(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	check, channel := text(a.check(t), "id"), text(a.channel(t), "id")
	foreign := text(b.signup(t).channel(t), "id")
	type object = map[string]any
	body := func(changes ...func(map[string]any)) object {
		rule := object{"name": "x", "condition": object{"failure_threshold": 1}, "notification_channel_ids": []string{channel}}
		for _, change := range changes {
			change(rule)
		}
		return rule
	}
	condition := func(c any) object { return body(with("condition", c)) }
	pair := func(kind, threshold any) object {
		rule := body(with("condition_type", kind), with("threshold", threshold))
		delete(rule, "condition")
		return rule
	}
	for name, tt := range map[string]struct { //nolint:paralleltest // what is stored is counted after all of them
		body   any
		member string
		forms  bool // the accepted forms must be named
	}{
		"NoCondition":            {func() object { r := body(); delete(r, "condition"); return r }(), "condition", true},
		"AnEmptyCondition":       {condition(object{}), "condition", true},
		"SeverityAlone":          {condition(object{"severity": "info"}), "condition", true},
		"DNSUnchanged":           {condition(object{"dns_changed": false}), "condition", true},
		"AnUnknownKey":           {condition(object{"failure_threshold": 1, "cpu": 90}), "condition", true},
		"AListAsCondition":       {condition([]any{}), "condition", true},
		"TextAsCondition":        {condition("down"), "condition", true},
		"ANegativeNumber":        {condition(object{"response_time_ms": -1}), "condition.response_time_ms", true},
		"ANumberAsText":          {condition(object{"failure_threshold": "3"}), "condition.failure_threshold", true},
		"NoFailures":             {condition(object{"failure_threshold": 0}), "condition.failure_threshold", true},
		"AFraction":              {condition(object{"failure_threshold": 1.5}), "condition.failure_threshold", true},
		"AnUnknownHealth":        {condition(object{"health_status": "sick"}), "condition.health_status", true},
		"AnUnknownSeverity":      {condition(object{"health_status": "down", "severity": "fatal"}), "condition.severity", true},
		"AnUnknownLegacyType":    {condition(object{"type": "cpu", "threshold": 1}), "condition.type", true},
		"LegacyStatusCode":       {condition(object{"type": "status_code", "threshold": 500}), "condition.type", true},
		"LegacyWithoutThreshold": {condition(object{"type": "response_time"}), "condition.threshold", true},
		"AnUnknownOperator":      {condition(object{"type": "response_time", "threshold": 1, "operator": "lt"}), "condition.operator", true},
		"LegacyMixedWithKeys":    {condition(object{"type": "response_time", "threshold": 1, "health_status": "down"}), "condition", true},
		"AnUnknownReferenceType": {pair("cpu", 1), "condition_type", true},
		"ANumberAsReferenceType": {pair(7, 1), "condition_type", true},
		"TextAsThreshold":        {pair("response_time", "1"), "threshold", true},
		"ATypeWithoutThreshold":  {pair("response_time", nil), "threshold", true},
		"AThresholdWithoutType":  {pair(nil, 3), "condition_type", true},
		"TwoFormsThatDisagree":   {body(with("condition_type", "response_time"), with("threshold", 9)), "condition", true},
		"NoChannels":             {body(with("notification_channel_ids", []string{})), "notification_channel_ids", false},
		"ChannelsMissing": {
			func() object { r := body(); delete(r, "notification_channel_ids"); return r }(),
			"notification_channel_ids",
			false,
		},
		"AChannelThatIsNoID": {body(with("notification_channel_ids", []string{channel, "x"})), "notification_channel_ids[1]", false},
		"AnUnknownChannel":   {body(with("notification_channel_ids", []string{uuid.NewString()})), "notification_channel_ids", false},
		"AChannelOfAnother":  {body(with("notification_channel_ids", []string{channel, foreign})), "notification_channel_ids", false},
		"TextAsChannels":     {body(with("notification_channel_ids", channel)), "notification_channel_ids", false},
		"TooManyChannels": {
			body(with("notification_channel_ids", slices.Repeat([]string{channel}, 101))),
			"notification_channel_ids",
			false,
		},
		"NoName":                    {func() object { r := body(); delete(r, "name"); return r }(), "name", false},
		"ANameWithALineBreak":       {body(with("name", "a\nb")), "name", false},
		"AnUnknownNotifyOn":         {body(with("notify_on", "always")), "notify_on", false},
		"AnUnknownPolicy":           {body(with("region_policy", "most")), "region_policy", false},
		"EnabledAsText":             {body(with("enabled", "yes")), "enabled", false},
		"AnUnknownMember":           {body(with("org_id", a.org.String())), "org_id", false},
		"ASeverityBesideACondition": {body(with("severity", "info")), "severity", false},
		"NoObject":                  {"[]", "body", false},
		"DuplicateKeysOfACondition": {
			`{"name":"x","condition":{"failure_threshold":1,"failure_threshold":2},"notification_channel_ids":["` + channel + `"]}`,
			"condition.failure_threshold",
			false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := a.want(t, http.StatusBadRequest, http.MethodPost, "/v1/checks/"+check+"/alerts", tt.body)
			if r.detail("member") != tt.member {
				t.Errorf("it names %v, want %s: %s", r.detail("member"), tt.member, r.raw)
			}
			named := strings.Contains(r.problem(), "condition_type") && strings.Contains(r.problem(), "failure_threshold") &&
				strings.Contains(r.problem(), `type: "consecutive_failures"`)
			if tt.forms && (!named || r.detail("accepted_forms") == nil) {
				t.Errorf("it does not name the accepted forms: %s", r.raw)
			}
		})
	}
	if rows := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks/"+check+"/alerts", nil).rows(t); len(rows) != 0 {
		t.Errorf("stored: %v", rows)
	}
}

func TestRuleLife(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	made := a.check(t)
	check, channel, second := text(made, "id"), text(a.channel(t), "id"), text(a.channel(t), "id")
	list := "/v1/checks/" + check + "/alerts"
	id := text(a.rule(t, check, channel), "id")
	path := list + "/" + id

	got := a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{
		"name": " Slow ", "threshold": 800, "condition_type": "response_time", "notification_channel_ids": []string{second, channel, second},
		"region_policy": "majority", "notify_on": "healthy", "enabled": false,
	}).data(t)
	if got["name"] != "Slow" || encoded(t, got["condition"]) != `{"response_time_ms":800}` || got["region_policy"] != "majority" ||
		got["notify_on"] != "healthy" || got["enabled"] != false ||
		encoded(t, got["notification_channel_ids"]) != encoded(t, []string{second, channel}) {
		t.Errorf("rule %v", got)
	}
	// Half of a pair changes the number of the other half.
	got = a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"threshold": 900}).data(t)
	if encoded(t, got["condition"]) != `{"response_time_ms":900}` || got["name"] != "Slow" {
		t.Errorf("rule %v", got)
	}
	// Of both forms that are written back, the changed one counts.
	got["condition"] = map[string]any{"failure_threshold": 2}
	got = a.want(t, http.StatusOK, http.MethodPut, path, got).data(t)
	if got["condition_type"] != "consecutive_failures" || got["threshold"] != 2.0 {
		t.Errorf("rule %v", got)
	}
	for _, change := range []map[string]any{
		{"condition": map[string]any{}},
		{"condition_type": "cpu"},
		{"notification_channel_ids": []string{}},
		{"name": ""},
		{"colour": 1},
		{"threshold": -1},
	} {
		a.want(t, http.StatusBadRequest, http.MethodPut, path, change)
	}
	if now := a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t); encoded(t, now) != encoded(t, got) {
		t.Errorf("mistakes changed %v into %v", got, now)
	}

	// The check's loops follow, and so does its incident.
	stored, err := b.store.Check(t.Context(), a.org, parseUUID(t, check))
	if err != nil || stored.Revision != 5 {
		t.Errorf("revision %d after a rule and three changes (%v)", stored.Revision, err)
	}
	eventually(t, "the loop gets the revision", func() bool {
		b.loops.mu.Lock()
		defer b.loops.mu.Unlock()
		return slices.ContainsFunc(b.loops.applied, func(l vigil.Loop) bool { return l.CheckID.String() == check && l.Desired == 5 })
	})
	eventually(t, "the incidents of the check are refreshed", func() bool {
		b.incidents.mu.Lock()
		defer b.incidents.mu.Unlock()
		return slices.Contains(b.incidents.refreshed, parseUUID(t, check))
	})

	b.clock.Advance(1e9)
	newer := text(a.rule(t, check, channel), "id")
	rows := a.want(t, http.StatusOK, http.MethodGet, list+"?limit=1", nil)
	if meta, _ := rows.body["meta"].(map[string]any); meta["total"] != "2" || len(rows.rows(t)) != 1 || text(rows.rows(t)[0], "id") != newer {
		t.Errorf("list %s", rows.raw)
	}

	// A rule is found under its own check only.
	other := text(a.check(t), "id")
	for _, wrong := range []string{"/v1/checks/" + other + "/alerts/" + id, list + "/" + uuid.NewString(), list + "/x"} {
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
			var body any
			if method == http.MethodPut {
				body = map[string]any{"name": "stolen"}
			}
			if r := a.want(t, http.StatusNotFound, method, wrong, body); r.problem() != "rule not found" {
				t.Errorf("%s %s: %s", method, wrong, r.raw)
			}
		}
	}
	for _, wrong := range []string{"/v1/checks/" + uuid.NewString() + "/alerts", "/v1/checks/x/alerts", "/v1/checks/x/alerts/" + id} {
		if r := a.want(t, http.StatusNotFound, http.MethodGet, wrong, nil); r.problem() != "check not found" && !strings.Contains(wrong, id) {
			t.Errorf("%s: %s", wrong, r.raw)
		}
	}
	a.want(t, http.StatusNoContent, http.MethodDelete, path, nil)
	a.want(t, http.StatusNotFound, http.MethodGet, path, nil)
	a.want(t, http.StatusNotFound, http.MethodDelete, path, nil)
}

// TestForeignCheck holds that a stranger reaches a rule neither by the owner's
// check nor by a check of their own.
func TestForeignCheck(t *testing.T) {
	t.Parallel()
	b := setup(t)
	owner, stranger := b.signup(t), b.signup(t)
	check := text(owner.check(t), "id")
	rule := text(owner.rule(t, check, text(owner.channel(t), "id")), "id")
	own := text(stranger.check(t), "id")
	channel := text(stranger.channel(t), "id")
	body := map[string]any{"name": "x", "condition": map[string]any{"health_status": "down"}, "notification_channel_ids": []string{channel}}
	stranger.want(t, http.StatusNotFound, http.MethodPost, "/v1/checks/"+check+"/alerts", body)
	stranger.want(t, http.StatusNotFound, http.MethodGet, "/v1/checks/"+own+"/alerts/"+rule, nil)
	stranger.want(t, http.StatusNotFound, http.MethodDelete, "/v1/checks/"+own+"/alerts/"+rule, nil)
	owner.want(t, http.StatusOK, http.MethodGet, "/v1/checks/"+check+"/alerts/"+rule, nil)
}

// TestFiringRules holds that the regions of a check show which rules fire there, as
// the loop reports now, or as it reported last.
func TestFiringRules(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	e := b.episode(t, a)
	live := uuid.New()
	var answers atomic.Bool
	b.loops.state = func(uuid.UUID, string) (vigil.LoopState, error) {
		if !answers.Load() {
			return vigil.LoopState{}, vigil.NotFound("loop")
		}
		return vigil.LoopState{State: vigil.State{Firing: []uuid.UUID{live}}}, nil
	}
	firing := func() string {
		rows := a.want(t, http.StatusOK, http.MethodGet, e.checkPath+"/regions", nil).rows(t)
		return text(rows[0], "source") + " " + encoded(t, rows[0]["firing_rules"])
	}
	if got := firing(); got != "stored []" {
		t.Errorf("before any vote: %s", got)
	}
	_, err := b.store.SaveVote(
		t.Context(),
		e.check,
		vigil.Vote{Region: "na-east-ewr", Revision: 2, Slot: b.clock.Now(), Failures: 1, Firing: []uuid.UUID{e.rule}},
	)
	if err != nil {
		t.Fatal(err)
	}
	if got := firing(); got != `stored ["`+e.rule.String()+`"]` {
		t.Errorf("behind a vote: %s", got)
	}
	answers.Store(true)
	if got := firing(); got != `workflow ["`+live.String()+`"]` {
		t.Errorf("with a loop that answers: %s", got)
	}
}
