// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// TestPagesOfAnEmptyOrganization opens every list of an organization that has nothing yet.
func TestPagesOfAnEmptyOrganization(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	b, _ := s.signUp(t)
	for path, text := range map[string]string{
		"/app/incidents":                   "No incident, ever",
		"/app/incidents?status=active":     "No incident matches",
		"/app/deliveries":                  "Nothing was sent yet",
		"/app/deliveries?status=exhausted": "No delivery matches",
		"/app/channels":                    "No channel yet",
		"/app/channels/new":                "posts each event to a program",
		"/app/rules":                       "No rule yet",
		"/app/api-keys":                    "New key",
		"/app/api-keys/new":                "What the key may do",
		"/app/usage":                       "Executions an hour",
		"/app/reports":                     "No check matches",
		"/app/organization":                "Rename it",
		"/app/audit-log":                   "account.signup",
	} {
		b.get(t, http.StatusOK, path).shows(t, text)
	}
	unknown := uuid.NewString()
	for _, path := range []string{
		"/app/incidents/" + unknown, "/app/incidents/x", "/app/deliveries/" + unknown, "/app/channels/" + unknown,
		"/app/checks/" + unknown + "/rules", "/app/api-keys/" + unknown + "/revoke",
	} {
		b.get(t, http.StatusNotFound, path)
	}
}

// TestChannelForms writes a channel of each type, with a mistake first, and another
// organization sees none of them.
func TestChannelForms(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	for kind, test := range map[string]struct {
		wrong, right url.Values
		member       string // that the mistake is shown at
	}{
		"webhook": {
			url.Values{"config.url": {"ftp://x"}},
			url.Values{"config.url": {"http://127.0.0.1:1/hook"}, "config.secret": {"a secret"}, "config.headers": {"X-Team: a"}},
			"config-url",
		},
		"email": {url.Values{"config.to": {"no address"}}, url.Values{"config.to": {"a@example.com\nb@example.com"}}, "config-to"},
		"push": {
			url.Values{"config.topic": {"no topic!"}},
			url.Values{"config.topic": {"alerts"}, "config.server": {"http://127.0.0.1:1"}},
			"config-topic",
		},
		"chat": {url.Values{"config.webhook_url": {"x"}}, url.Values{"config.webhook_url": {"http://127.0.0.1:1/x"}}, "config-webhook_url"},
		"pager": {
			url.Values{"config.url": {"x"}, "config.routing_key": {"k"}},
			url.Values{"config.routing_key": {"k"}, "config.url": {"http://127.0.0.1:1/x"}},
			"config-url",
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b, _ := s.signUp(t) // what is said once is said to one browser
			name := "My " + kind
			test.wrong.Set("type", kind)
			test.wrong.Set("name", name)
			page := b.post(t, http.StatusUnprocessableEntity, "/app/channels", test.wrong)
			page.shows(t, `id="f-`+test.member+`-error"`, `value="`+name+`"`, "Not created yet.")

			test.right.Set("type", kind)
			test.right.Set("name", name)
			list := b.follow(t, "/app/channels", test.right)
			list.shows(t, name)
			path := linkOf(t, list.text, `/app/channels/[0-9a-f-]{36}`, name)
			b.get(t, http.StatusOK, path).shows(t, `value="`+name+`"`)

			test.right.Set("name", name+" renamed")
			if test.right.Has("config.secret") {
				test.right.Set("config.secret", "***")
			}
			b.follow(t, path, test.right).shows(t, name+" renamed", "Saved")
			b.follow(t, path+"/enabled", url.Values{"enabled": {"false"}}).shows(t, "is disabled", "Undo")

			other, _ := s.signUp(t)
			other.get(t, http.StatusNotFound, path)

			b.get(t, http.StatusOK, path+"/delete").shows(t, "Delete the channel")
			b.follow(t, path+"/delete", url.Values{}).shows(t, "is deleted")
			b.get(t, http.StatusNotFound, path)
		})
	}
}

// linkOf returns the first link of a form that has a name.
func linkOf(t *testing.T, text, form, name string) string {
	t.Helper()
	found := regexp.MustCompile(`href="(` + form + `)"[^>]*>` + regexp.QuoteMeta(name) + `<`).FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no link to %s named %q: %s", form, name, text)
	}
	return found[1]
}

