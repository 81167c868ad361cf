// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
)

func reportScheduleOf(channel string) map[string]any {
	return map[string]any{
		"name": "Monthly", "channel_ids": []string{channel}, "labels": []string{"team=shop"},
		"recurrence": map[string]any{"every": "monthly", "day": 1, "hour": 9, "timezone": "Europe/Berlin"},
	}
}

// TestReportSchedules writes and reads a schedule, and names what cannot be.
func TestReportSchedules(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	e := b.episode(t, a)
	const path = "/v1/report-schedules"
	body := reportScheduleOf(e.channel.String())
	made := a.want(t, http.StatusCreated, http.MethodPost, path, body, "Idempotency-Key", "schedule")
	again := a.want(t, http.StatusCreated, http.MethodPost, path, body, "Idempotency-Key", "schedule")
	one := made.data(t)
	if string(made.raw) != string(again.raw) || one["next_at"] == nil || one["last_at"] != nil || one["target_percentage"] != 99.9 {
		t.Errorf("made %s, repeated %s", made.raw, again.raw)
	}
	id := path + "/" + text(one, "id")
	off := a.want(t, http.StatusOK, http.MethodPut, id, map[string]any{"enabled": false}).data(t)
	if off["next_at"] != nil || off["name"] != "Monthly" || off["revision"] != 2.0 {
		t.Errorf("disabled it is %v", off)
	}
	a.want(t, http.StatusPreconditionFailed, http.MethodPut, id, map[string]any{"name": "x"}, "If-Match", `"1"`)
	stranger := b.signup(t)
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		stranger.want(t, http.StatusNotFound, method, id, nil)
	}
	for member, change := range map[string]map[string]any{
		"channel_ids[0]":      {"channel_ids": []string{b.episode(t, stranger).channel.String()}},
		"channel_ids[1]":      {"channel_ids": []string{e.channel.String(), uuid.NewString()}},
		"channel_ids":         {"channel_ids": []string{}},
		"labels[1]":           {"labels": []string{"a", "="}},
		"target_percentage":   {"target_percentage": 100},
		"recurrence.every":    {"recurrence": map[string]any{"every": "daily", "day": 1, "hour": 9, "timezone": "UTC"}},
		"recurrence.day":      {"recurrence": map[string]any{"every": "weekly", "day": 8, "hour": 9, "timezone": "UTC"}},
		"recurrence.timezone": {"recurrence": map[string]any{"every": "quarterly", "day": 1, "hour": 9, "timezone": "Here"}},
	} {
		if got := a.want(t, http.StatusBadRequest, http.MethodPut, id, change); got.detail("member") != member {
			t.Errorf("%s: %s", member, got.raw)
		}
	}
	if listed := a.want(t, http.StatusOK, http.MethodGet, path, nil).rows(t); len(listed) != 1 {
		t.Errorf("listed are %v", listed)
	}
	a.want(t, http.StatusNoContent, http.MethodDelete, id, nil)
	a.want(t, http.StatusNotFound, http.MethodGet, id, nil)
}
