// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/vigil-monitor/vigil"
)

// maxResolvers is how many name servers a dns check asks.
const maxResolvers = 5

// kumaDNS is up when a record exists and, since 2.0, fulfils the conditions.
func kumaDNS(m kumaRow) (func(*Resource), vigil.CheckType, string) {
	kind := strings.ToUpper(m.line("dns_resolve_type"))
	if kind == "" {
		kind = "A"
	}
	host := m.line("hostname")
	_, reason := kumaHost(host)
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	switch {
	case !slices.Contains([]string{"A", "AAAA", "CNAME", "MX", "NS", "TXT", "SOA", "SRV", "CAA", "PTR"}, kind):
		reason = fmt.Sprintf("dns_resolve_type %q is not a type of records that Vigil looks up", kind)
	case reason == "" && err == nil && kind != "PTR":
		reason = "hostname is an address, which only has PTR records"
	}
	return func(c *Resource) {
		config := Object{{"host", host}, {"record_type", kind}}
		if servers := kumaResolvers(c, m); len(servers) > 0 {
			config.Set("resolvers", servers)
		}
		if values := kumaExpected(c, m, kind); len(values) > 0 {
			config.Set("expected_values", values)
		}
		c.Set("config", config)
	}, vigil.TypeDNS, reason
}

// kumaResolvers returns the name servers of a monitor, with their port when it is not 53.
func kumaResolvers(c *Resource, m kumaRow) []string {
	port := m.whole("port", 0)
	if port != 0 && !validPort(port) {
		c.Lose("port: "+m.text("port"), "the name servers are asked at port 53")
		port = 0
	}
	var servers []string
	for text := range strings.SplitSeq(m.text("dns_resolve_server"), ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		server, reason := kumaHost(text)
		if reason != "" {
			c.Lose("dns_resolve_server: "+text, "%s; the others are asked, or those of the region's machine", reason)
			continue
		}
		if addr, err := netip.ParseAddr(server); err == nil {
			server = addr.String()
		}
		if port != 0 && port != 53 {
			server = net.JoinHostPort(server, strconv.FormatInt(port, 10))
		}
		if slices.Contains(servers, server) {
			continue
		}
		if len(servers) == maxResolvers {
			c.Lose("dns_resolve_server: "+text, "Vigil asks at most %d name servers", maxResolvers)
			continue
		}
		servers = append(servers, server)
	}
	return servers
}

// kumaExpected returns the values of which one must be there, when the conditions say that
// and nothing else.
func kumaExpected(c *Resource, m kumaRow, kind string) []string {
	conditions := m.list("conditions")
	if len(conditions) == 0 {
		return nil
	}
	lose := func() []string {
		c.Lose("conditions: "+m.shown("conditions"), "only records that equal a value are carried over")
		return nil
	}
	if !slices.Contains([]string{"A", "AAAA", "CNAME", "NS", "PTR", "TXT"}, kind) {
		return lose()
	}
	var values []string
	for i, one := range conditions {
		object, _ := one.(map[string]any)
		condition := kumaRow(object)
		value := condition.line("value")
		addr, err := netip.ParseAddr(value)
		isAddress := err == nil && addr.Is4() == (kind == "A")
		switch {
		case condition.line("variable") != "record" || condition.line("operator") != "equals" || value == "",
			i > 0 && condition.line("andOr") != "or",
			(kind == "A" || kind == "AAAA") && !isAddress, len(value) > 1024, len(values) >= 50:
			return lose()
		}
		values = append(values, value)
	}
	return values
}
