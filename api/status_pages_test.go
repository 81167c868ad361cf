// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/account"
)

// pageOf is the body of a status page that shows checks in one group.
func pageOf(slug string, checks ...map[string]any) map[string]any {
	shown := make([]any, len(checks))
	for i, check := range checks {
		shown[i] = map[string]any{"check_id": check["id"], "name": "Service " + string(rune('A'+i))}
	}
	return map[string]any{"slug": slug, "title": "Acme status", "groups": []any{map[string]any{"name": "Shop", "checks": shown}}}
}

func TestStatusPages(t *testing.T) {
	t.Parallel()
	const list = "/v1/status-pages"
	b := setup(t)

	t.Run("AreCreatedReadChangedAndDeleted", func(t *testing.T) {
		t.Parallel()
		a := b.tier(t, b.signup(t), account.TierPaid)
		first, second := a.check(t), a.check(t)
		body := pageOf("acme-life", first, second)
		made := a.want(t, http.StatusCreated, http.MethodPost, list, body, "Idempotency-Key", "page")
		again := a.want(t, http.StatusCreated, http.MethodPost, list, body, "Idempotency-Key", "page")
		page := made.data(t)
		if string(made.raw) != string(again.raw) || again.header.Get("ETag") != `"1"` || again.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("repeated: %s, ETag %s", again.raw, again.header.Get("ETag"))
		}
		if page["enabled"] != true || page["noindex"] != false || page["url"] != "http://vigil.test/status/acme-life" || page["revision"] != 1.0 {
			t.Errorf("created %s", made.raw)
		}
		path := list + "/" + text(page, "id")
		if got := a.want(t, http.StatusOK, http.MethodGet, path, nil); encoded(t, got.data(t)) != encoded(t, page) {
			t.Errorf("read %s", got.raw)
		}
		changed := a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"noindex": true, "title": " Acme "}, "If-Match", `"1"`).data(t)
		if changed["noindex"] != true || changed["title"] != "Acme" || encoded(t, changed["groups"]) != encoded(t, page["groups"]) {
			t.Errorf("changed to %v", changed)
		}
		if same := a.want(t, http.StatusOK, http.MethodPut, path, changed).data(t); same["revision"] != 2.0 {
			t.Errorf("writing what was read makes revision %v", same["revision"])
		}
		moved := a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"groups": []any{
			map[string]any{"name": "", "checks": []any{map[string]any{"check_id": second["id"], "name": "Pay"}}},
		}}, "If-Match", `"2"`).data(t)
		if groups := encoded(t, moved["groups"]); !strings.Contains(groups, `"Pay"`) || strings.Contains(groups, text(first, "id")) {
			t.Errorf("groups %s", groups)
		}
		a.want(t, http.StatusPreconditionFailed, http.MethodPut, path, map[string]any{"title": "lost"}, "If-Match", `"2"`)
		if rows := a.want(t, http.StatusOK, http.MethodGet, list, nil).rows(t); len(rows) != 1 || encoded(t, rows[0]) != encoded(t, moved) {
			t.Errorf("list %v", rows)
		}
		a.want(t, http.StatusNoContent, http.MethodDelete, path, nil, "If-Match", `"3"`)
		a.want(t, http.StatusNotFound, http.MethodGet, path, nil)
	})

	t.Run("LoseADeletedCheck", func(t *testing.T) {
		t.Parallel()
		a := b.tier(t, b.signup(t), account.TierPaid)
		first, second, third := a.check(t), a.check(t), a.check(t)
		path := list + "/" + text(a.want(t, http.StatusCreated, http.MethodPost, list, pageOf("acme-less", first, second, third)).data(t), "id")
		a.want(t, http.StatusNoContent, http.MethodDelete, "/v1/checks/"+text(first, "id"), nil)
		a.want(t, http.StatusOK, http.MethodPost, "/v1/checks/bulk", map[string]any{"ids": []any{third["id"]}, "action": "delete"})
		page := a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t)
		groups := encoded(t, page["groups"])
		if strings.Contains(groups, text(first, "id")) || strings.Contains(groups, text(third, "id")) ||
			!strings.Contains(groups, text(second, "id")) {
			t.Errorf("groups %s", groups)
		}
		if page["revision"] != 3.0 {
			t.Errorf("revision %v after two checks have left", page["revision"])
		}
	})

	t.Run("NameWhatIsWrong", func(t *testing.T) {
		t.Parallel()
		a, other := b.tier(t, b.signup(t), account.TierPaid), b.signup(t)
		check, foreign := a.check(t), other.check(t)
		unknown := map[string]any{"id": uuid.NewString()}
		const member = "groups[0].checks[1].check_id"
		seen := make(map[string]bool)
		named := func(name string) []any {
			return []any{map[string]any{"name": "", "checks": []any{map[string]any{"check_id": check["id"], "name": name}}}}
		}
		for name, tt := range map[string]struct {
			change func(map[string]any)
			member string
		}{
			"a foreign check":     {with("groups", pageOf("", check, foreign)["groups"]), member},
			"an unknown check":    {with("groups", pageOf("", check, unknown)["groups"]), member},
			"no id of a check":    {with("groups", pageOf("", check, map[string]any{"id": "x"})["groups"]), member},
			"a check twice":       {with("groups", pageOf("", check, check)["groups"]), member},
			"an upper-case slug":  {with("slug", "Acme"), "slug"},
			"a slug with a dot":   {with("slug", "acme.json"), "slug"},
			"a hyphen at the end": {with("slug", "acme-"), "slug"},
			"no title":            {with("title", " "), "title"},
			"a line break":        {with("title", "a\nb"), "title"},
			"a misleading name":   {with("groups", named("\u202e")), "groups[0].checks[0].name"},
			"no name":             {with("groups", named("")), "groups[0].checks[0].name"},
			"a member it lacks":   {with("css", "*{}"), "css"},
		} {
			body := pageOf("acme-wrong", check)
			tt.change(body)
			r := a.want(t, http.StatusBadRequest, http.MethodPost, list, body)
			if r.detail("member") != tt.member {
				t.Errorf("%s: %s", name, r.raw)
			}
			if name == "a foreign check" || name == "an unknown check" {
				seen[r.problem()] = true
			}
		}
		if len(seen) != 1 {
			t.Errorf("a foreign check is not answered like an unknown one: %v", seen)
		}
	})

	t.Run("HaveASlugOfTheirOwn", func(t *testing.T) {
		t.Parallel()
		a, other := b.tier(t, b.signup(t), account.TierPaid), b.signup(t)
		a.want(t, http.StatusCreated, http.MethodPost, list, pageOf("acme-taken"))
		for _, taker := range []person{a, other} {
			r := taker.want(t, http.StatusConflict, http.MethodPost, list, pageOf("acme-taken"))
			if r.detail("member") != "slug" {
				t.Errorf("answered %s", r.raw)
			}
		}
		path := list + "/" + text(a.want(t, http.StatusCreated, http.MethodPost, list, pageOf("acme-free")).data(t), "id")
		a.want(t, http.StatusConflict, http.MethodPut, path, map[string]any{"slug": "acme-taken"})
	})

	t.Run("AreLimitedByThePlan", func(t *testing.T) {
		t.Parallel()
		a := b.signup(t)
		a.want(t, http.StatusCreated, http.MethodPost, list, pageOf("acme-one"))
		r := a.want(t, http.StatusForbidden, http.MethodPost, list, pageOf("acme-two"))
		if r.body["code"] != "plan_limit" || r.detail("limit") != 1.0 || r.detail("current") != 1.0 {
			t.Errorf("answered %s", r.raw)
		}
		limits, _ := a.want(t, http.StatusOK, http.MethodGet, "/v1/usage", nil).data(t)["limits"].(map[string]any)
		if shown, _ := limits["status_pages"].(map[string]any); shown["used"] != 1.0 || shown["limit"] != 1.0 {
			t.Errorf("usage shows %v", limits)
		}
	})
}

