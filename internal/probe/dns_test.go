// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

var _ = addFixture(fixtureDNS)

// fixtureDNS is the fixture of the dns type.
func fixtureDNS(f *world) fixture {
	server := probetest.NameServer(f, zone(f)).String()
	silent := probetest.NameServer(f, func(dns.ResponseWriter, *dns.Msg) {}).String()
	return fixture{
		kind:    vigil.TypeDNS,
		healthy: object{"host": "www.test", "resolvers": []string{server}},
		failing: object{"host": "gone.test", "resolvers": []string{server}},
		silent:  object{"host": "www.test", "resolvers": []string{silent}},
		secrets: []string{"there is no secret in this type"},
	}
}

// zone answers from a small zone that has one of each type.
func zone(tb testing.TB) dns.HandlerFunc {
	tb.Helper()
	records := []string{
		"www.test. 300 IN A 192.0.2.2",
		"www.test. 60 IN A 192.0.2.1",
		"www.test. 60 IN AAAA 2001:db8::1",
		"alias.test. 60 IN CNAME WWW.test.",
		"test. 60 IN MX 10 mail.test.",
		"test. 60 IN MX 20 backup.test.",
		"test. 60 IN NS ns1.test.",
		`test. 60 IN TXT "v=spf1 -all"`,
		`long.test. 60 IN TXT "one " "two \"x\""`,
		"test. 60 IN SOA ns1.test. admin.test. 7 3600 600 86400 60",
		"_sip._tcp.test. 60 IN SRV 1 2 5060 sip.test.",
		`test. 60 IN CAA 0 issue "letsencrypt.org"`,
		"idn.test. 60 IN MX 10 mail.xn--mnchen-3ya.example.",
		"1.2.0.192.in-addr.arpa. 60 IN PTR www.test.",
	}
	for i := range 200 {
		records = append(records, fmt.Sprintf("many.test. 60 IN A 10.0.0.%d", i))
	}
	var zone []dns.RR
	for _, text := range records {
		record, err := dns.NewRR(text)
		if err != nil {
			tb.Fatal(err)
		}
		zone = append(zone, record)
	}
	return func(w dns.ResponseWriter, query *dns.Msg) {
		reply := new(dns.Msg).SetReply(query)
		known := false
		for _, record := range zone {
			if strings.EqualFold(record.Header().Name, query.Question[0].Name) {
				known = true
				if record.Header().Rrtype == query.Question[0].Qtype {
					reply.Answer = append(reply.Answer, record)
				}
			}
		}
		if !known {
			reply.Rcode = dns.RcodeNameError
		}
		if _, packets := w.RemoteAddr().(*net.UDPAddr); packets {
			reply.Truncate(1232)
		}
		_ = w.WriteMsg(reply)
	}
}

func rcode(code int) dns.HandlerFunc {
	return func(w dns.ResponseWriter, query *dns.Msg) {
		_ = w.WriteMsg(new(dns.Msg).SetRcode(query, code))
	}
}

