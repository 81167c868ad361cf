// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/importer"
)

// The parts of a config that a condition makes. anyStatus is what an endpoint without a
// condition on the status has.
const anyStatus = `"expected_status_codes":["2xx","3xx","4xx","5xx"]`

// conditionCase is a condition, the members of the config that it makes besides those of the
// target, and what is lost.
type conditionCase struct{ condition, want, lost string }

func assertion(text string) string { return `"assertions":[` + text + `],` + anyStatus }

func httpConditions() []conditionCase {
	return []conditionCase{
		{`[STATUS] == 200`, `"expected_status_code":200`, ""},
		{`200 == [STATUS]`, `"expected_status_code":200`, ""},
		{`[status] == 0xC8`, `"expected_status_code":200`, ""},
		{`[STATUS] == any(200, 429)`, `"expected_status_codes":[200,429]`, ""},
		{`any(200,429) == [STATUS]`, `"expected_status_codes":[200,429]`, ""},
		{`[STATUS] < 300`, `"assertions":[{"operator":"lt","source":"status","target":300}]`, ""},
		{`[STATUS] <= 299`, `"assertions":[{"operator":"lt","source":"status","target":300}]`, ""},
		{`[STATUS] > 199`, `"assertions":[{"operator":"gt","source":"status","target":199}]`, ""},
		{`[STATUS] >= 200`, `"assertions":[{"operator":"gt","source":"status","target":199}]`, ""},
		{`300 > [STATUS]`, `"assertions":[{"operator":"lt","source":"status","target":300}]`, ""},
		{`299 >= [STATUS]`, `"assertions":[{"operator":"lt","source":"status","target":300}]`, ""},
		{`199 < [STATUS]`, `"assertions":[{"operator":"gt","source":"status","target":199}]`, ""},
		{`200 <= [STATUS]`, `"assertions":[{"operator":"gt","source":"status","target":199}]`, ""},
		{`[STATUS] != 500`, `"assertions":[{"operator":"ne","source":"status","target":500}]`, ""},
		{
			`[STATUS] != any(500, 502)`,
			`"assertions":[{"operator":"ne","source":"status","target":500},{"operator":"ne","source":"status","target":502}]`, "",
		},
		{`[STATUS] == pat(2*)`, `"assertions":[{"operator":"matches","source":"status","target":"^2"}]`, ""},
		{`[STATUS] == pat(*04)`, `"assertions":[{"operator":"matches","source":"status","target":"04$"}]`, ""},
		{`[STATUS] == pat(*0*)`, `"assertions":[{"operator":"contains","source":"status","target":"0"}]`, ""},
		{`[STATUS] == 999`, `"assertions":[{"operator":"eq","source":"status","target":999}]`, ""},
		{`[STATUS] == $CODE`, anyStatus, "Lost"},
		{`[RESPONSE_TIME] < 500`, assertion(`{"operator":"lt","source":"response_time","target":500}`), ""},
		{`[RESPONSE_TIME] < 1s`, assertion(`{"operator":"lt","source":"response_time","target":1000}`), ""},
		{`[RESPONSE_TIME] <= 500`, assertion(`{"operator":"lt","source":"response_time","target":501}`), ""},
		{`[RESPONSE_TIME] > 10`, assertion(`{"operator":"gt","source":"response_time","target":"10.999"}`), ""},
		{`[RESPONSE_TIME] >= 10`, assertion(`{"operator":"gt","source":"response_time","target":"9.999"}`), ""},
		{
			`[RESPONSE_TIME] == 10`, assertion(`{"operator":"gt","source":"response_time","target":"9.999"},` +
				`{"operator":"lt","source":"response_time","target":11}`), "",
		},
		{`[RESPONSE_TIME] != 10`, anyStatus, "no such condition"},
		{`[RESPONSE_TIME] < ${LIMIT}`, anyStatus, "a number cannot come from a variable"},
		{`[CERTIFICATE_EXPIRATION] > 48h`, assertion(`{"operator":"gt","source":"cert_days","target":1}`), ""},
		{`[CERTIFICATE_EXPIRATION] >= 240h`, assertion(`{"operator":"gt","source":"cert_days","target":9}`), ""},
		{`[CERTIFICATE_EXPIRATION] > 36h`, assertion(`{"operator":"gt","source":"cert_days","target":1}`), "at least 2"},
		{`[CERTIFICATE_EXPIRATION] > 0`, assertion(`{"operator":"gt","source":"cert_days","target":-1}`), ""},
		{`[CERTIFICATE_EXPIRATION] < 48h`, anyStatus, "no such condition"},
		{`[BODY] == pong`, assertion(`{"operator":"matches","source":"body","target":"^\\s*pong\\s*$"}`), ""},
		{`[BODY] == 1.5`, assertion(`{"operator":"matches","source":"body","target":"^\\s*1\\.5\\s*$"}`), ""},
		{`[BODY] == ${TEXT}`, assertion(`{"operator":"eq","source":"body","target":"$TEXT"}`), "spaces around"},
		{`[BODY] != pong`, assertion(`{"operator":"ne","source":"body","target":"pong"}`), "spaces around"},
		{`[BODY] == pat(*healthy*)`, assertion(`{"operator":"contains","source":"body","target":"healthy"}`), ""},
		{`[BODY] == pat(${A}*)`, anyStatus, "no such condition"},
		{`[BODY] == pat(*${A}*)`, assertion(`{"operator":"contains","source":"body","target":"$A"}`), ""},
		{`[BODY] == pat(ok*)`, assertion(`{"operator":"matches","source":"body","target":"^\\s*ok"}`), ""},
		{`[BODY] == pat(a*b?c)`, assertion(`{"operator":"matches","source":"body","target":"^\\s*a(?s:.*)b(?s:.)c\\s*$"}`), ""},
		{`[BODY] == pat([a-c]x)`, assertion(`{"operator":"matches","source":"body","target":"^\\s*[a-c]x\\s*$"}`), ""},
		{`[BODY] == pat(a\*b)`, assertion(`{"operator":"matches","source":"body","target":"^\\s*a\\*b\\s*$"}`), ""},
		{`[BODY] == pat([a)`, anyStatus, "no such condition"},
		{`[BODY] == pat(*)`, assertion(`{"operator":"exists","source":"body","target":true}`), ""},
		{`[BODY] != pat(*error*)`, assertion(`{"operator":"not_contains","source":"body","target":"error"}`), ""},
		{`[BODY] != pat(error*)`, anyStatus, "no such condition"},
		{`[BODY] == any(a, b.c)`, assertion(`{"operator":"matches","source":"body","target":"^\\s*(?:a|b\\.c)\\s*$"}`), ""},
		{
			`[BODY] != any(a, b)`, assertion(`{"operator":"ne","source":"body","target":"a"},{"operator":"ne","source":"body","target":"b"}`),
			"spaces around",
		},
		{`[BODY] > 5`, assertion(`{"operator":"gt","source":"body","target":5}`), ""},
		{`has([BODY]) == true`, assertion(`{"operator":"exists","source":"body","target":true}`), ""},
		{`len([BODY]) > 5`, anyStatus, "lengths"},
		{`[BODY].status == UP`, assertion(`{"operator":"eq","property":"$.status","source":"json","target":"UP"}`), ""},
		{`UP == [BODY].status`, assertion(`{"operator":"eq","property":"$.status","source":"json","target":"UP"}`), ""},
		{`[BODY].a.b-c == 1`, assertion(`{"operator":"eq","property":"$.a['b-c']","source":"json","target":"1"}`), ""},
		{`[BODY][0].id == 1`, assertion(`{"operator":"eq","property":"$[0].id","source":"json","target":"1"}`), ""},
		{`[BODY].data[0][1].id == 1`, assertion(`{"operator":"eq","property":"$.data[0][1].id","source":"json","target":"1"}`), ""},
		{`[BODY].data[x].id == 1`, anyStatus, "no such condition"},
		{`[BODY].$where == 1`, anyStatus, "no such condition"},
		{`[BODY]..a == 1`, anyStatus, "no such condition"},
		{`[BODY].n < 5`, assertion(`{"operator":"lt","property":"$.n","source":"json","target":5}`), ""},
		{`[BODY].n <= 5`, assertion(`{"operator":"lt","property":"$.n","source":"json","target":"5.000001"}`), ""},
		{`[BODY].n > 5`, assertion(`{"operator":"gt","property":"$.n","source":"json","target":5}`), ""},
		{`[BODY].n >= 5`, assertion(`{"operator":"gt","property":"$.n","source":"json","target":"4.999999"}`), ""},
		{`[BODY].n > five`, anyStatus, "no such condition"},
		{`[BODY].s != DOWN`, assertion(`{"operator":"ne","property":"$.s","source":"json","target":"DOWN"}`), ""},
		{`[BODY].s == ${STATE}`, assertion(`{"operator":"eq","property":"$.s","source":"json","target":"$STATE"}`), ""},
		{`[BODY].s == any(UP, OK)`, assertion(`{"operator":"matches","property":"$.s","source":"json","target":"^(?:UP|OK)$"}`), ""},
		{`[BODY].s == pat(v1.*)`, assertion(`{"operator":"matches","property":"$.s","source":"json","target":"^v1\\."}`), ""},
		{`[BODY].s == pat(*ok*)`, assertion(`{"operator":"contains","property":"$.s","source":"json","target":"ok"}`), ""},
		{`[BODY].s != pat(*ok*)`, assertion(`{"operator":"not_contains","property":"$.s","source":"json","target":"ok"}`), ""},
		{`has([BODY].errors) == false`, assertion(`{"operator":"exists","property":"$.errors","source":"json","target":false}`), ""},
		{`has([BODY].errors) != true`, assertion(`{"operator":"exists","property":"$.errors","source":"json","target":false}`), ""},
		{`has([BODY].data) == true`, assertion(`{"operator":"exists","property":"$.data","source":"json","target":true}`), ""},
		{`has([BODY].data) == maybe`, anyStatus, "no such condition"},
		{`len([BODY].items) == 2`, anyStatus, "lengths"},
		{`[CONNECTED] == true`, anyStatus, ""},
		{`[CONNECTED] != false`, anyStatus, ""},
		{`[CONNECTED] == any(true, false)`, anyStatus, "every check demands"},
		{`[IP] == 127.0.0.1`, anyStatus, "the address that answered"},
		{`[IP] == pat(10.*)`, anyStatus, "the address that answered"},
		{`[DOMAIN_EXPIRATION] > 720h`, anyStatus, ""}, // a check of its own
		{`[DOMAIN_EXPIRATION] < 720h`, anyStatus, "when a domain ends"},
		{`[DNS_RCODE] == NOERROR`, anyStatus, "no such condition"},
		{`[CONTEXT].x == 1`, anyStatus, "constants only"},
		{`[BODY].a == [BODY].b`, anyStatus, "two things"},
		{`1 == 1`, anyStatus, "nothing that a check sees"},
		{`[STATUS]`, anyStatus, "no condition of the form"},
		{`[STATUS] == 200 == 200`, anyStatus, "more than one operator"},
		{`[STATUS] > pat(2*)`, anyStatus, "a number with a function"},
	}
}

