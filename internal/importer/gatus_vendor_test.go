// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"fmt"
	"strings"
	"testing"
)

// memberCase is a member of an endpoint of Gatus 5, as its structs for YAML have it, and what
// becomes of it: a part of the check, or a loss. One with neither changes nothing in Gatus either.
type memberCase struct {
	member, yaml string
	kept         string // of the JSON of the check
	lost         string
	disabled     bool
}

const gatusHTTP = "https://a.example/"

func gatusEndpointMembers() []memberCase {
	return []memberCase{
		{member: "enabled", yaml: `enabled: false`, kept: `"enabled":false`},
		{member: "group", yaml: `group: shop`, kept: `"labels":{"group":"shop"}`},
		{member: "method", yaml: `method: HEAD`, kept: `"method":"HEAD"`},
		{member: "body", yaml: `body: hello`, kept: `"body":"hello"`},
		{member: "graphql", yaml: `graphql: true, body: q`, kept: `"body":"{\"query\":\"q\"}"`},
		{member: "headers", yaml: `headers: {Accept: a/b}`, kept: `"headers":{"Accept":"a/b"}`},
		{member: "extra-labels", yaml: `extra-labels: {team: a}`, kept: `"labels":{"team":"a"}`},
		{member: "interval", yaml: `interval: 5m`, kept: `"interval":"5m"`},
		{member: "conditions", yaml: `conditions: ["[STATUS] == 204"]`, kept: `"expected_status_code":204`},
		{member: "alerts", yaml: `alerts: [{type: ntfy}]`, kept: `"channels":["ntfy"]`},
		{
			member: "maintenance-windows", yaml: `maintenance-windows: [{start: "01:00", duration: 1h, every: [Monday]}]`,
			kept: `"expected_status_codes"`, // the window is a resource beside the check
		},
		{member: "ui", yaml: `ui: {hide-url: true, badge: {response-time: {thresholds: [1, 2, 3, 4, 5]}}}`},
		{member: "ssh", yaml: `ssh: {username: a}`},
		{member: "store", yaml: `store: {a: "[STATUS]"}`, lost: "store"},
		{member: "always-run", yaml: `always-run: true`, lost: "always-run"},
		{member: "x-note", yaml: `x-note: {a: 1}`},
		{member: "note", yaml: `note: &note {a: 1}`},
		{member: "future", yaml: `future: 1`, lost: "future"},
	}
}

func gatusClientMembers() []memberCase {
	return []memberCase{
		{member: "proxy-url", yaml: `proxy-url: "http://p.example:3128/"`, kept: `"proxy":"http://p.example:3128"`},
		{member: "proxy-url", yaml: `proxy-url: "socks5://p.example:1080"`, lost: "client.proxy-url", disabled: true},
		{member: "proxy-url", yaml: `proxy-url: "https://p.example:3128"`, lost: "client.proxy-url", disabled: true},
		{member: "insecure", yaml: `insecure: true`, kept: `"verify_tls":false`},
		{member: "ignore-redirect", yaml: `ignore-redirect: true`, kept: `"follow_redirects":false`},
		{member: "timeout", yaml: `timeout: 3s`, kept: `"timeout_seconds":3`},
		{member: "dns-resolver", yaml: `dns-resolver: "udp://9.9.9.9:53"`, lost: "client.dns-resolver"},
		{member: "dns-resolver", yaml: `dns-resolver: "udp://10.0.0.2:53"`, lost: "client.dns-resolver", disabled: true},
		{member: "dns-resolver", yaml: `dns-resolver: "udp://dns.internal:53"`, lost: "client.dns-resolver", disabled: true},
		{
			member: "oauth2", yaml: `oauth2: {token-url: "https://t.example/", client-id: a, client-secret: $SECRET, scopes: [b]}`,
			kept: `"oauth2":{"client_id":"a","client_secret":"$SECRET","scopes":["b"],"token_url":"https://t.example/"}`,
		},
		{member: "oauth2", yaml: `oauth2: {token-url: "https://t.example/", scopes: [b]}`, lost: "client.oauth2", disabled: true},
		{member: "identity-aware-proxy", yaml: `identity-aware-proxy: {audience: a}`, lost: "client.identity-aware-proxy", disabled: true},
		{member: "kerberos", yaml: `kerberos: {realm: a}`, lost: "client.kerberos", disabled: true},
		{member: "ntlm", yaml: `ntlm: {user: a}`, lost: "client.ntlm", disabled: true},
		{member: "tunnel", yaml: `tunnel: production`, lost: "client.tunnel", disabled: true},
		{member: "network", yaml: `network: ip6`},
		{
			member: "tls", yaml: `tls: {certificate-file: /c.pem, private-key-file: /k.pem}`,
			kept: `"tls":{"client_certificate":"$X_CLIENT_CERTIFICATE","client_key":"$X_CLIENT_KEY"}`, lost: "client.tls.certificate-file",
		},
		{member: "tls", yaml: `tls: {certificate-file: /c.pem}`, lost: "client.tls", disabled: true},
		{member: "store-cookies", yaml: `store-cookies: true`, lost: "client.store-cookies"},
		{member: "store-cookies", yaml: `store-cookies: false`},
		{member: "future", yaml: `future: 1`, lost: "client.future"},
	}
}

