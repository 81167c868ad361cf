// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

// strict answers queries that are as RFC 1035 and RFC 6891 demand them, and refuses the others.
func strict(tb testing.TB, answer dns.HandlerFunc) dns.HandlerFunc {
	tb.Helper()
	return func(w dns.ResponseWriter, query *dns.Msg) {
		opt := query.IsEdns0()
		switch {
		case query.Opcode != dns.OpcodeQuery, query.Response, query.Authoritative, query.Truncated, query.Zero, query.Rcode != 0,
			!query.RecursionDesired, len(query.Question) != 1, len(query.Answer)+len(query.Ns) != 0,
			query.Question[0].Qclass != dns.ClassINET, !dns.IsFqdn(query.Question[0].Name),
			opt == nil && len(query.Extra) != 0, opt != nil && (opt.Version() != 0 || opt.UDPSize() < 512 || len(query.Extra) != 1):
			tb.Errorf("a query that is not as the standard has it: %v", query)
			_ = w.WriteMsg(new(dns.Msg).SetRcode(query, dns.RcodeFormatError))
			return
		}
		answer(w, query)
	}
}

// overPackets reports whether a query came over UDP.
func overPackets(w dns.ResponseWriter) bool {
	_, ok := w.RemoteAddr().(*net.UDPAddr)
	return ok
}

// lossy drops the queries whose turn it is, which begins with 0.
func lossy(tb testing.TB, drops func(turn int32) bool) dns.HandlerFunc {
	tb.Helper()
	var turn atomic.Int32
	answer := zone(tb)
	return strict(tb, func(w dns.ResponseWriter, query *dns.Msg) {
		if !drops(turn.Add(1) - 1) {
			answer(w, query)
		}
	})
}

// withoutEDNS is a server from before EDNS: what it does with an OPT record is up to refuse.
func withoutEDNS(tb testing.TB, refuse dns.HandlerFunc) dns.HandlerFunc {
	tb.Helper()
	answer := zone(tb)
	return strict(tb, func(w dns.ResponseWriter, query *dns.Msg) {
		if query.IsEdns0() != nil {
			refuse(w, query)
			return
		}
		answer(w, query)
	})
}

// headerOnly answers with a code and nothing else, not even the question.
func headerOnly(code int) dns.HandlerFunc {
	return func(w dns.ResponseWriter, query *dns.Msg) {
		reply := new(dns.Msg).SetRcode(query, code)
		reply.Question = nil
		_ = w.WriteMsg(reply)
	}
}

// TestDNSAsResolversDo is about servers and networks that every resolver copes with.
func TestDNSAsResolversDo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cut := func(size int) dns.HandlerFunc { // the answer over UDP is cut in the middle of a record
		answer := zone(t)
		return strict(t, func(w dns.ResponseWriter, query *dns.Msg) {
			if !overPackets(w) {
				answer(w, query)
				return
			}
			reply := new(dns.Msg).SetReply(query)
			record, err := dns.NewRR("www.test. 60 IN A 192.0.2.1")
			if err != nil {
				t.Error(err)
			}
			reply.Answer, reply.Truncated = []dns.RR{record}, true
			packed, err := reply.Pack()
			if err != nil {
				t.Error(err)
			}
			_, _ = w.Write(packed[:len(packed)-size])
		})
	}
	shouting := strict(t, func(w dns.ResponseWriter, query *dns.Msg) {
		reply := new(dns.Msg).SetReply(query)
		record, err := dns.NewRR("wWw.TeSt. 60 IN A 192.0.2.1")
		if err != nil {
			t.Error(err)
		}
		reply.Answer = []dns.RR{record}
		reply.Question[0].Name = "wWw.TeSt."
		_ = w.WriteMsg(reply)
	})
	noQuestion := strict(t, func(w dns.ResponseWriter, query *dns.Msg) {
		reply := new(dns.Msg).SetReply(query)
		record, err := dns.NewRR("www.test. 60 IN A 192.0.2.1")
		if err != nil {
			t.Error(err)
		}
		reply.Question, reply.Answer = nil, []dns.RR{record}
		_ = w.WriteMsg(reply)
	})
	// The answer to the first query comes after the second query.
	var late atomic.Pointer[dns.Msg]
	delayed := strict(t, func(w dns.ResponseWriter, query *dns.Msg) {
		if first := late.Swap(query); first != nil {
			zone(t)(w, first)
		}
	})
	for name, handler := range map[string]dns.HandlerFunc{
		"FirstQueryIsLost":      lossy(t, func(turn int32) bool { return turn == 0 }),
		"TwoOfThreeAreLost":     lossy(t, func(turn int32) bool { return turn%3 != 2 }),
		"AnswerComesLate":       delayed,
		"EDNSIsAFormatError":    withoutEDNS(t, rcode(dns.RcodeFormatError)),
		"EDNSIsNotImplemented":  withoutEDNS(t, rcode(dns.RcodeNotImplemented)),
		"EDNSIsAServerFailure":  withoutEDNS(t, rcode(dns.RcodeServerFailure)),
		"EDNSGetsAHeaderOnly":   withoutEDNS(t, headerOnly(dns.RcodeFormatError)),
		"EDNSIsDropped":         withoutEDNS(t, func(dns.ResponseWriter, *dns.Msg) {}),
		"CutBetweenRecords":     cut(0),
		"CutInARecord":          cut(3),
		"OtherCaseOfLetters":    shouting,
		"NoQuestionInTheAnswer": noQuestion,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := probetest.NameServer(t, handler).String()
			seen := w.run(vigil.TypeDNS, object{"host": "www.test", "resolvers": []string{server}, "timeout_seconds": 10})
			if !seen.Success {
				t.Errorf("got %q, %v", seen.Error, seen.Metadata)
			}
			lost := strings.Contains(name, "Lost") || strings.Contains(name, "Late") || strings.Contains(name, "EDNS") ||
				strings.Contains(name, "Cut")
			if queries, _ := seen.Metadata["queries"].(float64); (queries > 1) != lost {
				t.Errorf("%v queries", queries)
			}
		})
	}
}

