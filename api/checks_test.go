// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api"
)

func TestCreateCheck(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)

	t.Run("DefaultsAreThoseOfTheSpec", func(t *testing.T) {
		t.Parallel()
		check := a.check(t)
		if check["enabled"] != true || check["simultaneous_regions"] != true || check["health_status"] != "unknown" ||
			check["last_checked"] != nil || text(check, "org_id") != a.org.String() || check["interval_seconds"] != 60.0 {
			t.Errorf("check %v", check)
		}
		if regions, _ := json.Marshal(check["regions"]); string(regions) != `["na-east-ewr"]` {
			t.Errorf("regions %s", regions)
		}
	})

	t.Run("ChecksOfUnverifiedAccountsExpire", func(t *testing.T) {
		t.Parallel()
		expires, err := time.Parse(time.RFC3339, text(a.check(t), "expires_at"))
		if want := b.clock.Now().Add(14 * 24 * time.Hour); err != nil || !expires.Equal(want) {
			t.Errorf("expires_at %s, want %s (%v)", expires, want, err)
		}
	})

	t.Run("CloudNamesBecomeOurKeys", func(t *testing.T) {
		t.Parallel()
		for alias, key := range map[string]string{
			"us-east-1":      "na-east-ewr",
			"eu-central-1":   "eu-central-fra",
			"eu-central-fra": "eu-central-fra",
		} {
			if got := a.check(t, with("regions", []string{alias}))["regions"]; len(got.([]any)) != 1 || got.([]any)[0] != key {
				t.Errorf("%s became %v, want %s", alias, got, key)
			}
		}
	})

	t.Run("TheLoopsAreUpdated", func(t *testing.T) {
		t.Parallel()
		id := text(a.check(t), "id")
		eventually(t, "the loop starts", func() bool {
			b.loops.mu.Lock()
			defer b.loops.mu.Unlock()
			return slices.ContainsFunc(b.loops.applied, func(l vigil.Loop) bool {
				return l.CheckID.String() == id && l.Region == "na-east-ewr" && l.Active && l.Desired == 1
			})
		})
	})

	t.Run("MembersOfTheResourceAreIgnored", func(t *testing.T) {
		t.Parallel()
		made := a.check(t, with("id", "00000000-0000-4000-8000-000000000000"), with("org_id", "00000000-0000-4000-8000-000000000000"),
			with("health_status", "healthy"), with("last_checked", "2001-01-01T00:00:00Z"), with("expires_at", nil),
			with("created_at", "2001-01-01T00:00:00Z"), with("updated_at", "2001-01-01T00:00:00Z"))
		if text(made, "org_id") != a.org.String() || made["health_status"] != "unknown" || made["expires_at"] == nil ||
			strings.HasPrefix(text(made, "id"), "00000000") || strings.HasPrefix(text(made, "created_at"), "2001") {
			t.Errorf("check %v", made)
		}
	})

	t.Run("AWholeNumberMayBeWrittenWithAFraction", func(t *testing.T) {
		t.Parallel()
		body := `{"name":"x","type":"tcp","config":{"host":"example.com","port":80},"interval_seconds":1.2e2}`
		if made := a.want(t, http.StatusCreated, http.MethodPost, "/v1/checks", body).data(t); made["interval_seconds"] != 120.0 {
			t.Errorf("check %v", made)
		}
	})
}

