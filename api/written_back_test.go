package api_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"vigil"
	"vigil/api"
)

// TestWhatIsReadCanBeWritten reads every resource that has a PUT and writes the same body back:
// nothing changes, and the revision stays.
func TestWhatIsReadCanBeWritten(t *testing.T) {
	t.Parallel()
	b := setup(t, func(d *api.Deps) { d.Config.EnterpriseRate = 1e6 })
	a := b.tier(t, b.signup(t), vigil.TierEnterprise)
	owned := belongings(t, b, a)
	check, channel := owned["/v1/checks"], owned["/v1/notification-channels"]
	paths := map[string][]string{
		"/v1/status-pages/{id}":        {"/v1/status-pages/" + owned["/v1/status-pages"]},
		"/v1/maintenance-windows/{id}": {"/v1/maintenance-windows/" + owned["/v1/maintenance-windows"]},
		"/v1/organization":             {"/v1/organization"},
		"/v1/members/{id}":             nil, // TestMemberThatIsReadCanBeWritten
	}
	made := func(list, path string, body map[string]any) {
		id := text(a.want(t, http.StatusCreated, http.MethodPost, list, body).data(t), "id")
		paths[path] = append(paths[path], list+"/"+id)
	}
	managed := func(key string) map[string]any { return map[string]any{"tool": "t", "project": "p", "key": key} }
	for _, kind := range slices.Sorted(maps.Keys(checkConfigs())) {
		made("/v1/checks", "/v1/checks/{id}", map[string]any{
			"name": kind, "type": kind, "interval_seconds": 300, "config": asked(t, checkConfigs()[kind]),
			"labels": map[string]any{"a": "b"}, "managed_by": managed(kind),
		})
	}
	for _, kind := range slices.Sorted(maps.Keys(channelConfigs())) {
		made("/v1/notification-channels", "/v1/notification-channels/{id}", map[string]any{
			"name": kind, "type": kind, "config": asked(t, channelConfigs()[kind]),
		})
	}
	for _, condition := range []string{
		`{"failure_threshold":3}`, `{"response_time_ms":5,"recovery_threshold":2}`, `{"health_status":"down","ssl_days_remaining":7}`,
	} {
		made("/v1/checks/"+check+"/alerts", "/v1/checks/{id}/alerts/{ruleID}", map[string]any{
			"name": "x", "condition": asked(t, condition), "notification_channel_ids": []string{channel},
		})
	}
	made("/v1/maintenance-windows", "/v1/maintenance-windows/{id}", map[string]any{
		"name": "x", "scope": map[string]any{"all": true}, "starts_at": localTime(1e15), "duration_seconds": 60,
		"rrule": "FREQ=WEEKLY", "until": localTime(1e16), "managed_by": managed("window"),
	})
	for _, one := range documented(t).Operations() {
		credential := one.Path == "/v1/auth/email" || one.Path == "/v1/auth/password" // what they take is never shown
		if (one.Method == http.MethodPut || one.Method == http.MethodPatch) && !credential {
			if _, ok := paths[one.Path]; !ok {
				t.Errorf("%s has no resource here", one.Path)
			}
		}
	}
	for _, of := range paths {
		for _, path := range of {
			before := a.want(t, http.StatusOK, http.MethodGet, path, nil)
			after := a.want(t, http.StatusOK, http.MethodPut, path, before.data(t))
			again := a.want(t, http.StatusOK, http.MethodGet, path, nil)
			if before.header.Get("ETag") == "" && path != "/v1/organization" || after.header.Get("ETag") != before.header.Get("ETag") {
				t.Errorf("%s: the revision was %s and is %s", path, before.header.Get("ETag"), after.header.Get("ETag"))
			}
			if x, y := encoded(t, before.data(t)), encoded(t, again.data(t)); x != y {
				t.Errorf("%s: it was %s\nand is %s", path, x, y)
			}
		}
	}
}

// A member is read in the list. No owner is mailed about a role that is written back.
func TestMemberThatIsReadCanBeWritten(t *testing.T) {
	t.Parallel()
	mails, mailing := withMail(t)
	b := setup(t, mailing)
	a := b.owner(t, mails)
	second, third := b.joins(t, mails, a.client, vigil.RoleViewer), b.joins(t, mails, a.client, vigil.RoleViewer)
	session := b.session(t, a.user.String())
	promote := func(m member) {
		session.want(t, http.StatusOK, http.MethodPut, "/v1/members/"+m.id, map[string]any{"role": "owner"})
		eventually(t, "the owners are mailed about "+m.email, func() bool {
			return strings.Contains(strings.Join(letters(t, mails, a.email), ""), m.email+") was made an owner")
		})
	}
	promote(second)
	list := session.want(t, http.StatusOK, http.MethodGet, "/v1/members", nil)
	for _, member := range list.rows(t) {
		session.want(t, http.StatusOK, http.MethodPut, "/v1/members/"+text(member, "id"), member)
	}
	again := session.want(t, http.StatusOK, http.MethodGet, "/v1/members", nil)
	if encoded(t, list.rows(t)) != encoded(t, again.rows(t)) || len(list.rows(t)) != 3 {
		t.Errorf("the members were %s\nand are %s", list.raw, again.raw)
	}
	promote(third)
	if got := strings.Count(strings.Join(letters(t, mails, a.email), ""), "was made an owner"); got != 2 {
		t.Errorf("the owner is mailed %d times about 2 new owners", got)
	}
}
