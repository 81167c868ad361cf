// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/account"
)

type doc = map[string]any

// shop is a document with every kind of definition.
func shop(changes ...func(doc)) doc {
	document := doc{
		"version": 1, "project": "shop",
		"defaults": doc{
			"check": doc{"interval": "2m", "labels": doc{"team": "shop"}},
			"rule":  doc{"notify_on": "both", "channels": []any{"oncall"}},
		},
		"channels": doc{"oncall": doc{
			"name": "On call", "type": "webhook", "config": doc{"url": "https://hooks.example.com/x", "secret": "hunter2"},
		}},
		"checks": doc{
			"home": doc{
				"name": "Home page", "type": "https", "config": doc{"url": "https://shop.example.com/", "timeout": "9s"},
				"rules": doc{"down": doc{"condition": doc{"failure_threshold": 2}}, "slow": doc{"condition_type": "response_time", "threshold": 900}},
			},
			"api": doc{"type": "tcp", "interval": "5m", "config": doc{"host": "api.example.com", "port": 443}, "regions": []any{"us-east-1"}},
		},
		"status_pages": doc{"public": doc{"slug": "shop", "title": "Shop", "groups": []any{doc{"name": "Web", "checks": []any{"home"}}}}},
	}
	for _, change := range changes {
		change(document)
	}
	return document
}

// at changes what is at a path of a document.
func at(path string, value any) func(doc) {
	return func(document doc) {
		names := strings.Split(path, ".")
		for _, name := range names[:len(names)-1] {
			document, _ = document[name].(doc)
		}
		last := names[len(names)-1]
		if value == nil {
			delete(document, last)
			return
		}
		document[last] = value
	}
}

// apply applies a document of the project shop.
func (a person) apply(t *testing.T, status int, document doc, changes ...func(map[string]any)) answer {
	t.Helper()
	if pages, _ := document["status_pages"].(doc); pages != nil {
		if page, _ := pages["public"].(doc); page["slug"] == "shop" {
			page["slug"] = "shop-" + a.org.String()[24:] // no two organizations have the same one
		}
	}
	body := map[string]any{"project": "shop", "document": document}
	for _, change := range changes {
		change(body)
	}
	return a.want(t, status, http.MethodPost, "/v1/apply", body)
}

// actions returns what an apply does, by kind and key; without what stays as it is.
func actions(t *testing.T, applied answer) map[string]string {
	t.Helper()
	found := make(map[string]string)
	list, _ := applied.data(t)["actions"].([]any)
	for _, one := range list {
		action, _ := one.(map[string]any)
		if action["action"] != "none" {
			found[text(action, "kind")+" "+text(action, "key")] = text(action, "action")
		}
	}
	return found
}

func TestApply(t *testing.T) {
	t.Parallel()
	b := setup(t)
	dryRun := with("dry_run", true)

	t.Run("CreatesEverythingAndThenNothing", func(t *testing.T) {
		t.Parallel()
		a := b.tier(t, b.signup(t), account.TierPaid)
		planned := a.apply(t, http.StatusOK, shop(), dryRun)
		if rows := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks", nil).rows(t); len(rows) != 0 {
			t.Fatalf("a dry run has made %v", rows)
		}
		applied := a.apply(t, http.StatusOK, shop(), with("expect", planned.data(t)["plan"]))
		want := map[string]string{
			"channel oncall": "create", "check home": "create", "check api": "create", "rule home/down": "create", "rule home/slow": "create",
			"status_page public": "create",
		}
		if got := actions(t, applied); encoded(t, got) != encoded(t, want) || encoded(t, actions(t, planned)) != encoded(t, want) {
			t.Errorf("actions %s", applied.raw)
		}
		checks := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks?project=shop&sort=name", nil).rows(t)
		if len(checks) != 2 || checks[0]["name"] != "api" || checks[1]["interval_seconds"] != 120.0 || checks[0]["interval_seconds"] != 300.0 {
			t.Errorf("made the checks %v", checks)
		}
		if strings.Contains(string(applied.raw), "hunter2") {
			t.Errorf("the answer shows a secret: %s", applied.raw)
		}
		again := a.apply(t, http.StatusOK, shop())
		if got := actions(t, again); len(got) != 0 {
			t.Errorf("a second apply does %s", again.raw)
		}
	})
}