func otherConditions() map[string][]conditionCase {
	return map[string][]conditionCase{
		"tcp://shop.example:7": {
			{`[CONNECTED] == true`, ``, ""},
			{`[BODY] == pat(*VERSION*)`, `"expect":"VERSION"`, ""},
			{`[BODY] == pong`, `"expect":"pong"`, "must contain"},
			{`[BODY] != pong`, ``, "no such condition"},
			{`[RESPONSE_TIME] < 100`, ``, "it becomes a rule, which needs a channel"},
			{`[STATUS] == 200`, ``, "no such condition"},
		},
		"icmp://shop.example": {
			{`[CONNECTED] == true`, `"packet_count":1`, ""},
			{`[RESPONSE_TIME] <= 100ms`, `"packet_count":1`, "it becomes a rule, which needs a channel"},
			{`[RESPONSE_TIME] > 100`, `"packet_count":1`, "no such condition"},
		},
		"tls://shop.example:443": {
			{`[CERTIFICATE_EXPIRATION] > 48h`, `"alert_days_before":1`, ""},
			{`[CERTIFICATE_EXPIRATION] > 0`, ``, ""},
			{`[CERTIFICATE_EXPIRATION] != 0`, ``, "no such condition"},
		},
		"starttls://shop.example:25": {
			{`[CONNECTED] == true`, ``, ""},
			{`[CERTIFICATE_EXPIRATION] > 48h`, ``, "it becomes a rule, which needs a channel"},
		},
		"tls://shop.example:6697\n    body: PING": {
			{`[BODY] == pat(*PONG*)`, `"expect":"PONG","security":"tls","send":"PING"`, ""},
			{`[CERTIFICATE_EXPIRATION] > 48h`, `"security":"tls","send":"PING"`, "it becomes a rule, which needs a channel"},
		},
		"9.9.9.9\n    dns: {query-name: shop.example, query-type: A}": {
			{`[DNS_RCODE] == NOERROR`, ``, ""},
			{`[DNS_RCODE] == NXDOMAIN`, `"expected_rcode":"NXDOMAIN"`, ""},
			{`[DNS_RCODE] == any(NOERROR, NXDOMAIN)`, ``, "no such condition"},
			{`[DNS_RCODE] != NXDOMAIN`, ``, "no such condition"},
			{`[BODY] == 192.0.2.1`, `"expected_values":["192.0.2.1"]`, ""},
			{`[BODY] == any(192.0.2.1, 192.0.2.2)`, `"expected_values":["192.0.2.1","192.0.2.2"]`, ""},
			{`[BODY] == pat(192.*)`, ``, "no such condition"},
			{`[BODY] == pat(*.*.*.*)`, ``, ""},
			{`[BODY] == pat(*:*)`, ``, "no such condition"},
			{`[CONNECTED] == true`, ``, "expects the response code NOERROR"},
		},
		"9.9.9.9\n    dns: {query-name: shop.example, query-type: MX}": {
			{`[BODY] == mail.shop.example.`, ``, "no such condition"},
		},
	}
}