func TestDNS(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := probetest.NameServer(t, zone(t)).String()
	broken := probetest.NameServer(t, rcode(dns.RcodeServerFailure)).String()
	silent := probetest.NameServer(t, func(dns.ResponseWriter, *dns.Msg) {}).String()
	one := func(more object) object {
		more["resolvers"] = []string{server}
		return more
	}
	for name, c := range map[string]struct {
		config  object
		answers []any
		reason  string
	}{
		"A": {one(object{"host": "www.test"}), []any{"192.0.2.1", "192.0.2.2"}, ""},
		"AAAA": {
			one(object{"host": "www.test", "record_type": "AAAA", "expected_values": []string{"2001:0db8::0001"}}),
			[]any{"2001:db8::1"},
			"",
		},
		"CNAME": {
			one(object{"host": "alias.test", "record_type": "CNAME", "expected_values": []string{"www.test."}}),
			[]any{"www.test"},
			"",
		},
		"MX": {
			one(object{"host": "test", "record_type": "MX", "expected_values": []string{"10 MAIL.test", "20 backup.test"}, "match": "exact"}),
			[]any{"10 mail.test", "20 backup.test"},
			"",
		},
		"NS": {one(object{"host": "test", "record_type": "NS"}), []any{"ns1.test"}, ""},
		"TXT": {
			one(object{"host": "test", "record_type": "TXT", "expected_values": []string{"v=spf1 -all"}}),
			[]any{"v=spf1 -all"},
			"",
		},
		"TXTInParts": {one(object{"host": "long.test", "record_type": "TXT"}), []any{`one two "x"`}, ""},
		"SOA":        {one(object{"host": "test", "record_type": "SOA"}), []any{"ns1.test admin.test 7 3600 600 86400 60"}, ""},
		"SRV":        {one(object{"host": "_sip._tcp.test", "record_type": "SRV"}), []any{"1 2 5060 sip.test"}, ""},
		"CAA": {
			one(object{"host": "test", "record_type": "CAA", "expected_values": []string{`0 issue "letsencrypt.org"`}}),
			[]any{"0 issue letsencrypt.org"},
			"",
		},
		"PTR":             {one(object{"host": "192.0.2.1", "record_type": "PTR"}), []any{"www.test"}, ""},
		"OverTCP":         {one(object{"host": "www.test", "protocol": "tcp"}), []any{"192.0.2.1", "192.0.2.2"}, ""},
		"NameIsGone":      {one(object{"host": "gone.test"}), []any{}, "the name server answered NXDOMAIN, expected NOERROR"},
		"NameShallBeGone": {one(object{"host": "gone.test", "expected_rcode": "NXDOMAIN"}), []any{}, ""},
		"NoSuchRecord":    {one(object{"host": "www.test", "record_type": "MX"}), []any{}, "www.test has no MX record"},
		"Any":             {one(object{"host": "www.test", "expected_values": []string{"192.0.2.9", "192.0.2.1"}}), nil, ""},
		"AnyFails": {
			one(object{"host": "www.test", "expected_values": []string{"192.0.2.9"}}),
			nil,
			`www.test has the A records "192.0.2.1", "192.0.2.2", expected one of "192.0.2.9"`,
		},
		"All": {one(object{"host": "www.test", "expected_values": []string{"192.0.2.1"}, "match": "all"}), nil, ""},
		"AllFails": {
			one(object{"host": "www.test", "expected_values": []string{"192.0.2.1", "192.0.2.9"}, "match": "all"}),
			nil,
			`www.test has the A records "192.0.2.1", "192.0.2.2", expected "192.0.2.9" as well`,
		},
		"ExactFails": {
			one(object{"host": "www.test", "expected_values": []string{"192.0.2.1"}, "match": "exact"}),
			nil,
			`www.test has the A records "192.0.2.1", "192.0.2.2", expected no "192.0.2.2"`,
		},
		"ServerFailure": {object{"host": "www.test", "resolvers": []string{broken}}, nil, "the name server answered SERVFAIL"},
		"NextServer":    {object{"host": "www.test", "resolvers": []string{broken, server}}, nil, ""},
		"SilentServer":  {object{"host": "www.test", "resolvers": []string{silent, server}, "timeout_seconds": 4}, nil, ""},
		"OnlySilent": {
			object{"host": "www.test", "resolvers": []string{silent}, "timeout_seconds": 1},
			nil,
			"timed out after 1s while waiting for the name server " + silent,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := w.run(vigil.TypeDNS, c.config)
			if seen.Success != (c.reason == "") || !strings.Contains(seen.Error, c.reason) {
				t.Errorf("got %q, want %q", seen.Error, c.reason)
			}
			if c.answers != nil && !reflect.DeepEqual(seen.Metadata["answers"], c.answers) {
				t.Errorf("answers %v, want %v", seen.Metadata["answers"], c.answers)
			}
		})
	}
}

func TestDNSMetadata(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := probetest.NameServer(t, zone(t)).String()
	seen := w.run(vigil.TypeDNS, object{"host": "WWW.test.", "resolvers": []string{server}})
	print1, _ := seen.Metadata["fingerprint"].(string)
	if seen.Metadata["ttl"] != 60.0 || seen.Metadata["rcode"] != "NOERROR" || seen.Metadata["resolver"] != server || len(print1) != 49 {
		t.Errorf("got %v", seen.Metadata)
	}
	many := w.run(vigil.TypeDNS, object{"host": "many.test", "resolvers": []string{server}})
	if list, _ := many.Metadata["answers"].([]any); !many.Success || len(list) != 50 {
		t.Errorf("an answer that does not fit a packet: %s, %d answers", many.Error, len(list))
	}
}