func TestApplyMistakes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t) // the free plan
	t.Run("AreNamedAllAtOnce", func(t *testing.T) {
		t.Parallel()
		refused := a.apply(t, http.StatusBadRequest, shop(
			at("checks.home.config.url", "ftp://x"), at("checks.home.regions", []any{"nowhere"}),
			at("checks.api.confg", doc{}), at("checks.api.config.port", "many"),
			at("checks.home.rules.down.channels", []any{"oncal", "name:none", "id:7"}), at("checks.home.rules.slow.severity", "x"),
			at("checks.home.id", "7"), at("channels.oncall.type", "fax"), at("status_pages.public.groups", []any{doc{"checks": []any{"hom"}}}),
			at("status_pages.public.slug", "A"), at("moved", []any{doc{"from": "checks.home", "to": "checks.api"}}), at("colour", "red"),
		))
		details, _ := refused.body["details"].(map[string]any)
		list, _ := details["errors"].([]any)
		var got []string
		for _, one := range list {
			problem, _ := one.(map[string]any)
			got = append(got, text(problem, "path")+": "+text(problem, "message"))
		}
		for _, want := range []string{
			`colour: is not a section`, `moved[0].from: is still in the document`, `channels.oncall.type: unknown channel type`,
			`checks.api.confg: is not a member of this resource; did you mean "config"?`,
			`checks.home.id: is set by the platform`,
			`checks.home.rules.down.channels[0]: no channel has the key "oncal" in the document; did you mean "oncall"?`,
			`checks.home.rules.down.channels[1]: no channel of this organization has the name "none"`,
			`checks.home.rules.down.channels[2]: must be a key`, `checks.home.rules.slow.severity: is not a member`,
			`status_pages.public.groups[0].checks[0]: no check has the key "hom"`,
		} {
			found := false
			for _, one := range got {
				found = found || strings.HasPrefix(one, want)
			}
			if !found {
				t.Errorf("no error %q in\n%s", want, strings.Join(got, "\n"))
			}
		}
		if !strings.Contains(refused.problem(), "more)") || refused.body["code"] != "invalid_request" {
			t.Errorf("refused with %s", refused.raw)
		}
	})
	t.Run("NameTheMemberOfTheEndpoint", func(t *testing.T) {
		t.Parallel()
		for path, change := range map[string]func(doc){
			"checks.home.config.url":             at("checks.home.config.url", "ftp://x"),
			"checks.home.regions[0]":             at("checks.home.regions", []any{"nowhere"}),
			"checks.api.config.port":             at("checks.api.config.port", "many"),
			"checks.home.config":                 at("checks.home.config", nil),
			"checks.home.rules.down.condition":   at("checks.home.rules.down.condition", doc{"severity": "info"}),
			"status_pages.public.slug":           at("status_pages.public.slug", "A"),
			"checks.home.labels.team":            at("checks.home.labels", doc{"team": strings.Repeat("x", 300)}),
			"checks.home.rules.down.notify_on":   at("checks.home.rules.down.notify_on", "never"),
			"channels.oncall.config.url":         at("channels.oncall.config.url", "x"),
			"checks.home.rules.down.channels":    at("defaults.rule.channels", nil),
			"checks.home.name":                   at("checks.home.name", " "),
			"checks.home.simultaneous_regions":   at("checks.home.simultaneous_regions", jsonNull()),
			"checks.home.enabled":                at("checks.home.enabled", "yes"),
			"status_pages.public.groups[0].name": at("status_pages.public.groups", []any{doc{"name": "a\nb", "checks": []any{}}}),
		} {
			refused := a.apply(t, http.StatusBadRequest, shop(change))
			if got := refused.detail("member"); got != "document."+path {
				t.Errorf("%s: %s", path, refused.raw)
			}
		}
	})
	t.Run("OfThePlanAreJudgedTogether", func(t *testing.T) {
		t.Parallel()
		a := b.signup(t)
		early := a.apply(t, http.StatusBadRequest, shop(
			at("checks.home.regions", []any{"us-east-1", "eu-central-1"}), at("checks.api.regions", []any{"eu-west-1"}),
		))
		if list, _ := early.detail("errors").([]any); len(list) != 2 {
			t.Errorf("refused with %s", early.raw)
		}
		channels := doc{}
		for i := range 21 {
			channels["c"+strings.Repeat("x", i)] = doc{"type": "webhook", "config": doc{"url": "https://hooks.example.com/x"}}
		}
		for _, dry := range []bool{true, false} {
			limited := a.apply(t, http.StatusForbidden, doc{"version": 1, "channels": channels}, with("dry_run", dry))
			if limited.body["code"] != "plan_limit" || limited.detail("requested") != 21.0 || limited.detail("limit") != 20.0 {
				t.Errorf("refused with %s", limited.raw)
			}
		}
		if rows := a.want(t, http.StatusOK, http.MethodGet, "/v1/notification-channels", nil).rows(t); len(rows) != 0 {
			t.Errorf("a refused apply has made %v", rows)
		}
	})
}

// jsonNull is a JSON null in a document, as opposed to an absent member.
func jsonNull() any { return []any(nil) }

