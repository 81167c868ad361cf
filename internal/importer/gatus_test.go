// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// targetMembers matches the members of a config that say what is probed.
func targetMembers() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`,?"(url|host|record_type)":"[^"]*"`), regexp.MustCompile(`,?"port":\d+`),
		regexp.MustCompile(`,?"resolvers":\[[^]]*\]`), regexp.MustCompile(`,?"smtp":\{[^}]*\}`),
	}
}

func fixtures() []string { return []string{"v5.0.yaml", "v5.12.yaml", "v5.24.yaml", "directory"} }

// TestGatusFixtures imports a configuration of each version: the files are valid also in
// strict mode, and every loss is reported.
func TestGatusFixtures(t *testing.T) {
	t.Parallel()
	for _, name := range fixtures() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, err := source(t, "gatus").Read(filepath.Join("testdata", "gatus", name), options())
			if err != nil {
				t.Fatal(err)
			}
			got := write(t, result)
			mentioned(t, got)
			if !result.Lossy() {
				t.Error("the import is without a loss, and each of these has one")
			}
			text := files(t, got.dir) + got.report
			for _, secret := range []string{"hunter2", "tk_secret", "s3cret", "hooks.slack.example", "secret@", "123:abc", "p@ss", "p%40ss"} {
				if strings.Contains(text, secret) {
					t.Errorf("%s stands in the files:\n%s", secret, text)
				}
			}
		})
	}
}

// fixture imports a fixture.
func fixture(t *testing.T, name string) imported {
	t.Helper()
	result, err := source(t, "gatus").Read(filepath.Join("testdata", "gatus", name), options())
	if err != nil {
		t.Fatal(err)
	}
	return write(t, result)
}

// want compares values of a document, by path.
func want(t *testing.T, got imported, values map[string]string) {
	t.Helper()
	for path, value := range values {
		if is := at(t, got.document, strings.Split(path, "/")...); is != value {
			t.Errorf("%s is\n%s\nexpected\n%s", path, is, value)
		}
	}
}

func TestGatusAlertsTakeTheDefaultOfTheirProviderAndTheOverrideOfTheirGroup(t *testing.T) {
	t.Parallel()
	got := fixture(t, "v5.0.yaml")
	want(t, got, map[string]string{
		"checks/core-front-end/rules/slack/channels":      `["slack-core"]`,
		"checks/core-front-end/rules/slack/condition":     `{"failure_threshold":5,"recovery_threshold":5}`,
		"checks/core-front-end/rules/pagerduty/condition": `{"failure_threshold":7}`,
		"checks/core-front-end/rules/slack/notify_on":     `"both"`,
		"checks/core-front-end/rules/slack/name":          `"health check failed"`,
		"checks/core-front-end/rules/pagerduty/notify_on": `"unhealthy"`,
		// Each alert notifies by itself, also while an incident of the other one is open.
		"checks/core-front-end/rules/slack/notify_if_open":     `true`,
		"checks/core-front-end/rules/pagerduty/notify_if_open": `true`,
		"checks/core-front-end/rules/pagerduty/name":           `"7 failures in a row"`,
		"checks/core-back-end/enabled":                         `false`,
		"checks/core-back-end/rules/telegram/channels":         `["telegram"]`,
		"channels/telegram/config":                             `{"chat_id":"42","format":"telegram","token":"$CHANNEL_TELEGRAM_TOKEN"}`,
		"channels/pagerduty/config/routing_key":                `"$PAGERDUTY_KEY"`,
		"channels/slack/config/webhook_url":                    `"$CHANNEL_SLACK_WEBHOOK_URL"`,
		"checks/core-front-end/labels":                         `{"group":"core"}`,
		"checks/dns/config": `{"expected_values":["93.184.215.14"],"host":"shop.example","record_type":"A",` +
			`"resolvers":["8.8.8.8"]}`,
		"checks/redis/interval": `"30s"`,
	})
	env := read(t, got.dir, ".env")
	for _, line := range []string{
		"CHANNEL_SLACK_CORE_WEBHOOK_URL='https://hooks.slack.example/services/T0/B1/core'\n", "#PAGERDUTY_KEY=''\n",
	} {
		if !strings.Contains(env, line) {
			t.Errorf(".env lacks %s:\n%s", line, env)
		}
	}
}