func TestUpdateCheck(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)

	t.Run("WhatIsReadCanBeWrittenBack", func(t *testing.T) {
		t.Parallel()
		path := "/v1/checks/" + text(a.check(t), "id")
		before := a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t)
		after := a.want(t, http.StatusOK, http.MethodPut, path, before).data(t)
		if x, y := encoded(t, before), encoded(t, after); x != y {
			t.Errorf("before %s\nafter  %s", x, y)
		}
		before["name"] = "New name"
		if got := a.want(t, http.StatusOK, http.MethodPut, path, before).data(t); got["name"] != "New name" {
			t.Errorf("check %v", got)
		}
	})

	t.Run("MembersThatAreLeftOutStay", func(t *testing.T) {
		t.Parallel()
		made := a.check(t, with("simultaneous_regions", false), with("interval_seconds", 120))
		got := a.want(t, http.StatusOK, http.MethodPut, "/v1/checks/"+text(made, "id"), map[string]any{"enabled": false}).data(t)
		if got["enabled"] != false || got["simultaneous_regions"] != false || got["interval_seconds"] != 120.0 || got["name"] != made["name"] {
			t.Errorf("check %v", got)
		}
	})

	t.Run("TypeNeedsItsConfig", func(t *testing.T) {
		t.Parallel()
		path := "/v1/checks/" + text(a.check(t), "id")
		if r := a.want(t, http.StatusBadRequest, http.MethodPut, path, map[string]any{"type": "tcp"}); r.detail("member") != "config" {
			t.Errorf("answer %s", r.raw)
		}
		change := map[string]any{"type": "tcp", "config": map[string]any{"host": "example.com", "port": 443}}
		if got := a.want(t, http.StatusOK, http.MethodPut, path, change).data(t); got["type"] != "tcp" {
			t.Errorf("check %v", got)
		}
	})

	t.Run("MistakesChangeNothing", func(t *testing.T) {
		t.Parallel()
		made := a.check(t)
		delete(made, "warnings") // of the creation
		path := "/v1/checks/" + text(made, "id")
		for _, change := range []map[string]any{
			{"name": ""},
			{"interval_seconds": 59},
			{"interval_seconds": "60"},
			{"regions": []string{}},
			{"regions": "na-east-ewr"},
			{"enabled": nil},
			{"enabled": "yes"},
			{"config": nil},
			{"config": map[string]any{"url": "ftp://example.com"}},
			{"color": "red"},
			{"name": "fine", "config": map[string]any{"url": "https://example.com", "colour": 1}},
		} {
			a.want(t, http.StatusBadRequest, http.MethodPut, path, change)
		}
		if got := a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t); encoded(t, got) != encoded(t, made) {
			t.Errorf("before %v\nafter  %v", made, got)
		}
	})

	t.Run("AChangeReachesTheLoops", func(t *testing.T) {
		t.Parallel()
		id := text(a.check(t), "id")
		a.want(t, http.StatusOK, http.MethodPut, "/v1/checks/"+id, map[string]any{"regions": []string{"sa-east-sao"}})
		eventually(t, "one loop stops and the other starts", func() bool {
			b.loops.mu.Lock()
			defer b.loops.mu.Unlock()
			return b.loops.stopped["check/"+id+"/na-east-ewr"] == 2 && slices.ContainsFunc(b.loops.applied, func(l vigil.Loop) bool {
				return l.CheckID.String() == id && l.Region == "sa-east-sao" && l.Desired == 2
			})
		})
	})

	t.Run("UnknownOrMalformedIdsAreNotFound", func(t *testing.T) {
		t.Parallel()
		for _, id := range []string{
			"00000000-0000-4000-8000-000000000000", "1", "x", "urn:uuid:00000000-0000-4000-8000-000000000000",
			"{00000000-0000-4000-8000-000000000000}", "00000000000040008000000000000000", "'; DROP TABLE checks; --",
		} {
			for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
				var body any
				if method == http.MethodPut {
					body = map[string]any{"name": "x"}
				}
				path := "/v1/checks/" + strings.ReplaceAll(id, " ", "%20")
				if r := a.want(t, http.StatusNotFound, method, path, body); r.problem() != "check not found" {
					t.Errorf("%s %s: %s", method, path, r.raw)
				}
			}
		}
	})
}