// TestGatusEndpointMembers holds for each member of an endpoint, and of its client, that it is
// carried over, changes nothing, or is named as lost, and that a check is disabled when its
// credentials or its way to the target are lost.
func TestGatusEndpointMembers(t *testing.T) {
	t.Parallel()
	judge := func(t *testing.T, one memberCase, text string) {
		t.Helper()
		got := gatusText(t, "alerting: {ntfy: {topic: a}}\nendpoints:\n  - "+text+"\n")
		mentioned(t, got)
		if len(got.result.Checks) != 1 {
			t.Fatalf("%d checks, missing %v", len(got.result.Checks), got.result.Missing)
		}
		check := got.result.Checks[0]
		written := at(t, got.document, "checks", check.Key)
		losses := fmt.Sprint(check.Losses)
		if !strings.Contains(written, one.kept) {
			t.Errorf("the check is\n%s\nwithout %s", written, one.kept)
		}
		if one.lost == "" && losses != "[]" || !strings.Contains(losses, one.lost) {
			t.Errorf("lost %s, expected %q", losses, one.lost)
		}
		if given := strings.Contains(written, `"enabled":false`); one.member != "enabled" && given != one.disabled {
			t.Errorf("disabled is %v:\n%s", given, written)
		}
		if one.disabled && !strings.Contains(losses, "the check is disabled") {
			t.Errorf("no loss says that the check is disabled: %s", losses)
		}
	}
	for _, one := range gatusEndpointMembers() {
		t.Run(one.member, func(t *testing.T) {
			t.Parallel()
			judge(t, one, "{name: x, url: '"+gatusHTTP+"', "+one.yaml+"}")
		})
	}
	for _, one := range gatusClientMembers() {
		t.Run("client."+one.member, func(t *testing.T) {
			t.Parallel()
			judge(t, one, "{name: x, url: '"+gatusHTTP+"', client: {"+one.yaml+"}}")
		})
	}
}

// TestGatusClientOfOtherTypes holds what the client of an endpoint of another type than HTTP means.
func TestGatusClientOfOtherTypes(t *testing.T) {
	t.Parallel()
	for _, one := range []struct{ url, client, kept, lost string }{
		{"icmp://a.example", "network: ip6", `"ip_version":"6"`, ""},
		{"tls://a.example:443", "insecure: true", `"verify_tls":false`, ""},
		{"starttls://a.example:25", "insecure: true", `"verify_tls":false`, ""},
		{"grpcs://a.example:443", "insecure: true", `"verify_tls":false`, ""},
		{"wss://a.example/", "insecure: true", `"verify_tls":false`, ""},
		{"grpcs://a.example:443", "tls: {certificate-file: /c, private-key-file: /k}", `"client_key":"$X_CLIENT_KEY"`, "private-key-file"},
		{"grpc://a.example:443", "tunnel: t", `"enabled":false`, "client.tunnel"},
		{"tcp://a.example:443", "{tunnel: t, proxy-url: 'socks5://a', oauth2: {scopes: [a]}}", `"port":443`, ""}, // Gatus uses none of them
		{"icmp://a.example", "{tunnel: t, tls: {certificate-file: /c}}", `"host":"a.example"`, ""},
		{"starttls://a.example:25", "dns-resolver: 'udp://10.0.0.1:53'", `"enabled":false`, "client.dns-resolver"},
	} {
		client := one.client
		if !strings.HasPrefix(client, "{") {
			client = "{" + client + "}"
		}
		got := gatusText(t, "endpoints:\n  - {name: x, url: '"+one.url+"', client: "+client+"}\n")
		written, losses := at(t, got.document, "checks", "x"), fmt.Sprint(got.result.Checks[0].Losses)
		if !strings.Contains(written, one.kept) {
			t.Errorf("%s with %s is\n%s\nwithout %s", one.url, one.client, written, one.kept)
		}
		if one.lost == "" && losses != "[]" || !strings.Contains(losses, one.lost) {
			t.Errorf("%s with %s loses %s, expected %q", one.url, one.client, losses, one.lost)
		}
	}
}