// TestGatusConditions holds every form of a condition, for each type of endpoint.
func TestGatusConditions(t *testing.T) {
	t.Parallel()
	cases := otherConditions()
	cases["https://shop.example/"] = httpConditions()
	for target, conditions := range cases {
		for _, one := range conditions {
			t.Run(one.condition, func(t *testing.T) {
				t.Parallel()
				testCondition(t, target, one)
			})
		}
	}
}

func testCondition(t *testing.T, target string, one conditionCase) {
	t.Helper()
	got := gatusText(t, fmt.Sprintf("endpoints:\n  - name: x\n    url: %s\n    conditions:\n      - '%s'\n", target, one.condition))
	config := at(t, got.document, "checks", "x", "config")
	for _, member := range targetMembers() {
		config = member.ReplaceAllString(config, "")
	}
	config = strings.Trim(config, "{},")
	if config != one.want {
		t.Errorf("config is\n%s\nexpected\n%s", config, one.want)
	}
	losses := ""
	if len(got.result.Checks) > 0 {
		losses = fmt.Sprint(got.result.Checks[0].Losses)
	}
	switch {
	case one.lost == "" && losses != "[]":
		t.Errorf("lost %s, expected nothing", losses)
	case one.lost == "Lost" && losses == "[]", one.lost != "Lost" && !strings.Contains(losses, one.lost):
		t.Errorf("lost %s, expected %q", losses, one.lost)
	}
	if one.lost != "" {
		mentioned(t, got)
	}
}

