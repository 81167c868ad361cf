// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/api/apitest"
	"github.com/vigil-monitor/vigil/internal/account"
)

// TestWhatIsReadCanBeWritten reads every resource that has a PUT and writes the same body back:
// nothing changes, and the revision stays. The resources set every member that the document has.
func TestWhatIsReadCanBeWritten(t *testing.T) {
	t.Parallel()
	b := setup(t, func(d *api.Deps) { d.Config.EnterpriseRate = 1e6 })
	a := b.tier(t, b.signup(t), account.TierEnterprise)
	owned, real := belongings(t, b, a), certified(t)
	check := owned["/v1/checks"]
	paths := map[string][]string{
		"/v1/organization": {"/v1/organization"},
		"/v1/members/{id}": nil, // TestMemberThatIsReadCanBeWritten
	}
	made := func(list, path, body string) {
		sent := asked(t, body)
		created := a.want(t, http.StatusCreated, http.MethodPost, list, sent).data(t)
		for name, value := range sent {
			// A config is masked, and a condition is shown in the form in which it is stored.
			if form := name == "config" || name == "condition"; created[name] == nil || !form && encoded(t, created[name]) != encoded(t, value) {
				t.Errorf("%s: %s is %v, and was written as %v", list, name, created[name], value)
			}
		}
		paths[path] = append(paths[path], list+"/"+text(created, "id"))
	}
	checks, channels := configured(t, fullChecks(), real, "check"), configured(t, fullChannels(), real, "channel")
	for i := range channels {
		channels[i] = strings.Replace(channels[i], "{", `{"fallback_channel_id":"`+owned["/v1/notification-channels"]+`",`, 1)
	}
	rules, windows := fullRules(owned["/v1/notification-channels"]), fullWindows(check)
	scheduled := fullDrillSchedules(owned)
	subscribed := fullSubscriptions(owned["/v1/notification-channels"], check)
	for list, bodies := range map[string][]string{
		"/v1/checks": append(checks, minimal(checkConfigs())...), "/v1/notification-channels": append(channels, minimal(channelConfigs())...),
		"/v1/maintenance-windows": windows, "/v1/status-pages": fullPages(check), subscriptions: subscribed,
		"/v1/drill-schedules": scheduled, "/v1/report-schedules": fullReportSchedules(owned),
		"/v1/locations": {`{"name":"Lab","key":"loc-lab","labels":{"a":"b"}}`},
	} {
		for _, body := range bodies {
			made(list, list+"/{id}", body)
		}
	}
	for _, body := range rules {
		made("/v1/checks/"+check+"/alerts", "/v1/checks/{id}/alerts/{ruleID}", body)
	}
	c := documented(t)
	for path, bodies := range map[string][]string{
		"/v1/checks": checks, "/v1/notification-channels": channels, "/v1/maintenance-windows": windows, "/v1/status-pages": fullPages(check),
		"/v1/checks/{id}/alerts": rules, subscriptions: subscribed, "/v1/drill-schedules": scheduled,
		"/v1/report-schedules": fullReportSchedules(owned),
		"/v1/locations":        {`{"name":"Lab","key":"loc-lab","labels":{"a":"b"}}`},
	} {
		for _, missing := range unset(t, c, path, bodies) {
			if path == "/v1/checks" && missing == "rules" { // definitions of their own, which the check does not show
				continue
			}
			t.Errorf("POST %s: no body here sets %s to what is not its default", path, missing)
		}
	}
	for _, one := range c.Operations() {
		credential := one.Path == "/v1/auth/email" || one.Path == "/v1/auth/password" || // what they take is never shown
			one.Path == "/v1/status-pages/{id}/password" || one.Path == "/v1/status-pages/{id}/logo"
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

// configured returns bodies that create a resource of each type with each of its configs.
func configured(t *testing.T, configs map[string][]string, real func(string) string, key string) []string {
	t.Helper()
	var bodies []string
	for _, kind := range slices.Sorted(maps.Keys(configs)) {
		for i, config := range configs[kind] {
			more := ""
			if kind == "heartbeat" {
				more = `"evidence":false,`
			} else if key == "check" {
				more = `"interval_seconds":301,"evidence":false,"simultaneous_regions":false,"regions":["na-east-ewr","eu-central-fra"],` +
					`"retry":{"attempts":1,"delay_seconds":2,"unsafe":true,"on":"network"},`
			}
			bodies = append(bodies, real(fmt.Sprintf(`{"name":"x","type":%q,"enabled":false,"labels":{"a":"b"},%s%s,"config":%s}`,
				kind, more, managedAs(fmt.Sprint(key, kind, i)), config)))
		}
	}
	return bodies
}

// minimal returns bodies with what a resource of each type needs.
func minimal(configs map[string]string) []string {
	var bodies []string
	for _, kind := range slices.Sorted(maps.Keys(configs)) {
		interval := ""
		if _, check := checkConfigs()[kind]; check {
			interval = `"interval_seconds":300,`
		}
		bodies = append(bodies, fmt.Sprintf(`{"name":"x","type":%q,%s"config":%s}`, kind, interval, configs[kind]))
	}
	return bodies
}

// unset returns the members of an operation's body that none of the bodies sets to another value
// than the default. The members of each alternative of a schema count, and a config is held to the
// schema of its type.
func unset(t *testing.T, c *apitest.Contract, path string, bodies []string) []string {
	t.Helper()
	schema, _ := c.At("paths", path, "post", "requestBody", "content", apitest.JSON, "schema").(map[string]any)
	u := &unsetMembers{contract: c}
	var values []any
	byType, configs := map[string][]any{}, map[string][]any{}
	for _, body := range bodies {
		value := asked(t, body)
		values = append(values, value)
		byType[text(value, "type")] = append(byType[text(value, "type")], value["config"])
	}
	u.walk(schema, "", values)
	branches, _ := u.resolved(schema)["oneOf"].([]any)
	for _, branch := range branches {
		members := u.members(branch)
		ref := text(members["config"].(map[string]any), "$ref") // types may share a schema
		names, _ := u.resolved(members["type"])["enum"].([]any)
		for _, name := range names {
			configs[ref] = append(configs[ref], byType[name.(string)]...)
		}
	}
	for ref, values := range configs {
		u.walk(map[string]any{"$ref": ref}, strings.TrimPrefix(ref, "#/components/schemas/"), values)
	}
	return u.missing
}

// unsetMembers finds members that are not set.
type unsetMembers struct {
	contract *apitest.Contract
	missing  []string
}

func (u *unsetMembers) resolved(schema any) map[string]any {
	object, _ := schema.(map[string]any)
	if ref, ok := object["$ref"].(string); ok {
		return u.resolved(u.contract.At(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...))
	}
	return object
}

// members returns the properties of an object and of its alternatives.
func (u *unsetMembers) members(schema any) map[string]any {
	all := map[string]any{}
	object := u.resolved(schema)
	for _, key := range []string{"oneOf", "anyOf", "allOf"} {
		branches, _ := object[key].([]any)
		for _, branch := range branches {
			maps.Copy(all, u.members(branch))
		}
	}
	properties, _ := object["properties"].(map[string]any)
	maps.Copy(all, properties)
	return all
}

func (u *unsetMembers) walk(schema any, at string, values []any) {
	for name, member := range u.members(schema) {
		one := u.resolved(member)
		if one["readOnly"] == true || at == "" && name == "config" {
			continue
		}
		var set []any
		for _, value := range values {
			object, _ := value.(map[string]any)
			if given, ok := object[name]; ok && fmt.Sprint(given) != fmt.Sprint(one["default"]) {
				set = append(set, given)
			}
		}
		to := strings.TrimPrefix(at+"."+name, ".")
		if len(set) == 0 {
			u.missing = append(u.missing, to)
			continue
		}
		u.walk(one, to, set)
		if one["items"] != nil {
			var items []any
			for _, list := range set {
				of, _ := list.([]any)
				items = append(items, of...)
			}
			u.walk(one["items"], to, items)
		}
	}
}

// A member is read in the list. No owner is mailed about a role that is written back.
func TestMemberThatIsReadCanBeWritten(t *testing.T) {
	t.Parallel()
	mails, mailing := withMail(t)
	b := setup(t, mailing)
	a := b.owner(t, mails)
	second, third := b.joins(t, mails, a.client, account.RoleViewer), b.joins(t, mails, a.client, account.RoleViewer)
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