// TestGatusExpiry holds that the end of a certificate of STARTTLS has a rule, and that of a domain a
// check with the alerts of the endpoint.
func TestGatusExpiry(t *testing.T) {
	t.Parallel()
	got := gatusText(t, `
alerting: {ntfy: {topic: a}}
endpoints:
  - name: mail
    url: "starttls://mail.a.example:25"
    conditions: ["[CERTIFICATE_EXPIRATION] > 240h"]
    alerts: [{type: ntfy}]
  - name: home
    url: "https://user:pw@www.example.com:8443/x"
    conditions: ["[STATUS] == 200", "[DOMAIN_EXPIRATION] > 720h"]
    alerts: [{type: ntfy, failure-threshold: 5, send-on-resolved: true}]
  - {name: name, url: "icmp://example.org", conditions: ["[DOMAIN_EXPIRATION] > 0"]}
  - {name: address, url: "https://9.9.9.9/", conditions: ["[DOMAIN_EXPIRATION] > 720h"]}
`)
	mentioned(t, got)
	want(t, got, map[string]string{
		"checks/mail/rules/certificate/condition": `{"severity":"warning","ssl_days_remaining":9}`,
		"checks/mail/rules/certificate/channels":  `["ntfy"]`,
		"checks/home-domain/type":                 `"domain"`,
		"checks/home-domain/config":               `{"alert_days_before":29,"domain":"www.example.com"}`,
		"checks/home-domain/rules/ntfy": `{"channels":["ntfy"],"condition":{"failure_threshold":1},` +
			`"name":"5 failures in a row","notify_on":"both"}`,
		"checks/name-domain/config": `{"domain":"example.org"}`,
		"checks/address-domain":     `null`,
	})
	if report := unescaped(got.report); !strings.Contains(report, "condition [DOMAIN_EXPIRATION] > 720h") {
		t.Errorf("the report does not name the condition on the address:\n%s", report)
	}
}

// TestGatusNameServers holds that a name server is asked as Gatus asks it.
func TestGatusNameServers(t *testing.T) {
	t.Parallel()
	for url, kept := range map[string]string{
		"dns.a.example": `"resolvers":["dns.a.example"]`, "dns.a.example:5353": `"resolvers":["dns.a.example:5353"]`,
		"udp://9.9.9.9:53": `"resolvers":["9.9.9.9"]`, "[2620:fe::fe]:53": `"resolvers":["2620:fe::fe"]`, "$SERVER": `"resolvers":["$SERVER"]`,
		"tls://9.9.9.9":     `"protocol":"tls","record_type":"A","resolvers":["9.9.9.9"]`,
		"tls://9.9.9.9:853": `"protocol":"tls","record_type":"A","resolvers":["9.9.9.9"]`,
		"tls://9.9.9.9:53":  `"protocol":"tls","record_type":"A","resolvers":["9.9.9.9:53"]`,
	} {
		got := gatusText(
			t,
			"endpoints:\n  - {name: x, url: '"+url+"', dns: {query-name: a.example, query-type: A}, conditions: ['[DNS_RCODE] == NOERROR']}\n",
		)
		if written := at(t, got.document, "checks", "x"); !strings.Contains(written, kept) || got.result.Lossy() {
			t.Errorf("%s is %s:\n%s", url, written, got.report)
		}
	}
	got := gatusText(t, "endpoints:\n  - {name: x, url: 'tls://a b', dns: {query-name: a.example, query-type: A}, "+
		"conditions: ['[DNS_RCODE] == NOERROR']}\n")
	if written := at(t, got.document, "checks", "x"); strings.Contains(written, "protocol") || !got.result.Lossy() {
		t.Errorf("without a name server the check is %s:\n%s", written, got.report)
	}
}
