// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"net"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil"
)

// anyRecord reports whether every record of a type fulfils a condition, such as that an address of
// IPv4 has three dots. A check demands a record, too.
func anyRecord(c condition, kind string) bool {
	form := map[string]string{"A": "*.*.*.*", "AAAA": "*:*"}[kind]
	return c.source == sourceBody && c.operator == "==" && c.pattern && c.right == form && form != ""
}

func (e *gatusEndpoint) readDNS(dns *members) {
	e.kind = vigil.TypeDNS
	name, kind := strings.TrimSuffix(dns.marked("query-name"), "."), ""
	kind, _ = dns.scalar("query-type")
	dns.finish()
	types := []string{"A", "AAAA", "CNAME", "MX", "NS", "TXT", "SOA", "SRV", "CAA", "PTR"}
	switch {
	case name == "":
		e.missing = "it has no dns.query-name"
		return
	case !slices.Contains(types, kind):
		e.missing = "record type " + kind
		return
	}
	e.config.Set("host", e.g.fileText(name))
	e.config.Set("record_type", kind)
	e.resolver()
	e.client.take("insecure")
	e.ignoreRedirect()
	rcode := false
	e.eachCondition(func(c condition) bool {
		if anyRecord(c, kind) {
			rcode = true
			return true
		}
		rcode = rcode || c.source == sourceRcode
		return e.dnsCondition(c, kind)
	})
	if e.config.Get("expected_rcode") == nil && e.config.Get("expected_values") == nil && !rcode {
		e.lose("conditions", "the check expects the response code NOERROR, which no condition asks for")
	}
}

// resolver sets the name server that an endpoint of DNS asks.
func (e *gatusEndpoint) resolver() {
	server, standard := e.url, "53"
	if scheme, rest, ok := strings.Cut(server, "://"); ok {
		server = strings.TrimSuffix(rest, "/")
		switch scheme {
		case "tls":
			standard = "853"
			e.config.Set("protocol", scheme)
		case "tcp":
			e.config.Set("protocol", scheme)
		case "udp":
		default:
			e.lose("url: "+shown(e.url), "the check asks over UDP, not %s", shown(scheme))
		}
	}
	if marked(server) {
		e.config.Set("resolvers", []string{e.g.fileText(server)})
		return
	}
	host, port, err := net.SplitHostPort(server)
	if err != nil {
		host, port = strings.Trim(server, "[]"), ""
	}
	host, reason := kumaHost(host)
	if reason != "" {
		e.lose("url: "+shown(e.url), "%s; the check asks the name servers of the region", reason)
		e.config.Delete("protocol") // theirs need not speak it
		return
	}
	if port != "" && port != standard {
		host = net.JoinHostPort(host, port)
	}
	e.config.Set("resolvers", []string{host})
}