func TestGatusProvidersBecomeChannels(t *testing.T) {
	t.Parallel()
	want(t, fixture(t, "v5.12.yaml"), map[string]string{
		"channels/discord/type":            `"chat"`,
		"channels/email/config":            `{"to":["ops@shop.example","dev@shop.example"]}`,
		"channels/email-web-eu-api/config": `{"to":["night@shop.example"]}`,
		"channels/ntfy/config":             `{"password":"$CHANNEL_NTFY_PASSWORD","server":"https://ntfy.shop.example","topic":"shop-alerts"}`,
		"channels/custom/config": `{"headers":{"Authorization":"$CHANNEL_CUSTOM_AUTHORIZATION"},"method":"PUT",` +
			`"payload":"template","payload_template":"{\"text\": \"{{check_name}}\"}\n",` +
			`"url":"https://hooks.shop.example/[ALERT_TRIGGERED_OR_RESOLVED]"}`,
		"checks/web-eu-api/rules/discord/name":   `"api is down"`,
		"checks/web-eu-api/rules/email/enabled":  `null`,
		"checks/web-eu-api/rules/email/channels": `["email-web-eu-api"]`,
		"checks/cache/rules/slow/condition":      `{"response_time_ms":50}`,
	})
}

func TestGatusMembersOfARequest(t *testing.T) {
	t.Parallel()
	want(t, fixture(t, "v5.12.yaml"), map[string]string{
		"checks/web-eu-api/config": `{"assertions":[{"operator":"lt","source":"status","target":300},` +
			`{"operator":"exists","property":"$.data.product.name","source":"json","target":true}],` +
			`"basic_auth":{"password":"$CHECK_WEB_EU_API_PASSWORD","username":"user"},` +
			`"body":"{\"query\":\"{ product(id: \\\"1\\\") { name } }\\n\"}","follow_redirects":false,` +
			`"headers":{"Accept":"application/json","Content-Type":"application/json","X-Api-Key":"$API_KEY"},` +
			`"method":"POST","proxy":"http://proxy.shop.example:3128",` +
			`"proxy_auth":{"password":"$CHECK_WEB_EU_API_PASSWORD_2","username":"user"},` +
			`"timeout_seconds":3,"url":"https://api.shop.example/graphql","verify_tls":false}`,
		"checks/web-eu-api/labels": `{"environment":"staging","group":"web/eu","team-name":"payments"}`,
		"checks/cache/config":      `{"expect":"VERSION","host":"cache.shop.example","port":11211,"send":"version\r\n"}`,
		"checks/smtp/config":       `{"smtp":{"host":"smtp.shop.example","port":587,"security":"starttls"}}`,
	})
}

func TestGatusMaintenanceKeepsTheUptime(t *testing.T) {
	t.Parallel()
	want(t, fixture(t, "v5.12.yaml"), map[string]string{
		"maintenance/maintenance": `{"duration":"1h","name":"Maintenance","rrule":"FREQ=WEEKLY;BYDAY=MO,TH",` +
			`"scope":{"checks":["web-eu-api","certificate","smtp","core-ws","cache"]},"starts_at":"2026-11-23T23:00",` +
			`"timezone":"Europe/Amsterdam","uptime":"include"}`,
		"maintenance/web-eu-api/scope":     `{"checks":["web-eu-api"]}`,
		"maintenance/web-eu-api/starts_at": `"2026-11-22T04:00"`,
	})
}

