package api_test

import (
	"net/http"
	"strings"
	"testing"

	"vigil"
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
		"channels": doc{"oncall": doc{"name": "On call", "type": "webhook", "config": doc{"url": "https://hooks.example.com/x", "secret": "hunter2"}}},
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
func (a account) apply(t *testing.T, status int, document doc, changes ...func(map[string]any)) answer {
	t.Helper()
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
		a := b.tier(t, b.signup(t), vigil.TierPaid)
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
