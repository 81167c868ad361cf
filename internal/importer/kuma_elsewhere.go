// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil"
)

// with returns a copy of a monitor with other members.
func (r kumaRow) with(members kumaRow) kumaRow {
	changed := maps.Clone(r)
	maps.Copy(changed, members)
	return changed
}

// withoutTimeout makes a config without the timeout: types that do not use Kuma's have Vigil's own.
func withoutTimeout(set func(*Resource)) func(*Resource) {
	return func(c *Resource) {
		set(c)
		if config, ok := c.Members.Get("config").(Object); ok {
			config.Delete("timeout_seconds")
			c.Set("config", config)
		}
	}
}

// anyTimeout is one that fits every interval of Kuma. It is not carried over.
const anyTimeout = 10

// kumaGlobalping is for monitors that measure from a machine of Globalping. Vigil measures from its
// regions: where the monitor names a place, the check is disabled.
func kumaGlobalping(m kumaRow) (func(*Resource), vigil.CheckType, string) {
	var set func(*Resource)
	var kind vigil.CheckType
	var reason string
	switch subtype := m.line("subtype"); subtype {
	case "http":
		set, kind, reason = globalpingHTTP(m)
	case "dns":
		set, kind, reason = globalpingDNS(m)
	case "ping", "":
		set, kind, reason = globalpingPing(m)
	default:
		return nil, "", "type globalping: subtype " + subtype + " is none of http, dns and ping"
	}
	return func(c *Resource) {
		set(c)
		c.loseLocation("type: globalping, location: "+cmpText(m.line("location"), anywhere), m.line("location"))
	}, kind, reason
}

// anywhere is the place of Globalping that stands for all.
const anywhere = "world"

// loseLocation notes the place from which Globalping measures. Another one than the whole world is
// the way to the target.
func (c *Resource) loseLocation(what, place string) {
	c.Lose(what, "the check runs in the regions of Vigil")
	if place != "" && !strings.EqualFold(place, anywhere) {
		c.disable()
	}
}

// globalpingHTTP sends no body and follows no redirect.
func globalpingHTTP(m kumaRow) (func(*Resource), vigil.CheckType, string) {
	kind := "http"
	switch {
	case m.text("keyword") != "":
		kind = "keyword"
	case m.text("expected_value") != "":
		kind = "json-query"
	}
	changed := kumaRow{"type": kind, "body": "", "maxredirects": int64(0), "timeout": int64(anyTimeout)}
	if !slices.Contains([]string{"basic", "bearer", "oauth2-cc"}, m.line("auth_method")) {
		changed["auth_method"] = ""
	}
	if address, err := url.Parse(m.line("url")); err == nil {
		address.User = nil // Globalping gets the host only
		changed["url"] = address.String()
	}
	set, checkType, reason := kumaHTTP(m.with(changed))
	if reason != "" {
		return nil, "", reason
	}
	return func(c *Resource) {
		withoutTimeout(set)(c)
		if server := m.line("dns_resolve_server"); server != "" {
			c.Lose("dns_resolve_server: "+server, "the name servers of the region find the host of the target")
		}
		if m.flag("cache_bust", false) {
			c.Lose("cache_bust: "+m.shown("cache_bust"), "the address is requested as it is")
		}
		if protocol := m.line("protocol"); protocol == "HTTP2" {
			c.Lose("protocol: HTTP2", "a check uses HTTP/2 where the server offers it, and HTTP/1.1 otherwise")
		}
	}, checkType, ""
}

func globalpingDNS(m kumaRow) (func(*Resource), vigil.CheckType, string) {
	set, kind, reason := kumaDNS(m.with(kumaRow{"conditions": nil}))
	return func(c *Resource) {
		set(c)
		if config, ok := c.Members.Get("config").(Object); ok && m.line("protocol") == "TCP" {
			config.Set("protocol", "tcp")
			c.Set("config", config)
		}
		if keyword := m.line("keyword"); keyword != "" {
			c.Lose("keyword: "+keyword, "a check compares records with values, not with an expression")
		}
		c.loseFamily(m)
	}, kind, reason
}

// globalpingPing sends echo requests, or connects to a port.
func globalpingPing(m kumaRow) (func(*Resource), vigil.CheckType, string) {
	if m.line("protocol") == "TCP" {
		const http = 80
		set, kind, reason := kumaPort(m.with(kumaRow{"port": cmp.Or(m.whole("port", 0), http)}))
		return func(c *Resource) {
			set(c)
			c.loseFamily(m)
		}, kind, reason
	}
	bare := m.with(nil)
	delete(bare, "ping_per_request_timeout")
	set, kind, reason := kumaPing(bare)
	return func(c *Resource) {
		set(c)
		config, _ := c.Members.Get("config").(Object)
		if family := strings.ToLower(m.line("ip_family")); family == "ipv4" || family == "ipv6" {
			config.Set("ip_version", strings.TrimPrefix(family, "ipv"))
			c.Set("config", config)
		}
	}, kind, reason
}

// loseFamily notes the family of addresses, for types that have no such member.
func (c *Resource) loseFamily(m kumaRow) {
	if family := m.line("ip_family"); family != "" {
		c.Lose("ip_family: "+family, "a check of this type takes the addresses of both families")
	}
}

// kumaTailscale pings a machine of a private network of Tailscale, which Vigil is not in.
func kumaTailscale(m kumaRow) (func(*Resource), vigil.CheckType, string) {
	bare := m.with(kumaRow{"ping_count": int64(1)})
	delete(bare, "ping_per_request_timeout")
	set, kind, reason := kumaPing(bare)
	return func(c *Resource) {
		set(c)
		c.Lose("type tailscale-ping", "Vigil sends echo requests, and not through Tailscale")
		c.disable()
	}, kind, reason
}

// kumaBrowser requests the page that a browser opens. What the browser makes of it is lost.
func kumaBrowser(m kumaRow) (func(*Resource), vigil.CheckType, string) {
	set, kind, reason := kumaHTTP(kumaRow{
		"type": "http", "name": m["name"], "url": m["url"], "interval": m["interval"], "timeout": int64(anyTimeout),
		"accepted_statuscodes_json": []any{"200-399"},
	})
	if reason != "" {
		return nil, "", reason
	}
	return func(c *Resource) {
		withoutTimeout(set)(c)
		c.Lose("type real-browser", "Vigil requests the page, and does not open it in a browser")
		if m.id("remote_browser") != 0 {
			c.Lose("remote_browser: "+m.shown("remote_browser"), "the check runs in the regions of Vigil")
			c.disable()
		}
	}, kind, ""
}
