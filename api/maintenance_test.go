// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/maintenance"
)

const windows = "/v1/maintenance-windows"

// windowOf is the body of a window that covers checks and begins tomorrow.
func windowOf(checks ...string) map[string]any {
	return map[string]any{
		"name": "Upgrade", "scope": map[string]any{"check_ids": checks}, "starts_at": localTime(24 * time.Hour), "duration_seconds": 1800,
	}
}

// localTime is so far from now, as clocks in UTC show it.
func localTime(from time.Duration) string {
	return maintenance.FormatWallTime(time.Now().UTC().Add(from).Truncate(time.Second))
}

func TestMaintenanceWindows(t *testing.T) {
	t.Parallel()
	b := setup(t)

	t.Run("AreCreatedReadChangedAndDeleted", func(t *testing.T) {
		t.Parallel()
		a := b.tier(t, b.signup(t), account.TierPaid)
		first, second := text(a.check(t), "id"), text(a.check(t), "id")
		body := windowOf(first)
		body["rrule"], body["timezone"] = "FREQ=DAILY;COUNT=3", "Europe/Berlin"
		made := a.want(t, http.StatusCreated, http.MethodPost, windows, body, "Idempotency-Key", "window")
		again := a.want(t, http.StatusCreated, http.MethodPost, windows, body, "Idempotency-Key", "window")
		window := made.data(t)
		if string(made.raw) != string(again.raw) || made.header.Get("ETag") != `"1"` || again.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("made %s, repeated %s", made.raw, again.raw)
		}
		next, _ := window["next"].([]any)
		if window["state"] != "upcoming" || window["checks_covered"] != 1.0 || len(next) != 3 || window["probing"] != "continue" ||
			window["uptime"] != "exclude" || window["enabled"] != true || window["active_until"] != nil {
			t.Errorf("created %s", made.raw)
		}
		path := windows + "/" + text(window, "id")
		if got := a.want(t, http.StatusOK, http.MethodGet, path, nil); encoded(t, got.data(t)) != encoded(t, window) {
			t.Errorf("read %s", got.raw)
		}
		delete(window, "active_until") // the test's reader of the document takes no null for a member of any type
		if same := a.want(t, http.StatusOK, http.MethodPut, path, window, "If-Match", `"1"`).data(t); same["revision"] != 1.0 {
			t.Errorf("writing what was read makes revision %v", same["revision"])
		}
		changed := a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{
			"scope": map[string]any{"check_ids": []any{second, first, second}}, "rrule": "", "cron": "0 3 * * *", "until": localTime(72 * time.Hour),
		}, "If-Match", `"1"`).data(t)
		if changed["checks_covered"] != 2.0 || changed["cron"] != "0 3 * * *" || changed["revision"] != 2.0 {
			t.Errorf("changed to %v", changed)
		}
		a.want(t, http.StatusPreconditionFailed, http.MethodPut, path, map[string]any{"name": "lost"}, "If-Match", `"1"`)
		a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"until": nil})
		a.want(t, http.StatusNoContent, http.MethodDelete, "/v1/checks/"+second, nil)
		left := a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t)
		if strings.Contains(encoded(t, left["scope"]), second) || left["revision"] != 4.0 {
			t.Errorf("after a check is deleted: %v", left)
		}
		a.want(t, http.StatusPreconditionFailed, http.MethodDelete, path, nil, "If-Match", `"1"`)
		a.want(t, http.StatusNoContent, http.MethodDelete, path, nil, "If-Match", `"4"`)
		a.want(t, http.StatusNotFound, http.MethodGet, path, nil)
		if rows := a.want(t, http.StatusOK, http.MethodGet, windows, nil).rows(t); len(rows) != 0 {
			t.Errorf("list %v", rows)
		}
	})

	t.Run("AreEndedOnce", func(t *testing.T) {
		t.Parallel()
		a := b.tier(t, b.signup(t), account.TierPaid)
		body := windowOf(text(a.check(t), "id"))
		body["starts_at"], body["rrule"] = localTime(-10*time.Minute), "FREQ=DAILY"
		window := a.want(t, http.StatusCreated, http.MethodPost, windows, body).data(t)
		if until, _ := window["active_until"].(string); window["state"] != "active" || until == "" {
			t.Fatalf("created %v", window)
		}
		path := windows + "/" + text(window, "id")
		ended := a.want(t, http.StatusOK, http.MethodPost, path+"/end", nil).data(t)
		if ended["state"] != "upcoming" || encoded(t, ended["next"]) != encoded(t, window["next"]) {
			t.Errorf("ended %v", ended)
		}
		a.want(t, http.StatusConflict, http.MethodPost, path+"/end", nil)
		if same := a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"duration_seconds": 3600}).data(t); same["state"] != "upcoming" {
			t.Errorf("a change of the schedule starts again what was ended: %v", same)
		}
		a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"enabled": false})
		if on := a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"enabled": true}).data(t); on["state"] != "active" {
			t.Errorf("enabled within an occurrence: %v", on)
		}
	})

	t.Run("AreListedByStateAndCheck", func(t *testing.T) {
		t.Parallel()
		a := b.tier(t, b.signup(t), account.TierPaid)
		check, other := text(a.check(t), "id"), text(a.check(t), "id")
		a.want(t, http.StatusOK, http.MethodPut, "/v1/checks/"+other, map[string]any{"labels": map[string]any{"team": "pay=ments"}})
		for name, change := range map[string]map[string]any{
			"active":   {"starts_at": localTime(-time.Minute)},
			"upcoming": {"scope": map[string]any{"labels": []any{"team=pay=ments"}}},
			"ended":    {"starts_at": localTime(-48 * time.Hour)},
			"disabled": {"enabled": false, "scope": map[string]any{"all": true}},
		} {
			body := windowOf(check)
			body["name"] = name
			for member, value := range change {
				body[member] = value
			}
			a.want(t, http.StatusCreated, http.MethodPost, windows, body)
		}
		for query, want := range map[string]int{
			"?state=active": 1, "?state=upcoming": 1, "?state=ended": 1, "?state=disabled": 1, "?check_id=" + check: 3, "?check_id=" + other: 2,
			"?check_id=" + other + "&state=upcoming": 1, "": 4,
		} {
			rows := a.want(t, http.StatusOK, http.MethodGet, windows+query, nil).rows(t)
			if len(rows) != want {
				t.Errorf("%s: %v", query, rows)
			}
			for _, row := range rows {
				if row["state"] != row["name"] || row["checks_covered"] == 0.0 {
					t.Errorf("%s: %v", query, row)
				}
			}
		}
		a.want(t, http.StatusBadRequest, http.MethodGet, windows+"?state=paused", nil)
		a.want(t, http.StatusBadRequest, http.MethodGet, windows+"?check_id=x", nil)
	})

	t.Run("NameWhatIsWrong", func(t *testing.T) {
		t.Parallel()
		a, other := b.tier(t, b.signup(t), account.TierPaid), b.signup(t)
		check, foreign := text(a.check(t), "id"), text(other.check(t), "id")
		for name, tt := range map[string]struct {
			change func(map[string]any)
			member string
		}{
			"no scope":            {with("scope", map[string]any{}), "scope"},
			"a foreign check":     {with("scope", map[string]any{"check_ids": []any{check, foreign}}), ""},
			"no id":               {with("scope", map[string]any{"check_ids": []any{"x"}}), "scope.check_ids[0]"},
			"a label without =":   {with("scope", map[string]any{"labels": []any{"team"}}), "scope.labels[0]"},
			"an offset":           {with("starts_at", "2026-12-01T22:00:00Z"), "starts_at"},
			"long ago":            {with("starts_at", localTime(-1000*24*time.Hour)), "starts_at"},
			"an unknown zone":     {with("timezone", "Mars/Olympus"), "timezone"},
			"a short duration":    {with("duration_seconds", 59), "duration_seconds"},
			"a long duration":     {with("duration_seconds", 1209601), "duration_seconds"},
			"an unsupported rule": {with("rrule", "FREQ=HOURLY"), "rrule"},
			"a rule that ends":    {with("rrule", "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"), "rrule"},
			"a wrong cron":        {with("cron", "61 * * * *"), "cron"},
			"an end without rule": {with("until", "2030-01-01T00:00"), "until"},
			"probing of its own":  {with("probing", "stop"), "probing"},
			"a member it lacks":   {with("alerts", "off"), "alerts"},
			"no name":             {with("name", " "), "name"},
		} {
			body := windowOf(check)
			tt.change(body)
			r := a.want(t, http.StatusBadRequest, http.MethodPost, windows, body)
			if tt.member != "" && r.detail("member") != tt.member {
				t.Errorf("%s: %s", name, r.raw)
			}
		}
	})

	t.Run("AreLimitedByThePlan", func(t *testing.T) {
		t.Parallel()
		a := b.signup(t)
		body := windowOf(text(a.check(t), "id"))
		all := map[string]any{"name": "All", "scope": map[string]any{"all": true}, "starts_at": localTime(time.Hour), "duration_seconds": 60}
		if r := a.want(t, http.StatusForbidden, http.MethodPost, windows, all); r.body["code"] != "plan_limit" {
			t.Errorf("all on the free plan: %s", r.raw)
		}
		for range 3 {
			a.want(t, http.StatusCreated, http.MethodPost, windows, body)
		}
		if r := a.want(t, http.StatusForbidden, http.MethodPost, windows, body); r.body["code"] != "plan_limit" || r.detail("limit") != 3.0 {
			t.Errorf("answered %s", r.raw)
		}
		limits, _ := a.want(t, http.StatusOK, http.MethodGet, "/v1/usage", nil).data(t)["limits"].(map[string]any)
		if shown, _ := limits["maintenance_windows"].(map[string]any); shown["used"] != 3.0 || shown["limit"] != 3.0 {
			t.Errorf("usage shows %v", limits)
		}
	})
}