// mentioned holds that each loss is in a comment at its resource and in IMPORT.md.
func mentioned(t *testing.T, got imported) {
	t.Helper()
	text, report := files(t, got.dir), unescaped(got.report)
	check := func(resource *importer.Resource) {
		for _, loss := range resource.Losses {
			if !strings.Contains(text, "# Lost: "+loss.What+": "+loss.Reason+"\n") {
				t.Errorf("no comment says %q", loss)
			}
			if !strings.Contains(report, "| "+loss.What+" | "+loss.Reason+" |") {
				t.Errorf("IMPORT.md does not say %q:\n%s", loss, report)
			}
		}
	}
	for _, list := range [][]*importer.Resource{got.result.Channels, got.result.Checks, got.result.Maintenance, got.result.StatusPages} {
		for _, resource := range list {
			check(resource)
			for _, rule := range resource.Rules {
				check(rule)
			}
		}
	}
	for _, missing := range got.result.Missing {
		kind := strings.ReplaceAll(string(missing.Kind), "maintenance", "maintenance window")
		if !strings.Contains(report, "| "+missing.Origin+" | "+kind+" | "+missing.Reason+" |") {
			t.Errorf("IMPORT.md does not say %q", missing)
		}
	}
	for _, loss := range got.result.Settings {
		if !strings.Contains(report, "| "+loss.What+" | "+loss.Reason+" |") {
			t.Errorf("IMPORT.md does not say %q", loss)
		}
	}
}

// unescaped removes the backslashes of Markdown.
func unescaped(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
		}
		out.WriteByte(text[i])
	}
	return out.String()
}