func TestGatusSuitesBecomeMultistepChecks(t *testing.T) {
	t.Parallel()
	got := fixture(t, "v5.24.yaml")
	want(t, got, map[string]string{
		"checks/auth-check-authentication/type":                      `"multistep"`,
		"checks/auth-check-authentication/interval":                  `"5m"`,
		"checks/auth-check-authentication/rules/rocketchat/channels": `["rocketchat"]`,
	})
	steps := at(t, got.document, "checks", "auth-check-authentication", "config", "steps")
	for _, part := range []string{
		`"extract":[{"name":"session_token","property":"$.token","source":"json"}]`,
		`"body":"{\"user\": \"ada\", \"password\": \"$LOGIN_PASSWORD\"}"`,
		`"url":"https://api.shop.example/users/ada"`,
		`"target":"ada"`, `"target":"5.000001"`,
	} {
		if !strings.Contains(steps, part) {
			t.Errorf("the steps lack %s:\n%s", part, steps)
		}
	}
	if env := read(t, got.dir, ".env"); !strings.Contains(env, "='Bearer {{session_token}}'\n") {
		t.Errorf(".env lacks the header with the extracted value:\n%s", env)
	}
}

func TestGatusMergesTheFilesOfADirectory(t *testing.T) {
	t.Parallel()
	got := fixture(t, "directory")
	want(t, got, map[string]string{
		"channels/slack/config/webhook_url":                   `"$SLACK_URL"`,
		"channels/ntfy/config":                                `{"topic":"front"}`,
		"checks/backend-website/config/url":                   `"https://$HOST/health"`,
		"checks/backend-website/config/body":                  `null`,
		"checks/backend-website/rules/ntfy":                   at(t, got.document, "checks", "backend-website", "rules", "ntfy"),
		"checks/frontend-make-sure-html-rendering-works/name": `"make-sure-html-rendering-works"`,
	})
	if !slices.Equal(got.result.Variables, []string{"SLACK_URL", "HOST", "TOKEN", "STATE"}) {
		t.Errorf("the variables are %v", got.result.Variables)
	}

	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.yaml": "ui: {title: A}\n", "b.yaml": "ui: {title: B}\nendpoints: [{name: x, url: 'icmp://a'}]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := source(t, "gatus").Read(dir, options()); err == nil || !strings.Contains(err.Error(), `"title" stands in two files`) {
		t.Errorf("a scalar in two files is answered with %v", err)
	}
}

// TestGatusVariables holds how each form of a dollar sign is read. Gatus replaces variables
// before it parses the file, and never reads one of the environment here.
func TestGatusVariables(t *testing.T) {
	t.Setenv("SECRET", "leaked")
	for _, one := range []struct{ source, want string }{
		{"$SECRET", `"$SECRET"`},
		{"${SECRET}", `"$SECRET"`},
		{"a${SECRET}b$SECRET", `"a$SECRETb$SECRET"`},
		{"pa$$word", `"pa$word"`},
		{"$${SECRET}", `"${SECRET}"`},
		{"$$$${SECRET}", `"$${SECRET}"`},
		{"$$$SECRET", `"$DOLLAR_SIGN$SECRET"`}, // a dollar sign by the default of a variable
		{"pa$1word", `"paword"`},
		{"${SECRET:-x}y", `"y"`},
		{"5 $ or $%", `"5 $ or $%"`},
		{"end$", `"end$"`},
	} {
		got := gatusText(t, "endpoints:\n  - {name: x, url: 'https://a.example/', body: '"+one.source+"', conditions: ['[STATUS] == 200']}\n")
		if is := at(t, got.document, "checks", "x", "config", "body"); is != one.want {
			t.Errorf("%s becomes %s, expected %s", one.source, is, one.want)
		}
		if strings.Contains(files(t, got.dir)+got.report, "leaked") {
			t.Errorf("%s reads the environment", one.source)
		}
		if strings.ContainsAny(one.source, "1:") != strings.Contains(got.report, "not set") {
			t.Errorf("%s is reported as\n%s", one.source, got.report)
		}
	}
}