func TestAPreviewShowsWhatClocksDo(t *testing.T) {
	t.Parallel()
	a := setup(t).signup(t)
	year := time.Now().Year() + 1
	day := time.Date(year, 3, 31, 0, 0, 0, 0, time.UTC)
	for day.Weekday() != time.Sunday {
		day = day.AddDate(0, 0, -1)
	}
	preview := func(body map[string]any) []map[string]any {
		return a.want(t, http.StatusOK, http.MethodPost, windows+"/preview", body).rows(t)
	}
	rows := preview(map[string]any{
		"starts_at": day.AddDate(0, 0, -1).
			Format("2006-01-02") +
			"T02:30",
		"timezone":         "Europe/Berlin",
		"duration_seconds": 3600,
		"rrule":            "FREQ=DAILY",
	})
	if len(rows) != 50 || rows[0]["shifted"] != false || rows[1]["shifted"] != true || rows[2]["shifted"] != false {
		t.Fatalf("%d occurrences, %v", len(rows), rows[:3])
	}
	if at, _ := rows[1]["local_starts_at"].(string); !strings.HasSuffix(at, "T03:00") {
		t.Errorf("in the gap: %v", rows[1])
	}
	night := preview(map[string]any{
		"starts_at": day.Format("2006-01-02") + "T00:00", "timezone": "Europe/Berlin", "duration_seconds": 24 * 3600, "name": "ignored",
	})
	if len(night) != 1 || night[0]["clock_change_seconds"] != 3600.0 {
		t.Errorf("a day of 23 hours: %v", night)
	}
	if past := preview(map[string]any{"starts_at": "2020-01-01T00:00", "duration_seconds": 60}); len(past) != 0 {
		t.Errorf("the past: %v", past)
	}
	a.want(
		t,
		http.StatusBadRequest,
		http.MethodPost,
		windows+"/preview",
		map[string]any{"starts_at": "2020-01-01T00:00", "duration_seconds": 60, "cron": "0"},
	)
}