// TestDNSTimeOfLostQueries: the response time is that of the query that was answered, and of the
// server that was.
func TestDNSTimeOfLostQueries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	lost := probetest.NameServer(t, lossy(t, func(turn int32) bool { return turn == 0 })).String()
	server := probetest.NameServer(t, zone(t)).String()
	silent := probetest.NameServer(t, func(dns.ResponseWriter, *dns.Msg) {}).String()
	for name, servers := range map[string][]string{"Query": {lost}, "Server": {silent, server}} {
		parsed := w.must(vigil.TypeDNS, object{"host": "www.test", "resolvers": servers, "timeout_seconds": 8})
		began := time.Now()
		seen := parsed.Run(t.Context())
		took := time.Since(began)
		if !seen.Success || took < 500*time.Millisecond || seen.ResponseTime > took-400*time.Millisecond {
			t.Errorf("%s: %s took %s, response time %s", name, seen.Error, took, seen.ResponseTime)
		}
	}
}

// TestDNSRcodes: every response code can be expected, that of the header and the extended ones.
func TestDNSRcodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, code := range map[string]int{
		"FORMERR": 1, "SERVFAIL": 2, "NXDOMAIN": 3, "NOTIMP": 4, "REFUSED": 5, "YXDOMAIN": 6, "YXRRSET": 7, "NXRRSET": 8, "NOTAUTH": 9,
		"NOTZONE": 10, "DSOTYPENI": 11, "RCODE12": 12, "RCODE13": 13, "RCODE14": 14, "RCODE15": 15, "BADVERS": 16, "BADCOOKIE": 23,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handler := func(w dns.ResponseWriter, query *dns.Msg) {
				reply := new(dns.Msg).SetReply(query)
				reply.Rcode = code & 0xf
				if query.IsEdns0() != nil {
					reply.Rcode = code
					reply.SetEdns0(1232, false)
				}
				packed, err := reply.Pack()
				if err != nil {
					t.Error(err)
				}
				_, _ = w.Write(packed)
			}
			config := object{"host": "www.test", "expected_rcode": name, "resolvers": []string{probetest.NameServer(t, strict(t, handler)).String()}}
			if code > 15 { // without EDNS the server cannot say it
				config["resolvers"] = []string{probetest.NameServer(t, strict(t, func(w dns.ResponseWriter, query *dns.Msg) {
					if query.IsEdns0() != nil {
						handler(w, query)
					}
				})).String()}
				config["timeout_seconds"] = 1
			}
			if seen := w.run(vigil.TypeDNS, config); !seen.Success || seen.Metadata["rcode"] != name {
				t.Errorf("got %q, %v", seen.Error, seen.Metadata)
			}
		})
	}
}

// TestDNSNoData is about NOERROR without a record of the type (RFC 2308).
func TestDNSNoData(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := probetest.NameServer(t, zone(t)).String()
	refers := probetest.NameServer(t, func(w dns.ResponseWriter, query *dns.Msg) {
		reply := new(dns.Msg).SetReply(query)
		record, err := dns.NewRR("test. 60 IN NS ns1.test.")
		if err != nil {
			t.Error(err)
		}
		reply.Ns = []dns.RR{record}
		_ = w.WriteMsg(reply)
	}).String()
	alien := probetest.NameServer(t, func(w dns.ResponseWriter, query *dns.Msg) {
		reply := new(dns.Msg).SetReply(query)
		record, err := dns.NewRR("other.test. 60 IN A 192.0.2.1")
		if err != nil {
			t.Error(err)
		}
		reply.Answer = []dns.RR{record}
		_ = w.WriteMsg(reply)
	}).String()
	for name, c := range map[string]struct {
		server, host, kind, rcode, reason string
	}{
		"Expected":           {server, "www.test", "MX", "NODATA", ""},
		"ThereIsARecord":     {server, "www.test", "A", "NODATA", `www.test has the A records "192.0.2.1", "192.0.2.2", expected none (NODATA)`},
		"TheNameIsGone":      {server, "gone.test", "MX", "NODATA", "the name server answered NXDOMAIN, expected NODATA"},
		"AReferralIsNone":    {refers, "www.test", "A", "NODATA", "the name server does not know www.test and refers to ns1.test"},
		"AReferral":          {refers, "www.test", "A", "NOERROR", "the name server does not know www.test and refers to ns1.test"},
		"AnAliasAlone":       {server, "alias.test", "MX", "NOERROR", "alias.test has no MX record"},
		"RecordOfOtherNames": {alien, "www.test", "A", "NOERROR", "www.test has no A record"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := w.run(vigil.TypeDNS, object{
				"host": c.host, "record_type": c.kind, "expected_rcode": c.rcode, "resolvers": []string{c.server},
			})
			if seen.Success != (c.reason == "") || !strings.Contains(seen.Error, c.reason) {
				t.Errorf("got %q, want %q", seen.Error, c.reason)
			}
		})
	}
}

