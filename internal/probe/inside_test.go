// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

// outside is a registry whose guard refuses private targets and asks one name server.
func outside(server netip.AddrPort, policy egress.Policy) *probe.Registry {
	return probe.NewRegistry(egress.New(policy, egress.WithNameServer(server)))
}

func TestDNSDoesNotDiscloseTheInside(t *testing.T) {
	t.Parallel()
	answers := map[string][]string{
		"private.test.": {"A 10.2.3.4"}, "alias.test.": {"CNAME private.test.", "A 192.168.7.7"}, "loop.test.": {"A 127.0.0.1"},
		"mixed.test.": {"A 93.184.216.34", "A 172.16.0.9"}, "six.test.": {"AAAA fd12::7"}, "link.test.": {"AAAA fe80::7"},
		"public.test.": {"A 93.184.216.34"}, "allowed.test.": {"A 10.1.0.1"}, "text.test.": {"TXT 10.2.3.4"},
	}
	server := probetest.Resolver(t, func(q dns.Question) []string { return answers[strings.ToLower(q.Name)] })
	closed := outside(server, egress.Policy{AllowedCIDRs: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}})
	for name, tt := range map[string]struct {
		record string
		shown  bool
	}{
		"private.test": {"A", false}, "alias.test": {"CNAME", false}, "loop.test": {"A", false}, "mixed.test": {"A", false},
		"six.test": {"AAAA", false}, "link.test": {"AAAA", false},
		"public.test": {"A", true}, "allowed.test": {"A", true}, "text.test": {"TXT", true},
	} {
		for _, expected := range [][]string{nil, {"10.2.3.4"}} {
			if expected != nil && tt.record != "A" {
				continue
			}
			config := object{"host": name, "record_type": tt.record}
			if expected != nil {
				config["expected_values"] = expected
			}
			parsed, err := closed.Parse(vigil.TypeDNS, encode(t, config), time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			seen := parsed.Run(t.Context())
			answers, _ := seen.Metadata["answers"].([]any)
			if tt.shown {
				if len(answers) == 0 {
					t.Errorf("%s: %+v", name, seen)
				}
				continue
			}
			if shown := string(
				encode(t, seen),
			); seen.Success || len(answers) > 0 || seen.Metadata["fingerprint"] != nil && seen.Metadata["fingerprint"] != "" ||
				strings.Contains(shown, "10.2.3.4") || strings.Contains(shown, "fd12") ||
				!strings.Contains(seen.Error, egress.Setting) {
				t.Errorf("%s: %s", name, shown)
			}
		}
	}
	open := outside(server, egress.Policy{AllowPrivate: true})
	parsed, err := open.Parse(vigil.TypeDNS, encode(t, object{"host": "private.test"}), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if seen := parsed.Run(t.Context()); !seen.Success {
		t.Errorf("while private targets are open: %+v", seen)
	}
}

func TestDNSDoesNotAskAboutTheInside(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 100)
	server := probetest.Resolver(t, func(q dns.Question) []string { asked <- q.Name; return nil })
	closed := outside(server, egress.Policy{})
	for _, host := range []string{
		"10.0.0.1", "192.168.1.1", "127.0.0.1", "169.254.1.1", "fd00::1", "fe80::1", "[fd00::1]", "1.0.0.10.in-addr.arpa",
		"1.0.0.10.IN-ADDR.ARPA.", "0.10.in-addr.arpa", "10.in-addr.arpa", "168.192.in-addr.arpa", "b._dns-sd._udp.0.0.0.10.in-addr.arpa",
		"16.172.in-addr.arpa", "0.0.d.f.ip6.arpa",
	} {
		for _, record := range []string{"PTR", "NS", "TXT"} {
			if record != "PTR" && !strings.Contains(strings.ToLower(host), "arpa") {
				continue
			}
			_, err := closed.Parse(vigil.TypeDNS, encode(t, object{"host": host, "record_type": record}), time.Minute)
			if vigil.ErrorCode(err) != vigil.CodeInvalid || !strings.Contains(err.Error(), egress.Setting) {
				t.Errorf("%s %s: %v", record, host, err)
			}
		}
	}
	for _, host := range []string{
		"93.184.216.34", "34.216.184.93.in-addr.arpa", "172.in-addr.arpa", "2606:2800::1", "in-addr.arpa", "8.b.d.0.1.0.0.2.ip6.arpa",
	} {
		if _, err := closed.Parse(vigil.TypeDNS, encode(t, object{"host": host, "record_type": "PTR"}), time.Minute); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	guard := egress.New(egress.Policy{AllowPrivate: true}, egress.WithNameServer(server))
	parsed, err := probe.NewRegistry(guard).Parse(vigil.TypeDNS, encode(t, object{"host": "10.0.0.1", "record_type": "PTR"}), time.Minute)
	if err != nil {
		t.Fatalf("while private targets are open: %v", err)
	}
	guard.ClosePrivate()
	if seen := parsed.Run(t.Context()); seen.Success || !strings.Contains(seen.Error, "private address") || len(asked) > 0 {
		t.Errorf("once they are closed: %+v, asked %d questions", seen, len(asked))
	}
}

func TestMailPortsAreForMailChecks(t *testing.T) {
	t.Parallel()
	server := probetest.Resolver(t, probetest.At("93.184.216.34"))
	closed := outside(server, egress.Policy{})
	for name, tt := range map[string]struct {
		kind   vigil.CheckType
		config object
	}{
		"tcp":        {vigil.TypeTCP, object{"host": "93.184.216.34", "port": 25, "send": "MAIL FROM:<a@b.example>"}},
		"http":       {vigil.TypeHTTP, object{"url": "http://93.184.216.34:587/"}},
		"https":      {vigil.TypeHTTPS, object{"url": "https://93.184.216.34:465/"}},
		"http3":      {vigil.TypeHTTP3, object{"url": "https://93.184.216.34:465/"}},
		"ssl":        {vigil.TypeSSL, object{"host": "93.184.216.34", "port": 465}},
		"throughput": {vigil.TypeThroughput, object{"url": "http://93.184.216.34:25/"}},
		"dns":        {vigil.TypeDNS, object{"host": "example.com", "resolvers": []string{"93.184.216.34:25"}, "protocol": "tcp"}},
		"multistep": {vigil.TypeMultistep, object{"steps": []object{
			{"name": "a", "type": "tcp", "config": object{"host": "93.184.216.34", "port": 25}},
		}}},
	} {
		_, err := closed.Parse(tt.kind, encode(t, tt.config), time.Minute)
		if vigil.ErrorCode(err) != vigil.CodeInvalid || !strings.Contains(err.Error(), "only smtp-imap checks") {
			t.Errorf("%s: %v", name, err)
		}
	}
	named, err := closed.Parse(vigil.TypeTCP, encode(t, object{"host": "mail.example", "port": 25}), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if seen := named.Run(t.Context()); seen.Success || !strings.Contains(seen.Error, "only smtp-imap checks") {
		t.Errorf("by name: %+v", seen)
	}
	login := object{"host": "93.184.216.34", "port": 587, "username": "u", "password": "p"}
	if _, err := closed.Parse(vigil.TypeSMTPIMAP, encode(t, object{"smtp": login}), time.Minute); err != nil {
		t.Errorf("smtp-imap: %v", err)
	}
}

func TestRoundTripThroughAPublicServerNeedsALogin(t *testing.T) {
	t.Parallel()
	server := probetest.Resolver(t, probetest.At("127.0.0.1"))
	closed := outside(server, egress.Policy{AllowedCIDRs: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}})
	open := outside(server, egress.Policy{AllowPrivate: true})
	config := func(smtp object, more object) object {
		c := object{
			"smtp": smtp, "imap": object{"host": "mail.example", "username": "u", "password": "p"}, "from": "a@b.example", "to": "c@d.example",
		}
		for name, value := range more {
			c[name] = value
		}
		return c
	}
	for name, tt := range map[string]struct {
		registry *probe.Registry
		config   object
		member   string // that is missing; empty: none
	}{
		"a name":                         {closed, config(object{"host": "mail.example"}, nil), "config.smtp.username"},
		"a public address":               {open, config(object{"host": "93.184.216.34"}, nil), "config.smtp.username"},
		"with a login":                   {closed, config(object{"host": "mail.example", "username": "u", "password": "p"}, nil), ""},
		"nothing is sent":                {closed, config(object{"host": "mail.example"}, object{"round_trip": false}), ""},
		"the operator's network":         {closed, config(object{"host": "10.1.2.3"}, nil), ""},
		"a name, private targets open":   {open, config(object{"host": "mail.example"}, nil), ""},
		"loopback, private targets open": {open, config(object{"host": "127.0.0.1"}, nil), ""},
	} {
		_, err := tt.registry.Parse(vigil.TypeSMTPIMAP, encode(t, tt.config), time.Hour)
		if tt.member == "" && err != nil || tt.member != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.member+": ")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