func TestGatusVariableWhereAValueIsNeededIsReported(t *testing.T) {
	t.Parallel()
	got := gatusText(t, `
alerting: {slack: {webhook-url: "${URL}"}}
endpoints:
  - name: "${NAME}"
    group: g
    url: "${TARGET}"
    interval: ${INTERVAL}
    enabled: ${ENABLED}
    conditions: ["[STATUS] == 200"]
    alerts: [{type: slack, failure-threshold: $N}]
  - {name: y, url: "tcp://${HOST}:80"}
  - {name: z, url: "tcp://host:$PORT"}
`)
	want(t, got, map[string]string{
		"checks/g-name/name": `"$NAME"`, "checks/g-name/config/url": `"$TARGET"`, "checks/g-name/interval": `"1m"`,
		"checks/g-name/type": `"http"`, "checks/y/config/host": `"$HOST"`,
		"checks/g-name/rules/slack/name": `"3 failures in a row"`,
	})
	mentioned(t, got)
	for _, text := range []string{"interval: ${INTERVAL}", "enabled: ${ENABLED}", "failure-threshold: ${N}", "the port of host:${PORT}"} {
		if !strings.Contains(unescaped(got.report), text) {
			t.Errorf("IMPORT.md lacks %q:\n%s", text, got.report)
		}
	}
}

// TestGatusLosses holds that each member that Vigil does not have is reported.
func TestGatusLosses(t *testing.T) {
	t.Parallel()
	const plain = `{name: x, url: "https://a.example"}`
	suite := func(endpoints string) string { return "\nsuites: [{name: s, endpoints: [" + endpoints + "]}]" }
	for lost, text := range map[string]string{
		"type udp":               `{name: x, url: "udp://a:1"}`,
		"type sctp":              `{name: x, url: "sctp://a:1"}`,
		"type ssh":               `{name: x, url: "ssh://a:22"}`,
		"type gopher":            `{name: x, url: "gopher://a"}`,
		"has no url":             `{name: x}`,
		"expects that no":        `{name: x, url: "tcp://a:1", conditions: ["[CONNECTED] == false"]}`,
		"record type ANY":        `{name: x, url: 8.8.8.8, dns: {query-name: a, query-type: ANY}}`,
		"no host:port":           `{name: x, url: "tcp://a"}`,
		"is not a host name":     `{name: x, url: "a b", dns: {query-name: a.example, query-type: A}}`,
		"method TRACE":           `{name: x, url: "https://a.example", method: TRACE}`,
		"client.oauth2":          `{name: x, url: "https://a.example", client: {oauth2: {token-url: a}}}`,
		"client.proxy-url":       `{name: x, url: "https://a.example", client: {proxy-url: "socks5://p.example"}}`,
		"have no such condition": `{name: x, url: "grpc://a:1", conditions: ["[BODY].status == UNKNOWN"]}`,
		"client.tls":             `{name: x, url: "https://a.example", client: {tls: {certificate-file: a}}}`,
		"client.identity":        `{name: x, url: "https://a.example", client: {identity-aware-proxy: {audience: a}}}`,
		"client.dns-resolver":    `{name: x, url: "https://a.example", client: {dns-resolver: "tcp://8.8.8.8:53"}}`,
		"client.store-cookies":   `{name: x, url: "https://a.example", client: {store-cookies: true}}`,
		"client.network: ip5":    `{name: x, url: "icmp://a.example", client: {network: ip5}}`,
		"RANDOM_STRING_8":        `{name: x, url: "https://a.example", body: "[RANDOM_STRING_8]"}`,
		"future: is":             `{name: x, url: "https://a.example", future: 1}`,
		"client.future":          `{name: x, url: "https://a.example", client: {future: 1}}`,
		"no provider slack":      `{name: x, url: "https://a.example", alerts: [{type: slack}]}`,
		"alerts.future":          `{name: x, url: "https://a.example", alerts: [{type: ntfy, future: 1}]}`,
		"interval: 500ms":        `{name: x, url: "https://a.example", interval: 500ms}`,
		"timeout: 1m30s":         `{name: x, url: "https://a.example", interval: 5m, client: {timeout: 90s}}`,
		"no such day":            `{name: x, url: "https://a.example", maintenance-windows: [{start: "01:00", duration: 1h, every: [Tue]}]}`,
		"no time such as":        `{name: x, url: "https://a.example", maintenance-windows: [{start: "1am", duration: 1h}]}`,
		"time zone Mars":         `{name: x, url: "https://a.example", maintenance-windows: [{start: "01:00", duration: 1h, timezone: Mars}]}`,
		"spent on":               `{name: x, url: "https://a.example", store: {a: "[STATUS]"}}`,
		"at most 10 steps":       plain + suite(strings.Repeat(`{name: a, url: "https://a.example"},`, 11)),
		"continue the host":      plain + suite(`{name: a, url: "http://a.ex", store: {h: "[BODY].h"}}, {name: b, url: "http://a.[CONTEXT].h"}`),
		"no earlier step":        plain + suite(`{name: a, url: "https://a.example/[CONTEXT].h"}`),
		"not a valid header":     `{name: x, url: "https://a.example", headers: {"bad name": a}}`,
		"waits for at most 1000": `{name: x, url: "https://a.example", alerts: [{type: ntfy, failure-threshold: 5000}]}`,
		"security: Vigil has":    plain + "\nsecurity: {basic: {username: a}}",
		"remote: a Vigil":        plain + "\nremote: {instances: []}",
		"frobnicate":             plain + "\nfrobnicate: 1",
		"behind its first":       plain + "\n---\nendpoints: []",
	} {
		t.Run(lost, func(t *testing.T) {
			t.Parallel()
			switch lost {
			case "spent on":
				lost = "is for endpoints of a suite"
			case "no such day":
				lost = "is no day"
			case "future: is":
				lost = "| future | is not known"
			case "security: Vigil has", "remote: a Vigil":
				lost = "| " + strings.Replace(lost, ": ", " | ", 1)
			}
			got := gatusText(t, "alerting: {ntfy: {topic: a}}\nendpoints:\n  - "+text+"\n")
			mentioned(t, got)
			if report := unescaped(got.report); !strings.Contains(report, lost) {
				t.Errorf("IMPORT.md lacks %q:\n%s", lost, report)
			}
		})
	}
}