// TestDNSText: TXT is compared as the text that it is.
func TestDNSText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, c := range map[string]struct {
		parts    []string
		expected string
		holds    bool
	}{
		"UTF8":           {[]string{"grüße; 100 %"}, "grüße; 100 %", true},
		"Backslash":      {[]string{`a\b "c" \065`}, `a\b "c" \065`, true},
		"Tab":            {[]string{"a\tb"}, "a\tb", true},
		"Parts":          {[]string{"v=DKIM1; p=", "MIGf"}, "v=DKIM1; p=MIGf", true},
		"PartsInQuotes":  {[]string{"v=DKIM1; p=", "MIGf"}, `"v=DKIM1; p=" "MIGf"`, true},
		"InQuotes":       {[]string{"v=spf1 -all"}, `"v=spf1 -all"`, true},
		"QuotesAreText":  {[]string{`"v=spf1 -all"`}, `"v=spf1 -all"`, true},
		"NumbersAreText": {[]string{"1.10"}, "1.1", false},
		"CaseCounts":     {[]string{"Token"}, "token", false},
		"SpacesCount":    {[]string{"a  b"}, "a b", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := probetest.NameServer(t, func(w dns.ResponseWriter, query *dns.Msg) {
				_, _ = w.Write(textReply(t, query, c.parts))
			}).String()
			seen := w.run(vigil.TypeDNS, object{
				"host": "x.test", "record_type": "TXT", "expected_values": []string{c.expected}, "match": "exact", "resolvers": []string{server},
			})
			if seen.Success != c.holds {
				t.Errorf("got %q, %v", seen.Error, seen.Metadata)
			}
		})
	}
}

// textReply packs an answer with a TXT record of the bytes of some strings.
func textReply(tb testing.TB, query *dns.Msg, parts []string) []byte {
	tb.Helper()
	data := ""
	for _, part := range parts {
		data += fmt.Sprintf("%02x%x", len(part), part)
	}
	reply := new(dns.Msg).SetReply(query)
	reply.Answer = []dns.RR{&dns.RFC3597{
		Hdr: dns.RR_Header{
			Name:     query.Question[0].Name,
			Rrtype:   dns.TypeTXT,
			Class:    dns.ClassINET,
			Rdlength: uint16(len(data) / 2),
		},
		Rdata: data,
	}}
	packed, err := reply.Pack()
	if err != nil {
		tb.Error(err)
	}
	return packed
}

// TestDNSNames: what can be asked for is more than the names of hosts.
func TestDNSNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var asked atomic.Value
	server := probetest.NameServer(t, strict(t, func(w dns.ResponseWriter, query *dns.Msg) {
		asked.Store(query.Question[0].Name)
		headerOnly(dns.RcodeNameError)(w, query)
	})).String()
	for host, want := range map[string]string{
		".": ".", "com": "com.", "_dmarc.example.com": "_dmarc.example.com.", "münchen.example": "xn--mnchen-3ya.example.",
		"_dmarc.MÜNCHEN.example": "_dmarc.xn--mnchen-3ya.example.", "faß.example": "xn--fa-hia.example.", "☃.example": "xn--n3h.example.",
		"例え。テスト": "xn--r8jz45g.xn--zckzah.", "r3---sn-abc.example.com": "r3---sn-abc.example.com.", "*.example.com": "*.example.com.",
		"0/25.2.0.192.in-addr.arpa": "0/25.2.0.192.in-addr.arpa.", "WWW.Example.COM.": "www.example.com.",
	} {
		seen := w.run(vigil.TypeDNS, object{"host": host, "expected_rcode": "NXDOMAIN", "resolvers": []string{server}})
		if got := asked.Load(); !seen.Success || got != want {
			t.Errorf("%s: asked for %v, want %s: %s", host, got, want, seen.Error)
		}
	}
	if target := w.must(vigil.TypeDNS, object{"host": ".", "record_type": "NS"}).Target(); target != "." {
		t.Errorf("the root is shown as %q", target)
	}
	named := probetest.NameServer(t, zone(t)).String()
	seen := w.run(vigil.TypeDNS, object{
		"host": "idn.test", "record_type": "MX", "expected_values": []string{"10 mail.münchen.example."}, "resolvers": []string{named},
	})
	if !seen.Success {
		t.Errorf("an internationalized name in a value: %s", seen.Error)
	}
}