func TestIncidentUpdates(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	e := b.episode(t, a)
	id := e.open(t)
	path := "/v1/incidents/" + id.String() + "/updates"
	body := map[string]any{"text": " We look into it.\r\nMore soon. ", "state": "investigating"}
	made := a.want(t, http.StatusCreated, http.MethodPost, path, body, "Idempotency-Key", "say")
	again := a.want(t, http.StatusCreated, http.MethodPost, path, body, "Idempotency-Key", "say")
	update := made.data(t)
	if string(made.raw) != string(again.raw) || update["text"] != "We look into it.\nMore soon." || update["author"] != a.email ||
		update["incident_id"] != id.String() || update["state"] != "investigating" {
		t.Errorf("made %s, again %s", made.raw, again.raw)
	}
	e.b.clock.Advance(1)
	a.want(t, http.StatusCreated, http.MethodPost, path, map[string]any{"text": "Fixed.", "state": "resolved"})
	rows := a.want(t, http.StatusOK, http.MethodGet, path, nil).rows(t)
	if len(rows) != 2 || rows[1]["id"] != update["id"] && rows[0]["id"] != update["id"] {
		t.Errorf("list %v", rows)
	}
	if status := a.want(t, http.StatusOK, http.MethodGet, "/v1/incidents/"+id.String(), nil).data(t)["status"]; status == "resolved" {
		t.Error("an update has resolved the incident")
	}
	for _, wrong := range []map[string]any{
		{"text": "", "state": "resolved"}, {"text": " \n ", "state": "resolved"}, {"text": "x", "state": "over"}, {"text": "x"},
	} {
		a.want(t, http.StatusBadRequest, http.MethodPost, path, wrong)
	}
	stranger := b.signup(t)
	stranger.want(t, http.StatusNotFound, http.MethodPost, path, body)
	stranger.want(t, http.StatusNotFound, http.MethodGet, path, nil)
	a.want(t, http.StatusNotFound, http.MethodGet, "/v1/incidents/"+uuid.NewString()+"/updates", nil)
}
