// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/project"
)

// kumaDomain is a registered domain that monitors watch beside what they check. Kuma warns of its end
// once, however many monitors name it.
type kumaDomain struct {
	name          string
	notifications []int64
	active        bool // at least one of the monitors is not paused
}

// kumaDomainMembers are the members that hold the domain, by the types of monitors that look at one
// (src/util.ts of Uptime Kuma 2.5).
func kumaDomainMembers() map[string]string {
	return map[string]string{
		"http": "url", "keyword": "url", "json-query": "url", "real-browser": "url", "websocket-upgrade": "url", "grpc-keyword": "grpc_url",
		"port": "hostname", "ping": "hostname", "dns": "hostname", "smtp": "hostname", "snmp": "hostname", "gamedig": "hostname",
		"steam": "hostname", "mqtt": "hostname", "radius": "hostname", "tailscale-ping": "hostname", "sip-options": "hostname",
	}
}

// registered returns the domain of a monitor's target that somebody has registered; empty: none, such
// as for an address, a name without a public suffix, or one below a suffix that is private.
func registered(target string) string {
	host, _ := splitAddress(target, 1)
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if _, err := netip.ParseAddr(host); err == nil {
		return ""
	}
	if _, reason := kumaHost(host); reason != "" {
		return ""
	}
	suffix, sold := publicsuffix.PublicSuffix(host)
	if !sold || suffix == host {
		return ""
	}
	name, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		return ""
	}
	return name
}

// noteDomain notes the domain of a monitor whose end Kuma warns of. Without notifications it sends no
// warning, and so nothing is lost.
func (k *kumaImport) noteDomain(m kumaRow) {
	member := kumaDomainMembers()[m.line("type")]
	notifications := m.ids(kumaNotifications)
	if !m.flag("domain_expiry_notification", false) || member == "" || len(notifications) == 0 {
		return
	}
	name := registered(m.line(member))
	if name == "" {
		return
	}
	i := slices.IndexFunc(k.domains, func(d *kumaDomain) bool { return d.name == name })
	if i < 0 {
		i, k.domains = len(k.domains), append(k.domains, &kumaDomain{name: name})
	}
	domain := k.domains[i]
	domain.active = domain.active || k.active(m)
	for _, id := range notifications {
		if !slices.Contains(domain.notifications, id) {
			domain.notifications = append(domain.notifications, id)
		}
	}
}

// addDomains adds a check for each domain that was noted.
func (k *kumaImport) addDomains() {
	const hourly = "1h"
	days, repeats := k.expiryDays("domainExpiryNotifyDays")
	for _, domain := range k.domains {
		c := k.Add(project.KindCheck, domain.name+" (domain_expiry_notification)", domain.name+" domain")
		c.Set("name", Name(domain.name+" domain", "domain"))
		c.Set("type", string(vigil.TypeDomain))
		if !domain.active {
			c.Set("enabled", false)
		}
		c.Set("interval", hourly)
		c.Set("config", Object{{"domain", domain.name}, {"alert_days_before", days}})
		if repeats != "" && repeats != kumaStandardRepeats {
			c.Lose("domainExpiryNotifyDays: "+repeats+" days", "one incident opens %d days before the end, and no other", days)
		}
		k.eachChannel(c, kumaRow{kumaNotifications: domain.notifications}, func(channel *kumaChannel) {
			rule := c.AddRule("expires-" + channel.resource.Key)
			rule.Set("name", Name("Domain expires: "+channel.name, "Domain expires"))
			rule.Set("condition", Object{{"failure_threshold", 1}, {"severity", string(vigil.Warning)}})
			rule.Set("notify_on", string(channel.notifyOn))
			rule.Set("channels", []string{channel.resource.Key})
		})
	}
}