func TestGatusRefusesWhatIsNoConfiguration(t *testing.T) {
	t.Parallel()
	for reason, text := range map[string]string{
		"has no endpoints":       "a: b\n",
		"it has no endpoints":    "- a\n",
		"is no configuration":    "",
		`:2: "a" is there twice`: "endpoints: [{name: x}]\nui: {a: 1, a: 2}\n",
		"not known here":         "endpoints: *nothing\n",
		"config.yaml:":           "endpoints: [\n",
		"nests too deep":         strings.Repeat("[", 3000),
	} {
		path := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := source(t, "gatus").Read(path, options()); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("the error is %v, expected %q", err, reason)
		}
	}
}

// FuzzGatus holds that no text makes the import panic, and that what it writes is always
// valid.
func FuzzGatus(f *testing.F) {
	for _, name := range fixtures()[:3] {
		f.Add(read(f, "testdata", "gatus", name))
	}
	for _, one := range httpConditions() {
		f.Add("endpoints: [{name: x, url: 'https://a.example', conditions: ['" + one.condition + "']}]")
	}
	f.Add("endpoints: [{name: \"a\\u0000b\", url: 'https://[::1]:0/', headers: {A: \"x\\ny\"}, extra-labels: {\"\": \"\"}}]")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		result, err := source(t, "gatus").Read(path, options())
		if err == nil {
			write(t, result)
		}
	})
}