// TestFingerprint: order, spelling and time to live are no change; another
// question shows in the first part alone.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	prints := make(map[string]string)
	for name, records := range map[string][]string{
		"first": {"60 IN MX 10 a.test.", "60 IN MX 20 b.test."}, "turned": {"9 IN MX 20 B.test.", "5 IN MX 10 A.TEST."},
		"other": {"60 IN MX 10 a.test.", "60 IN MX 30 b.test."},
	} {
		server := probetest.NameServer(t, func(w dns.ResponseWriter, query *dns.Msg) {
			reply := new(dns.Msg).SetReply(query)
			for _, text := range records {
				record, err := dns.NewRR(query.Question[0].Name + " " + text)
				if err != nil {
					t.Error(err)
				}
				reply.Answer = append(reply.Answer, record)
			}
			_ = w.WriteMsg(reply)
		})
		ask := func(host string) string {
			seen := w.run(vigil.TypeDNS, object{"host": host, "record_type": "MX", "resolvers": []string{server.String()}})
			print, _ := seen.Metadata["fingerprint"].(string)
			return print
		}
		prints[name] = ask("x.test")
		asked, records, _ := strings.Cut(prints[name], ":")
		if again := ask("X.TEST."); again != prints[name] {
			t.Errorf("the same question once more: %s, then %s", prints[name], again)
		}
		if other, same, _ := strings.Cut(ask("y.test"), ":"); other == asked || same != records {
			t.Errorf("another question: %s, then %s:%s", prints[name], other, same)
		}
	}
	if prints["first"] == "" || prints["first"] != prints["turned"] || prints["first"] == prints["other"] {
		t.Errorf("got %v", prints)
	}
}

func TestSystemNameServer(t *testing.T) {
	t.Parallel()
	// The machine's own name server is asked even where private targets are not permitted.
	w := newWorld(t, egress.WithNameServer(probetest.NameServer(t, zone(t))))
	seen := w.run(vigil.TypeDNS, object{"host": "www.test"})
	if !seen.Success || seen.Metadata["resolver"] != "system" {
		t.Errorf("got %+v", seen)
	}
}

func TestDNSOverTLS(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	serve := func(certificate tls.Certificate) string {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		server := &dns.Server{
			Listener: tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{certificate}}), Handler: zone(t),
		}
		started, done := make(chan struct{}), make(chan struct{})
		server.NotifyStartedFunc = func() { close(started) }
		go func() {
			defer close(done)
			_ = server.ActivateAndServe()
		}()
		<-started
		t.Cleanup(func() {
			_ = server.Shutdown()
			<-done
		})
		return listener.Addr().String()
	}
	good, stranger := serve(w.authority.Issue(t)), serve(probetest.NewAuthority(t, nil).Issue(t))
	if seen := w.run(vigil.TypeDNS, object{"host": "www.test", "protocol": "tls", "resolvers": []string{good}}); !seen.Success {
		t.Errorf("got %+v", seen)
	}
	seen := w.run(vigil.TypeDNS, object{"host": "www.test", "protocol": "tls", "resolvers": []string{stranger}})
	if !strings.Contains(seen.Error, "unknown authority") {
		t.Errorf("got %+v", seen)
	}
	_, err := w.Parse(vigil.TypeDNS, encode(t, object{"host": "www.test", "protocol": "tls"}), minute)
	if err == nil || !strings.Contains(err.Error(), "config.resolvers: is required with protocol tls") {
		t.Errorf("without a name server: %v", err)
	}
}