func TestApplyChanges(t *testing.T) {
	t.Parallel()
	b := setup(t)
	paid := func(t *testing.T) person {
		t.Helper()
		return b.tier(t, b.signup(t), account.TierPaid)
	}
	find := func(t *testing.T, a person, list, key string) map[string]any {
		t.Helper()
		rows := a.want(t, http.StatusOK, http.MethodGet, list+"?tool=apply&key="+key, nil).rows(t)
		if len(rows) != 1 {
			t.Fatalf("%s has %d rows of the key %s", list, len(rows), key)
		}
		return rows[0]
	}
	members := func(t *testing.T, applied answer, kind, key string) string {
		t.Helper()
		list, _ := applied.data(t)["actions"].([]any)
		for _, one := range list {
			if action, _ := one.(map[string]any); action["kind"] == kind && action["key"] == key {
				return encoded(t, action)
			}
		}
		return ""
	}

	t.Run("ChangesRestoresAndNamesWhoChanged", func(t *testing.T) {
		t.Parallel()
		a := paid(t)
		a.apply(t, http.StatusOK, shop())
		home := find(t, a, "/v1/checks", "home")
		a.want(t, http.StatusOK, http.MethodPut, "/v1/checks/"+text(home, "id"), map[string]any{"interval_seconds": 300, "enabled": false})
		wanted := func() doc {
			return shop(at("checks.api.name", "The API"), at("checks.home.rules.down.condition", doc{"failure_threshold": 5}))
		}
		applied := a.apply(t, http.StatusOK, wanted())
		if got := encoded(t, actions(t, applied)); got != encoded(t, map[string]string{
			"check home": "restore", "check api": "change", "rule home/down": "change",
		}) {
			t.Errorf("actions %s", got)
		}
		restored := members(t, applied, "check", "home")
		for _, want := range []string{`"path":"interval"`, `"from":"5m"`, `"to":"2m"`, `"changed_by":"` + a.email, "stays so"} {
			if !strings.Contains(restored, want) {
				t.Errorf("%s does not have %s", restored, want)
			}
		}
		if after := find(t, a, "/v1/checks", "home"); after["interval_seconds"] != 120.0 || after["enabled"] != false {
			t.Errorf("restored to %v", after)
		}
		if got := actions(t, a.apply(t, http.StatusOK, wanted())); len(got) != 0 {
			t.Errorf("a second apply does %v", got)
		}
	})
	t.Run("AppliesOnlyWhatWasPlanned", func(t *testing.T) {
		t.Parallel()
		a := paid(t)
		a.apply(t, http.StatusOK, shop())
		wanted := shop(at("checks.api.name", "The API"))
		plan := a.apply(t, http.StatusOK, wanted, with("dry_run", true)).data(t)["plan"]
		a.want(
			t,
			http.StatusOK,
			http.MethodPut,
			"/v1/checks/"+text(find(t, a, "/v1/checks", "api"), "id"),
			map[string]any{"labels": map[string]any{"x": "y"}},
		)
		refused := a.apply(t, http.StatusConflict, wanted, with("expect", plan))
		if refused.detail("plan") == plan || refused.detail("actions") == nil {
			t.Errorf("refused with %s", refused.raw)
		}
		a.apply(t, http.StatusOK, wanted, with("expect", refused.detail("plan")))
	})
	t.Run("KeepsReleasesAndDeletesWhatIsMissing", func(t *testing.T) {
		t.Parallel()
		a := paid(t)
		a.apply(t, http.StatusOK, shop())
		small := shop(at("checks.home", nil), at("status_pages", nil))
		kept := a.apply(t, http.StatusOK, small)
		if got := encoded(t, actions(t, kept)); got != `{"check home":"leave","status_page public":"leave"}` {
			t.Errorf("kept with %s", got)
		}
		released := a.apply(t, http.StatusOK, shop(at("status_pages", nil)), with("missing", "release"))
		if got := encoded(t, actions(t, released)); got != `{"status_page public":"release"}` {
			t.Errorf("released with %s", got)
		}
		used := a.apply(
			t,
			http.StatusConflict,
			shop(at("channels", nil), at("checks.home", nil), at("status_pages", nil), at("checks.api.rules", doc{
				"down": doc{"condition": doc{"failure_threshold": 1}, "channels": []any{"name:On call"}},
			})),
			with("missing", "delete"),
		)
		if !strings.Contains(used.problem(), "Alert rules use channels that would be deleted: down") {
			t.Errorf("refused with %s", used.raw)
		}
		gone := a.apply(t, http.StatusOK, doc{"version": 1}, with("missing", "delete"))
		if got := encoded(t, actions(t, gone)); got != `{"channel oncall":"delete","check api":"delete","check home":"delete"}` {
			t.Errorf("deleted with %s", got)
		}
		for list, want := range map[string]int{"/v1/checks": 0, "/v1/alert-rules": 0, "/v1/notification-channels": 0, "/v1/status-pages": 1} {
			if rows := a.want(t, http.StatusOK, http.MethodGet, list, nil).rows(t); len(rows) != want {
				t.Errorf("%s has %v", list, rows)
			}
		}
	})
	t.Run("MovesWithoutMakingAgain", func(t *testing.T) {
		t.Parallel()
		a := paid(t)
		a.apply(t, http.StatusOK, shop())
		id := text(find(t, a, "/v1/checks", "home"), "id")
		renamed := shop()
		checks, _ := renamed["checks"].(doc)
		checks["front"], checks["home"] = checks["home"], checks["api"]
		delete(checks, "api")
		at("status_pages.public.groups", []any{doc{"checks": []any{"front"}}})(renamed)
		at("moved", []any{doc{"from": "checks.home", "to": "checks.front"}, doc{"from": "checks.api", "to": "checks.home"}})(renamed)
		refused := a.apply(t, http.StatusBadRequest, renamed)
		if !strings.Contains(refused.problem(), "moved[0].from: is still in the document") {
			t.Errorf("refused with %s", refused.raw)
		}
		delete(checks, "home")
		at("moved", []any{doc{"from": "checks.home", "to": "checks.front"}})(renamed)
		applied := a.apply(t, http.StatusOK, renamed)
		if got := encoded(t, actions(t, applied)); got != `{"check api":"leave","check front":"change","rule front/down":"change",`+
			`"rule front/slow":"change","status_page public":"change"}` {
			t.Errorf("actions %s", got)
		}
		if again := text(find(t, a, "/v1/checks", "front"), "id"); again != id {
			t.Errorf("the check is %s, and was %s", again, id)
		}
		if got := encoded(t, actions(t, a.apply(t, http.StatusOK, renamed))); got != `{"check api":"leave"}` {
			t.Errorf("a second apply does %s", got)
		}
	})
	t.Run("AdoptsWhatNothingManages", func(t *testing.T) {
		t.Parallel()
		a := paid(t)
		byHand := a.check(t, with("name", "api"))
		planned := a.apply(t, http.StatusOK, shop(), with("dry_run", true))
		if note := members(t, planned, "check", "api"); !strings.Contains(note, "vigil adopt check "+text(byHand, "id")[28:]+" --as shop/api") {
			t.Errorf("planned %s", note)
		}
		adopt := with("adopt", map[string]any{"checks.api": byHand["id"]})
		applied := a.apply(t, http.StatusOK, shop(), adopt)
		if got := members(t, applied, "check", "api"); !strings.Contains(got, `"action":"change"`) || !strings.Contains(got, text(byHand, "id")) {
			t.Errorf("adopted with %s", got)
		}
		if got := actions(t, a.apply(t, http.StatusOK, shop(), adopt)); len(got) != 0 {
			t.Errorf("adopting again does %v", got)
		}
		foreign := a.check(t, with("managed_by", managedBy("other", "x")))
		refused := a.apply(t, http.StatusBadRequest, shop(at("checks.new", doc{"type": "ping", "config": doc{"host": "example.com"}})),
			with("adopt", map[string]any{"checks.new": foreign["id"], "checks.home": byHand["id"], "checks.nine": byHand["id"]}))
		for _, want := range []string{
			"adopt.checks.new", "is managed by terraform in the project other, as x", "adopt.checks.home", "adopt.checks.nine",
		} {
			if !strings.Contains(string(refused.raw), want) {
				t.Errorf("%s does not have %s", refused.raw, want)
			}
		}
	})
	t.Run("WritesTheAuditLogAsSingleEditsDo", func(t *testing.T) {
		t.Parallel()
		a := paid(t)
		a.apply(t, http.StatusOK, shop())
		a.apply(t, http.StatusOK, shop(), with("dry_run", true))
		a.apply(t, http.StatusOK, shop(at("checks.api.name", "The API")))
		a.apply(t, http.StatusOK, shop(at("checks.api.name", "The API"), at("checks.home.rules.slow", nil)), with("missing", "delete"))
		var got []string
		for _, entry := range a.want(t, http.StatusOK, http.MethodGet, "/v1/audit-log", nil).rows(t) {
			if entry["resource_id"] != nil && !strings.HasPrefix(text(entry, "action"), "account") {
				got = append(got, text(entry, "action")+" "+encoded(t, entry["members"]))
			}
		}
		all := strings.Join(got, "\n")
		for _, want := range []string{
			"check.create", "rule.create", "channel.create", "status_page.create", `check.update ["name"]`, "rule.delete []",
		} {
			if !strings.Contains(all, want) {
				t.Errorf("no entry %s in\n%s", want, all)
			}
		}
		if strings.Contains(all, "apply.run") || strings.Count(all, "check.create") != 2 {
			t.Errorf("the log has\n%s", all)
		}
	})
}