// TestAChangeOfAChannelDoesNotOverwriteAnother sends a form that was opened before another
// change was saved.
func TestAChangeOfAChannelDoesNotOverwriteAnother(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	b, _ := s.signUp(t)
	list := b.follow(t, "/app/channels", url.Values{"type": {"email"}, "name": {"Mail"}, "config.to": {"a@example.com"}})
	path := linkOf(t, list.text, `/app/channels/[0-9a-f-]{36}`, "Mail")
	form := url.Values{"name": {"First"}, "config.to": {"a@example.com"}, "revision": {"1"}}
	b.follow(t, path, form)
	form.Set("name", "Second")
	b.post(t, http.StatusPreconditionFailed, path, form).shows(t, `value="Second"`, "Not saved yet.")
	b.get(t, http.StatusOK, path).shows(t, `value="First"`)
}

// TestRuleForm writes a rule as a sentence.
func TestRuleForm(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	b, _ := s.signUp(t)
	check, channel := s.check(t, b), s.channel(t, b)
	rules := "/app/checks/" + check + "/rules"
	b.get(t, http.StatusOK, rules).shows(t, "Without a rule")
	b.get(t, http.StatusOK, rules+"/new").shows(t, "failures in a row", "response takes longer than")

	form := url.Values{
		"name": {"Slow"}, "when": {"response_time_ms", "failure_threshold"}, "condition.response_time_ms": {"soon"},
		"condition.failure_threshold": {"3"}, "condition.recovery_threshold": {"200"}, "severity": {"warning"}, "notify_on": {"both"},
		"notification_channel_ids": {channel}, "region_policy": {"all"}, "enabled": {"true"},
	}
	b.post(t, http.StatusUnprocessableEntity, rules, form).shows(t, `value="soon"`, `value="Slow"`, "Not created yet.")
	form.Set("condition.response_time_ms", "500")
	b.post(t, http.StatusUnprocessableEntity, rules, form).shows(t, `value="200"`, `-error">`, "from 1 to 100")
	form.Set("condition.recovery_threshold", "4")
	list := b.follow(t, rules, form)
	list.shows(t, "It resolves after <b>4 good results</b> in a row.")
	list.shows(t, "<b>3 failures</b> in a row", "<b>500 ms</b>", "again when it resolves", "Hook")
	path := linkOf(t, list.text, rules+`/[0-9a-f-]{36}`, "Slow")
	b.get(t, http.StatusOK, path).shows(t, `value="500"`, `value="warning" selected`)

	form.Set("when", "failure_threshold")
	form.Set("condition.recovery_threshold", "1")
	form.Del("enabled")
	b.follow(t, path, form).shows(t, "Saved", "off")
	form.Del("when")
	b.post(t, http.StatusUnprocessableEntity, path, form).shows(t, "Not saved yet.")
	b.get(t, http.StatusOK, "/app/rules").shows(t, "Slow", "Shop")

	used := b.post(t, http.StatusConflict, "/app/channels/"+channel+"/delete", url.Values{})
	used.shows(t, "Delete anyway", `name="force" value="true"`)
	b.follow(t, path+"/delete", url.Values{}).shows(t, "is deleted", "No rule yet")
}

// TestAPIKeyIsShownOnceAndCanBeRevoked creates a key by the form, uses it, and revokes it.
func TestAPIKeyIsShownOnceAndCanBeRevoked(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	b, _ := s.signUp(t)
	b.post(t, http.StatusUnprocessableEntity, "/app/api-keys", url.Values{"name": {"ci"}, "scopes": {"read"}, "expires_at": {"soon"}}).
		shows(t, `id="f-expires_at-error"`, `value="ci"`)
	made := b.post(t, http.StatusCreated, "/app/api-keys", url.Values{"name": {"ci"}, "scopes": {"read"}})
	key := regexp.MustCompile(`vgl_[0-9A-Za-z]{38}`).FindString(made.text)
	if key == "" {
		t.Fatalf("no key on the page: %s", made.text)
	}
	if again := b.get(t, http.StatusOK, "/app/api-keys"); strings.Contains(again.text, key) {
		t.Error("the key is shown again")
	}
	program := s.browser(t)
	program.get(t, http.StatusOK, "/v1/checks", "Authorization", "Bearer "+key)
	program.send(t, http.StatusForbidden, http.MethodPost, "/v1/api-keys", strings.NewReader(`{"name":"x"}`),
		"Authorization", "Bearer "+key, "Content-Type", "application/json")

	list := b.get(t, http.StatusOK, "/app/api-keys")
	revoke := regexp.MustCompile(`/app/api-keys/[0-9a-f-]{36}/revoke`).FindString(list.text)
	b.get(t, http.StatusOK, revoke).shows(t, "Revoke the key “ci”?")
	b.follow(t, revoke, url.Values{}).shows(t, "The key is revoked")
	program.get(t, http.StatusUnauthorized, "/v1/checks", "Authorization", "Bearer "+key)
	b.get(t, http.StatusOK, "/app/audit-log?resource=api_key").shows(t, "api_key.create", "api_key.delete")
}
