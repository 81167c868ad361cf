// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/importer"
)

func upptimeText(tb testing.TB, text string) (*importer.Result, error) {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), ".upptimerc.yml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return source(tb, "upptime").Read(path, options())
}

const upptimeDefaults = `"expected_status_codes":[200,201,202,203,204,205,206,207,208,226,300,301,302,303,304,305,306,307,308],`

// TestUpptime imports a repository in the form of the template: each kind of check, with secrets.
func TestUpptime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const text = `
owner: shop
repo: status
user-agent: shop
sites:
  - name: Home page
    url: https://www.shop.example
    icon: https://icons.shop.example/home.png
    tags: [front, web]
  - name: API
    url: $API_URL
    slug: api-v2
    method: POST
    body: '{"q": "$QUERY", "price": "$5", "lower": "$name"}'
    headers:
      - "Authorization: Bearer $API_TOKEN"
      - "Content-Type: application/json"
    expectedStatusCodes: [200, 404]
    maxRedirects: 0
    maxResponseTime: 5000
    __dangerous__body_down: maintenance
    __dangerous__body_down_if_text_missing: '"ok":true'
    __dangerous__disable_verify_peer: true
    __dangerous__disable_verify_host: true
    assignees: [ada]
  - {name: Mail, check: tcp-ping, url: smtp.shop.example, port: 587}
  - {name: Socket, check: ws, url: "wss://ws.shop.example/live", body: hello}
  - {name: Certificate, check: ssl, url: www.shop.example}
  - {name: Far, type: globalping, location: Germany, check: tcp-ping, url: www.shop.example, ipv6: true}
  - {name: User, url: "http://ada:$PASSWORD@intra.shop.example:8080/x", body: a=b, method: post}
  - {name: Bare, url: shop.example/x}
assignees: [ada]
delay: 500
status-website: {cname: status.shop.example, name: Shop}
workflowSchedule: {uptime: "*/10 * * * *", graphs: "0 0 * * *"}
i18n: {activeIncidents: a}
notifications: [{type: slack, channel: C0}]
`
	if err := os.WriteFile(filepath.Join(dir, ".upptimerc.yml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	result, err := source(t, "upptime").Read(dir, options())
	if err != nil {
		t.Fatal(err)
	}
	got := write(t, result)
	mentioned(t, got)
	want(t, got, map[string]string{
		"checks/home-page": `{"config":{` + upptimeDefaults + `"timeout_seconds":60,"url":"https://www.shop.example"},` +
			`"interval":"10m","labels":{"front":"","web":""},"name":"Home page","type":"https"}`,
		"checks/api-v2/config": `{"assertions":[{"operator":"not_contains","source":"body","target":"maintenance"},` +
			`{"operator":"contains","source":"body","target":"\"ok\":true"},{"operator":"lt","source":"response_time","target":5001}],` +
			`"body":"{\"q\": \"$QUERY\", \"price\": \"$5\", \"lower\": \"$name\"}","expected_status_codes":[200,404],"follow_redirects":false,` +
			`"headers":{"Authorization":"Bearer $API_TOKEN","Content-Type":"application/json"},"method":"POST","timeout_seconds":60,` +
			`"url":"$API_URL","verify_tls":false}`,
		"checks/mail/config":        `{"host":"smtp.shop.example","port":587}`,
		"checks/mail/type":          `"tcp"`,
		"checks/socket/config":      `{"send":"hello","url":"wss://ws.shop.example/live"}`,
		"checks/certificate/config": `{"alert_days_before":6,"host":"www.shop.example","port":443,"verify_tls":false}`,
		"checks/far/config":         `{"host":"www.shop.example","ip_version":"6"}`,
		"checks/far/type":           `"ping"`,
		"checks/far/enabled":        "false",
		"checks/user/config": `{"basic_auth":{"password":"$PASSWORD","username":"ada"},"body":"a=b",` + upptimeDefaults +
			`"headers":{"Content-Type":"application/x-www-form-urlencoded"},"method":"POST","timeout_seconds":60,` +
			`"url":"http://intra.shop.example:8080/x"}`,
		"checks/bare/config/url": `"http://shop.example/x"`,
	})
	if !slices.Equal(result.Variables, []string{"API_URL", "API_TOKEN", "QUERY", "PASSWORD"}) {
		t.Errorf("the variables are %v", result.Variables)
	}
	if env := read(t, got.dir, ".env"); !strings.Contains(env, "#API_TOKEN=''\n") {
		t.Errorf(".env does not say which secrets are to be set:\n%s", env)
	}
	report := unescaped(got.report)
	for _, lost := range []string{
		"| notification slack | channel |", "| assignees | incidents are not assigned", "| status-website |", "| history |",
		"maxResponseTime: 5000", "type: globalping, location: Germany", "the scheme comes from a secret",
	} {
		if !strings.Contains(report, lost) {
			t.Errorf("IMPORT.md lacks %q:\n%s", lost, report)
		}
	}
	if strings.Contains(report, "icon") || strings.Contains(report, "i18n") {
		t.Errorf("IMPORT.md names what changes nothing:\n%s", report)
	}
}

func upptimeMembers() []memberCase {
	return []memberCase{
		{member: "slug", yaml: `slug: a`},
		{member: "icon", yaml: `icon: "https://a.example/i.png"`},
		{member: "verbose", yaml: `verbose: true`},
		{member: "type", yaml: `type: local`},
		{member: "location", yaml: `location: Berlin`}, // of globalping only
		{member: "port", yaml: `port: 8443`},           // of tcp-ping and ssl only
		{member: "ipv6", yaml: `ipv6: true`},           // of tcp-ping and globalping only
		{member: "method", yaml: `method: head`, kept: `"method":"HEAD"`},
		{member: "headers", yaml: `headers: ["Accept: a/b", "X-A: b: c"]`, kept: `"headers":{"Accept":"a/b","X-A":"b: c"}`},
		{member: "headers", yaml: `headers: ["Accept:"]`, lost: "headers"},
		{member: "headers", yaml: `headers: ["A: b", "a: c"]`, lost: "header a"},
		{member: "body", yaml: `body: $DYNAMIC_RANDOM_NUMBER`, kept: `"body":"$DYNAMIC_RANDOM_NUMBER"`, lost: "random part"},
		{member: "tags", yaml: `tags: [Front End]`, kept: `"labels":{"front-end":""}`, lost: "label Front End"},
		{member: "assignees", yaml: `assignees: [a]`, lost: "assignees"},
		{member: "expectedStatusCodes", yaml: `expectedStatusCodes: ["401"]`, kept: `"expected_status_codes":[401]`},
		{
			member: "expectedStatusCodes",
			yaml:   `expectedStatusCodes: [200, 0]`,
			kept:   `"expected_status_codes":[200]`,
			lost:   "expectedStatusCodes: 0",
		},
		{member: "maxResponseTime", yaml: `maxResponseTime: 300`, kept: `"target":301`, lost: "maxResponseTime"},
		{member: "maxRedirects", yaml: `maxRedirects: 3`},
		{member: "maxRedirects", yaml: `maxRedirects: 1`, lost: "maxRedirects: 1"},
		{member: "maxRetries", yaml: `maxRetries: 3`},
		{member: "maxRetries", yaml: `maxRetries: 5`, lost: "maxRetries: 5"},
		{member: "connectTimeout", yaml: `connectTimeout: 5`, lost: "connectTimeout"},
		{member: "requestTimeout", yaml: `requestTimeout: 20`, kept: `"timeout_seconds":20`},
		{member: "requestTimeout", yaml: `requestTimeout: 90`, kept: `"timeout_seconds":60`, lost: "timeout: 1m30s"},
		{member: "insecure", yaml: `__dangerous__insecure: true`, kept: `"verify_tls":false`},
		{member: "verify_host", yaml: `__dangerous__disable_verify_host: true`, kept: `"verify_tls":false`, lost: "__dangerous__"},
		{
			member: "body_degraded",
			yaml:   `__dangerous__body_degraded: slow`,
			kept:   `"operator":"not_contains"`,
			lost:   "__dangerous__body_degraded",
		},
		{
			member: "body_degraded_if_text_missing", yaml: `__dangerous__body_degraded_if_text_missing: ok`,
			kept: `"operator":"contains"`, lost: "degraded",
		},
		{member: "x-a", yaml: `x-a: 1`},
		{member: "future", yaml: `future: 1`, lost: "future"},
	}
}

// TestUpptimeMembers holds for each member of a site that it is carried over, changes nothing, or is
// named as lost.
func TestUpptimeMembers(t *testing.T) {
	t.Parallel()
	for _, one := range upptimeMembers() {
		t.Run(one.member, func(t *testing.T) {
			t.Parallel()
			result, err := upptimeText(t, "sites: [{name: x, url: 'https://a.example', "+one.yaml+"}]")
			if err != nil {
				t.Fatal(err)
			}
			got := write(t, result)
			mentioned(t, got)
			if len(result.Checks) != 1 {
				t.Fatal(got.report)
			}
			written, all := at(t, got.document, "checks", result.Checks[0].Key), result.Checks[0].Losses
			for _, one := range result.Settings {
				if one.What != "history" {
					all = append(all, one)
				}
			}
			losses := fmt.Sprint(all)
			if !strings.Contains(written, one.kept) {
				t.Errorf("the check is\n%s\nwithout %s", written, one.kept)
			}
			if one.lost == "" && losses != "[]" || !strings.Contains(losses, one.lost) {
				t.Errorf("lost %s, expected %q", losses, one.lost)
			}
		})
	}
}

// TestUpptimeMisses holds that a site that cannot be a check is named with its reason, and that no
// reason shows a password.
func TestUpptimeMisses(t *testing.T) {
	t.Parallel()
	for site, reason := range map[string]string{
		`{name: x}`: "it has no url",
		`{name: x, url: "ftp://u:hunter2@a.example"}`:                    "does not begin with http:// or https://",
		`{name: x, url: "https://u:hunter2@a b/"}`:                       "is not",
		`{name: x, url: "https://a.example", method: TRACE}`:             "method TRACE",
		`{name: x, url: "https://a.example", check: smtp}`:               "check smtp is none of",
		`{name: x, url: "tcp://a.example", check: tcp-ping}`:             "is not a host name",
		`{name: x, url: a.example, check: tcp-ping, port: 0}`:            "port 0 is no number",
		`{name: x, url: a.example, check: ssl, port: $PORT}`:             "port ${PORT} is no number",
		`{name: x, url: "https://u:hunter2@a.example", check: ws}`:       "ws:// or wss://",
		`{name: x, url: "wss://a.example", check: ws, type: globalping}`: "which Upptime does not have either",
		`{name: x, url: "https://a.example", expectedStatusCodes: [0]}`:  "none of its expectedStatusCodes",
		`text`: "it has no url",
	} {
		result, err := upptimeText(t, "sites: ["+site+"]")
		if err != nil {
			t.Errorf("%s: %v", site, err)
			continue
		}
		got := write(t, result)
		if len(result.Missing) != 1 || !strings.Contains(result.Missing[0].Reason, reason) {
			t.Errorf("%s is missing as %v, expected %q", site, result.Missing, reason)
		}
		if strings.Contains(got.report, "hunter2") {
			t.Errorf("%s: the report shows the password", site)
		}
	}
}

// TestUpptimeSchedule holds which schedules become an interval.
func TestUpptimeSchedule(t *testing.T) {
	t.Parallel()
	for cron, tt := range map[string]struct{ interval, lost string }{
		"*/5 * * * *": {`"5m"`, ""}, "*/30 * * * *": {`"30m"`, ""}, "* * * * *": {`"1m"`, ""},
		"0 * * * *":   {`"5m"`, "workflowSchedule.uptime"},
		"*/0 * * * *": {`"5m"`, "workflowSchedule.uptime"}, "soon": {`"5m"`, "workflowSchedule.uptime"},
	} {
		result, err := upptimeText(t, "sites: [{name: x, url: 'https://a.example'}]\nworkflowSchedule: {uptime: '"+cron+"'}\n")
		if err != nil {
			t.Fatal(err)
		}
		got := write(t, result)
		if is := at(t, got.document, "checks", "x", "interval"); is != tt.interval || !strings.Contains(fmt.Sprint(result.Settings), tt.lost) {
			t.Errorf("%s becomes %s, with %v", cron, is, result.Settings)
		}
	}
}

// TestUpptimeRefusesWhatIsNone holds the errors of files of another kind, and of hostile ones.
func TestUpptimeRefusesWhatIsNone(t *testing.T) {
	t.Parallel()
	laughs := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 7 {
		laughs += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	for reason, text := range map[string]string{
		"it has no sites":             "a: b\n",
		"is no configuration":         "- a\n",
		"is no list of sites":         "sites: {a: b}\n",
		"its member sites is":         "sites: []\n",
		`:2: "name" is there twice`:   "sites:\n- {name: a, name: b}\n",
		"nests too deep":              strings.Repeat("[", 3000),
		"values":                      laughs + "sites: [*a7]\n",
		"is larger than 8 MiB":        strings.Repeat("x", 9<<20),
		"1 document behind its first": "sites: [{name: a, url: 'https://a.example'}]\n---\nsites: []\n",
	} {
		if _, err := upptimeText(t, text); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("the error is %.200v, expected %q", err, reason)
		}
	}
	if _, err := source(t, "upptime").Read(t.TempDir(), options()); err == nil || !strings.Contains(err.Error(), "has no .upptimerc.yml") {
		t.Errorf("%v", err)
	}
}

// FuzzUpptime holds that no text makes the import panic, and that what it writes is always valid.
func FuzzUpptime(f *testing.F) {
	for _, one := range upptimeMembers() {
		f.Add("sites: [{name: x, url: 'https://a.example', " + one.yaml + "}]")
	}
	f.Add("sites: [{name: \"\\uE000HOME\\uE001\", url: '$', check: ssl, port: 1e9}, {url: 'https://[::1]:0', headers: [a]}]")
	f.Fuzz(func(t *testing.T, text string) {
		if result, err := upptimeText(t, text); err == nil {
			write(t, result)
		}
	})
}