// TestHostileNameServers: answers to other questions, too long, cut, or of a
// wrong size end in a reason.
func TestHostileNameServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	forged := probetest.NameServer(t, func(w dns.ResponseWriter, query *dns.Msg) {
		for i := range 3 {
			other := new(dns.Msg).SetReply(query)
			other.Id += uint16(i)
			other.Question[0].Name = "other.test."
			_ = w.WriteMsg(other)
		}
		_ = w.WriteMsg(new(dns.Msg).SetRcode(query, dns.RcodeNameError))
	}).String()
	huge := tcp(t, func(conn net.Conn) {
		_, _ = io.ReadFull(conn, make([]byte, 20))
		_, _ = conn.Write([]byte{0xff, 0xff})
		_, _ = io.CopyN(conn, endless(0xc0), 0xffff)
		drain(conn)
	})
	cut := tcp(t, func(conn net.Conn) {
		_, _ = io.ReadFull(conn, make([]byte, 20))
		_, _ = conn.Write([]byte{0xff, 0xff, 1, 2, 3})
	})
	for name, c := range map[string]struct {
		server, protocol, reason string
	}{
		"AnswersToOtherQuestionsArePassedOver": {forged, "udp", "NXDOMAIN"},
		"NonsenseOf64KiB":                      {huge, "tcp", "malformed"},
		"CutAnswer":                            {cut, "tcp", "the connection was"},
		"NoServer":                             {closedPort(t), "udp", "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := w.run(vigil.TypeDNS, object{"host": "www.test", "protocol": c.protocol, "resolvers": []string{c.server}})
			if seen.Success || !strings.Contains(seen.Error, c.reason) {
				t.Errorf("got %+v", seen)
			}
		})
	}
}

func TestDNSConfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, c := range map[string]struct {
		config object
		member string
	}{
		"NoHost":       {object{"record_type": "A"}, "config.host"},
		"Address":      {object{"host": "192.0.2.1"}, "config.host"},
		"URL":          {object{"host": "http://example.com"}, "config.host"},
		"LongLabel":    {object{"host": strings.Repeat("a", 64) + ".com"}, "config.host"},
		"RecordType":   {object{"host": "example.com", "record_type": "ANY"}, "config.record_type"},
		"Resolver":     {object{"host": "example.com", "resolvers": []string{"https://dns.example/"}}, "config.resolvers[0]"},
		"ResolverName": {object{"host": "example.com", "resolvers": []string{"-.example:a"}}, "config.resolvers[0]"},
		"ResolverHere": {object{"host": "example.com", "resolvers": []string{"a b"}}, "config.resolvers[0]"},
		"ResolverPort": {object{"host": "example.com", "resolvers": []string{"1.1.1.1", "1.1.1.1:0"}}, "config.resolvers[1]"},
		"Metadata":     {object{"host": "example.com", "resolvers": []string{"169.254.169.254"}}, "config.resolvers[0]"},
		"Protocol":     {object{"host": "example.com", "protocol": "https"}, "config.protocol"},
		"Match":        {object{"host": "example.com", "match": "some"}, "config.match"},
		"Rcode":        {object{"host": "example.com", "expected_rcode": "OK"}, "config.expected_rcode"},
		"ValueAndRcode": {
			object{"host": "example.com", "expected_rcode": "NXDOMAIN", "expected_values": []string{"192.0.2.1"}},
			"config.expected_values",
		},
		"ValueOfOther": {object{"host": "example.com", "expected_values": []string{"2001:db8::1"}}, "config.expected_values[0]"},
		"EmptyValue":   {object{"host": "example.com", "record_type": "TXT", "expected_values": []string{""}}, "config.expected_values[0]"},
		"TooManyServers": {
			object{"host": "example.com", "resolvers": []string{"1.1.1.1", "1.1.1.1", "1.1.1.1", "1.1.1.1", "1.1.1.1", "1.1.1.1"}},
			"config.resolvers",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := w.Parse(vigil.TypeDNS, encode(t, c.config), minute)
			rejected(t, err, c.member)
		})
	}
	guard := egress.New(egress.Policy{}, egress.WithNameServer(netip.MustParseAddrPort("127.0.0.1:1")))
	if _, err := guard.DialNameServer(t.Context(), "udp", "127.0.0.1:2"); err == nil {
		t.Error("an address that is no name server of the machine was reached as if it were")
	}
}
