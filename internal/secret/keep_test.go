// SPDX-License-Identifier: Apache-2.0

package secret_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/secret"
)

// placedFields are those of a check with steps, each of which goes to its URL.
func placedFields() secret.Fields {
	web := secret.Fields{
		Members: map[string]secret.Fields{
			"headers":    {ByName: true},
			"basic_auth": {Members: map[string]secret.Fields{"password": {Secret: true}}},
		},
		Places: []secret.PlaceMember{{Name: "url", URL: true, Default: "https://default.example"}},
	}
	server := secret.Fields{
		Members: map[string]secret.Fields{"password": {Secret: true}},
		Places:  []secret.PlaceMember{{Name: "host"}, {Name: "port"}, {Name: "security", Default: "starttls"}},
	}
	all := web
	all.Members = map[string]secret.Fields{
		"headers": web.Members["headers"], "basic_auth": web.Members["basic_auth"], "smtp": server, "imap": server,
		"steps": {Members: map[string]secret.Fields{"config": {ByType: map[vigil.CheckType]secret.Fields{"https": web}}}},
	}
	return all
}

func TestKeepAsksAgainWhenThePlaceChanges(t *testing.T) {
	t.Parallel()
	const web = `{"url":%q,"headers":{"Authorization":%q},"basic_auth":{"username":"u","password":%q}}`
	const mail = `{"smtp":{"host":%q,"port":%d,"security":%q,"password":%q},"imap":{"host":"i.example","password":%q}}`
	stored := fmt.Sprintf(web, "https://a.example/health", "s1", "s2")
	storedMail := fmt.Sprintf(mail, "m.example", 587, "starttls", "s1", "s2")
	both := []string{"config.basic_auth.password", "config.headers.Authorization"}
	password := []string{"config.smtp.password"}
	for name, tt := range map[string]struct {
		stored, given string
		members       []string // to send again; nil: the secrets are kept
	}{
		"same address":           {stored, fmt.Sprintf(web, "https://a.example/health", "***", "***"), nil},
		"another path":           {stored, fmt.Sprintf(web, "https://a.example/other?x=1", "***", "***"), nil},
		"the port of the scheme": {stored, fmt.Sprintf(web, "https://a.example:443/", "***", "***"), nil},
		"the host in capitals":   {stored, fmt.Sprintf(web, "HTTPS://A.EXAMPLE/", "***", "***"), nil},
		"another host":           {stored, fmt.Sprintf(web, "https://evil.example/health", "***", "***"), both},
		"another port":           {stored, fmt.Sprintf(web, "https://a.example:8443/health", "***", "***"), both},
		"another scheme":         {stored, fmt.Sprintf(web, "http://a.example/health", "***", "***"), both},
		"a user before the host": {stored, fmt.Sprintf(web, "https://a.example@evil.example/", "***", "***"), both},
		"one of two sent again":  {stored, fmt.Sprintf(web, "https://evil.example/", "new", "***"), both[:1]},
		"both sent again":        {stored, fmt.Sprintf(web, "https://evil.example/", "new", "new"), nil},
		"no address":             {stored, `{"headers":{"Authorization":"***"}}`, both[1:]},
		"the default address": {
			`{"basic_auth":{"password":"s"}}`, `{"url":"https://default.example/x","basic_auth":{"password":"***"}}`, nil,
		},
		"a mail server stays":       {storedMail, fmt.Sprintf(mail, "m.example", 587, "starttls", "***", "***"), nil},
		"another mail host":         {storedMail, fmt.Sprintf(mail, "evil.example", 587, "starttls", "***", "***"), password},
		"another mail port":         {storedMail, fmt.Sprintf(mail, "m.example", 25, "starttls", "***", "***"), password},
		"a mail server without TLS": {storedMail, fmt.Sprintf(mail, "m.example", 587, "none", "***", "***"), password},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kept, err := placedFields().Keep(json.RawMessage(tt.given), json.RawMessage(tt.stored))
			wantMembers(t, err, tt.members)
			if err == nil && strings.Contains(string(kept), secret.Mask) {
				t.Errorf("a mask is left: %s", kept)
			}
		})
	}
}

// wantMembers fails the test unless an error names these members to send again.
func wantMembers(t *testing.T, err error, want []string) {
	t.Helper()
	if want == nil {
		if err != nil {
			t.Errorf("got %v", err)
		}
		return
	}
	if vigil.ErrorCode(err) != vigil.CodeInvalid {
		t.Fatalf("got %v, want the members %q", err, want)
	}
	problem, _ := err.(*vigil.Error) //nolint:errorlint // as it is returned
	if got, _ := problem.Details["members"].([]string); !slices.Equal(got, want) || problem.Details["member"] != want[0] {
		t.Errorf("it names %q (first %v), want %q: %v", got, problem.Details["member"], want, err)
	}
	for _, member := range want {
		if !strings.Contains(err.Error(), member) {
			t.Errorf("the sentence lacks %s: %v", member, err)
		}
	}
}

func TestStepsKeepSecretsByName(t *testing.T) {
	t.Parallel()
	step := func(name, url, secret string) string {
		return fmt.Sprintf(`{"name":%q,"type":"https","config":{"url":%q,"headers":{"Authorization":%q}}}`, name, url, secret)
	}
	steps := func(all ...string) string { return `{"steps":[` + strings.Join(all, ",") + `]}` }
	login, read := step("log in", "https://a.example/login", "s1"), step("read", "https://b.example/", "s2")
	stored := steps(login, read)
	bound := steps(login, step("go", "https://{{host}}/", "s3"))
	for name, tt := range map[string]struct {
		stored, given string
		want          string   // the kept config
		members       []string // to send again
	}{
		"in another order": {
			stored: stored, given: steps(step("read", "https://b.example/", "***"), step("log in", "https://a.example/login", "***")),
			want: steps(read, login),
		},
		"behind a new step": {
			stored: stored, given: steps(step("first", "https://c.example/", "new"), step("log in", "https://a.example/login", "***")),
			want: steps(step("first", "https://c.example/", "new"), login),
		},
		"with the name of the other step": {
			stored: stored, given: steps(step("read", "https://a.example/login", "***")),
			members: []string{"config.steps.0.config.headers.Authorization"},
		},
		"with a new name": {
			stored: stored, given: steps(step("sign in", "https://a.example/login", "***")),
			members: []string{"config.steps.0.config.headers.Authorization"},
		},
		"with another host": {
			stored: stored, given: steps(step("log in", "https://evil.example/login", "***"), step("read", "https://b.example/", "***")),
			members: []string{"config.steps.0.config.headers.Authorization"},
		},
		"with a variable as host, unchanged": {
			stored: bound, given: steps(step("log in", "https://a.example/login", "***"), step("go", "https://{{host}}/", "***")),
			want: bound,
		},
		"with a variable as host that comes from elsewhere": {
			stored: bound, given: steps(step("log in", "https://evil.example/login", "new"), step("go", "https://{{host}}/", "***")),
			members: []string{"config.steps.1.config.headers.Authorization"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kept, err := placedFields().Keep(json.RawMessage(tt.given), json.RawMessage(tt.stored))
			wantMembers(t, err, tt.members)
			if err == nil && !sameJSON(t, kept, json.RawMessage(tt.want)) {
				t.Errorf("got %s, want %s", kept, tt.want)
			}
		})
	}
}
