// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/vigil-monitor/vigil/api/apitest"
)

// TestEveryMistakeIsNamed pins that one answer names all mistakes of a body, in
// the order of the resource's members, unknown ones last.
func TestEveryMistakeIsNamed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	check, channel := text(a.check(t), "id"), text(a.channel(t), "id")
	rule := text(a.rule(t, check, channel), "id")
	for name, tt := range map[string]struct {
		method, path, body string
		members            []string
	}{
		"NewCheck": {
			http.MethodPost, "/v1/checks",
			`{"zone":1,"Name":"x","enabled":"yes","interval_seconds":60.5,"config":[],"type":7,"regions":[7,8],"simultaneous_regions":null}`,
			[]string{"name", "type", "config", "interval_seconds", "regions", "enabled", "simultaneous_regions", "Name", "zone"},
		},
		"Check": {
			http.MethodPut, "/v1/checks/" + check,
			`{"name":null,"type":null,"config":null,"interval_seconds":null,"regions":null,"enabled":null,"simultaneous_regions":null}`,
			[]string{"name", "type", "config", "interval_seconds", "regions", "enabled", "simultaneous_regions"},
		},
		"NewChannel": {
			http.MethodPost, "/v1/notification-channels", `{"name":1,"enabled":0,"Type":"webhook"}`,
			[]string{"name", "type", "config", "enabled", "Type"},
		},
		"Channel": {
			http.MethodPut, "/v1/notification-channels/" + channel, `{"name":null,"type":null,"config":null,"enabled":null}`,
			[]string{"name", "type", "config", "enabled"},
		},
		"NewRule": {
			http.MethodPost, "/v1/checks/" + check + "/alerts",
			`{"notification_channel_ids":["x","` + channel + `",""],"notify_on":"never","region_policy":1,"enabled":[]}`,
			[]string{"name", "notification_channel_ids[0]", "notification_channel_ids[2]", "notify_on", "region_policy", "enabled"},
		},
		"Rule": {
			http.MethodPut, "/v1/checks/" + check + "/alerts/" + rule,
			`{"name":null,"notification_channel_ids":null,"notify_on":null,"region_policy":null,"enabled":null}`,
			[]string{"name", "notification_channel_ids", "notify_on", "region_policy", "enabled"},
		},
		"SignUp": {
			http.MethodPost, "/v1/auth/signup", `{"tier":"paid","email":"x","name":1,"Password":"x"}`,
			[]string{"email", "password", "name", "organization_name", "Password", "tier"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := a.want(t, http.StatusBadRequest, tt.method, tt.path, tt.body)
			list, _ := r.detail("problems").([]any)
			var got []string
			for _, one := range list {
				problem, _ := one.(map[string]any)
				got = append(got, text(problem, "member"))
				if text(problem, "message") == "" {
					t.Errorf("%s has no message", text(problem, "member"))
				}
			}
			if !slices.Equal(got, tt.members) || r.detail("member") != tt.members[0] {
				t.Errorf("it names %v, want %v: %s", got, tt.members, r.raw)
			}
		})
	}
}

// TestReadOnlyMembers pins that what a resource shows of itself may be written
// back with any value and changes nothing.
func TestReadOnlyMembers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	check, channel := text(a.check(t), "id"), text(a.channel(t), "id")
	rule := text(a.rule(t, check, channel), "id")
	for path, members := range map[string][]string{
		"/v1/checks/" + check: {"id", "org_id", "health_status", "last_checked", "expires_at", "created_at", "updated_at"},
		"/v1/notification-channels/" + channel: {
			"id", "org_id", "effective_format", "disabled_reason", "secret_overlap_ends_at", "created_at", "updated_at",
		},
		"/v1/checks/" + check + "/alerts/" + rule: {"id", "check_id", "created_at", "updated_at"},
	} {
		t.Run(path[len("/v1/"):], func(t *testing.T) {
			t.Parallel()
			before := a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t)
			for _, value := range []any{nil, 7, true, []any{1}, map[string]any{"a": 1}, "x"} {
				body := make(map[string]any)
				for _, member := range members {
					body[member] = value
				}
				// The document gives their types, so that what it does not allow is sent raw.
				r := a.undocumented().want(t, http.StatusOK, http.MethodPut, path, body)
				after := r.data(t)
				after["updated_at"] = before["updated_at"]
				if encoded(t, after) != encoded(t, before) {
					t.Errorf("%v changed %v into %v", value, before, after)
				}
			}
		})
	}
}

// TestWholeNumbers pins which numbers are whole, however they are written.
func TestWholeNumbers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	path := "/v1/checks/" + text(a.check(t), "id")
	for number, want := range map[string]float64{"60.0": 60, "6.1e1": 61, "620e-1": 62, "2592000": 2592000, "2.592e6": 2592000} {
		got := a.want(t, http.StatusOK, http.MethodPut, path, `{"interval_seconds":`+number+`}`).data(t)
		if got["interval_seconds"] != want {
			t.Errorf("%s became %v", number, got["interval_seconds"])
		}
	}
	for _, number := range []string{
		"60.5",
		"9223372036854775808",
		"1e300",
		"-1e300",
		"-9223372036854775809",
		"2592000.5",
		`"60"`,
		"true",
		"[]",
	} {
		r := a.want(t, http.StatusBadRequest, http.MethodPut, path, `{"interval_seconds":`+number+`}`)
		if r.detail("member") != "interval_seconds" {
			t.Errorf("%s: %s", number, r.raw)
		}
	}
}

// undocumented returns a client whose requests need not be ones that the document
// allows.
func (c *client) undocumented() *client {
	with := *c
	if checked, ok := c.http.Transport.(*apitest.Transport); ok {
		with.http = &http.Client{Transport: checked.Next}
	}
	return &with
}