func TestSecretsOfConfigs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	config := map[string]any{
		"url":         "https://example.com/?a=b&access_token=hunter2",
		"method":      "POST",
		"body":        "hunter2",
		"body_secret": true,
		"headers":     map[string]any{"Authorization": "Bearer hunter2", "X-Auth-Token": "hunter2", "Accept": "text/html"},
		"basic_auth":  map[string]any{"username": "ada", "password": "hunter2"},
	}
	delete(config, "basic_auth") // together with the header it would be ambiguous
	made := a.want(t, http.StatusCreated, http.MethodPost, "/v1/checks", newCheck(with("config", config)))
	path := "/v1/checks/" + text(made.data(t), "id")
	for _, r := range []answer{
		made, a.want(t, http.StatusOK, http.MethodGet, path, nil), a.want(t, http.StatusOK, http.MethodGet, "/v1/checks", nil),
	} {
		if strings.Contains(string(r.raw), "hunter2") || !strings.Contains(string(r.raw), `"***"`) ||
			!strings.Contains(string(r.raw), "text/html") {
			t.Errorf("shown: %s", r.raw)
		}
	}
	// Written back, the mask keeps the secret.
	shown := a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t)
	masked, _ := shown["config"].(map[string]any)
	if masked["url"] != "https://example.com/?a=b&access_token=***" || masked["body"] != "***" {
		t.Errorf("shown: %v", masked)
	}
	masked["url"] = "https://example.com/other?access_token=***"
	a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"config": masked})
	stored, err := b.store.Check(t.Context(), a.org, parseUUID(t, text(shown, "id")))
	if err != nil || !strings.Contains(string(stored.Config), "hunter2") ||
		!strings.Contains(string(stored.Config), "/other?access_token=hunter2") {
		t.Errorf("stored %s (%v)", stored.Config, err)
	}
	// With nothing to keep it is a mistake.
	r := a.want(t, http.StatusBadRequest, http.MethodPost, "/v1/checks", newCheck(with("config", masked)))
	if r.detail("member") != "config.body" {
		t.Errorf("answer %s", r.raw)
	}
}

func TestDeleteCheck(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	id := text(a.check(t), "id")
	path := "/v1/checks/" + id
	if r := a.want(t, http.StatusNoContent, http.MethodDelete, path, nil); len(r.raw) != 0 {
		t.Errorf("body %q", r.raw)
	}
	a.want(t, http.StatusNotFound, http.MethodGet, path, nil)
	a.want(t, http.StatusNotFound, http.MethodDelete, path, nil)
	eventually(t, "the loop stops", func() bool {
		b.loops.mu.Lock()
		defer b.loops.mu.Unlock()
		revision, stopped := b.loops.stopped["check/"+id+"/na-east-ewr"]
		return stopped && revision == 0 // at any revision
	})
}

// TestTemporalAway holds that checks are written while the loops cannot be
// reached; the sweep signals them later.
func TestTemporalAway(t *testing.T) {
	t.Parallel()
	b := setup(t, func(d *api.Deps) { d.Config.TaskDeadline = 0 })
	b.loops.err, b.loops.hang = errors.New("connection refused"), true
	a := b.signup(t)
	made := a.check(t)
	a.want(t, http.StatusOK, http.MethodPut, "/v1/checks/"+text(made, "id"), map[string]any{"enabled": false})
	a.want(t, http.StatusNoContent, http.MethodDelete, "/v1/checks/"+text(made, "id"), nil)
}

func TestListChecks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	var ids []string
	for range 5 {
		ids = append(ids, text(a.check(t), "id"))
	}
	slices.Reverse(ids)
	page := func(query string) []string {
		r := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks"+query, nil)
		meta, _ := r.body["meta"].(map[string]any)
		if meta["total"] != "5" {
			t.Errorf("total %v, want the string 5", meta["total"])
		}
		var got []string
		for _, row := range r.rows(t) {
			got = append(got, text(row, "id"))
		}
		return got
	}
	for query, want := range map[string][]string{
		"": ids, "?limit=2": ids[:2], "?limit=2&offset=2": ids[2:4], "?offset=4": ids[4:], "?offset=99": nil, "?limit=100000": ids,
	} {
		if got := page(query); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", query, got, want)
		}
	}
	for _, query := range []string{
		"limit=0", "limit=-1", "limit=x", "limit=", "limit=1.5", "limit=1&limit=2", "offset=-1", "offset=x", "limit=%zz", "offset=1e3",
	} {
		r := a.want(t, http.StatusBadRequest, http.MethodGet, "/v1/checks?"+query, nil)
		if name := strings.Split(query, "=")[0]; r.detail("member") != name && r.detail("member") != "query" {
			t.Errorf("%s: %s", query, r.raw)
		}
	}
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
