// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

// named answers for the machine, that ns.test is this machine, and for the name server ns.test itself.
func named(t *testing.T) dns.HandlerFunc {
	t.Helper()
	return strict(t, func(w dns.ResponseWriter, query *dns.Msg) {
		reply := new(dns.Msg).SetReply(query)
		header := dns.RR_Header{Name: query.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 60}
		known := map[string]string{"ns.test.": "127.0.0.1", "www.test.": "203.0.113.7"}[strings.ToLower(header.Name)]
		switch {
		case known == "":
			reply.Rcode = dns.RcodeNameError
		case query.Question[0].Qtype == dns.TypeA:
			reply.Answer = []dns.RR{&dns.A{Hdr: header, A: net.ParseIP(known)}}
		}
		_ = w.WriteMsg(reply)
	})
}

// TestDNSNamedServers pins that a name server may be named by its host name, with or without a port.
func TestDNSNamedServers(t *testing.T) {
	t.Parallel()
	server := probetest.NameServer(t, named(t)).String()
	address := netip.MustParseAddrPort(server)
	w := newWorld(t, egress.WithNameServer(address))
	_, port, _ := net.SplitHostPort(server)
	for _, protocol := range []string{"udp", "tcp"} {
		seen := w.run(vigil.TypeDNS, object{
			"host": "www.test", "protocol": protocol, "resolvers": []string{"NS.test.:" + port}, "expected_values": []string{"203.0.113.7"},
		})
		if !seen.Success || seen.Metadata["resolver"] != "ns.test:"+port {
			t.Errorf("%s: %s, %v", protocol, seen.Error, seen.Metadata)
		}
	}
	seen := w.run(vigil.TypeDNS, object{"host": "www.test", "resolvers": []string{"gone.test"}})
	if seen.Success || !strings.Contains(seen.Error, "gone.test") {
		t.Errorf("a name server that does not exist: %q", seen.Error)
	}
}
