// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"net"
	"net/netip"
	"strings"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/project"
)

// domainCondition notes how many days the registration of the domain must have left, which a
// check of the domain watches.
func (e *gatusEndpoint) domainCondition(c condition) bool {
	if e.suite != nil || e.domainName() == "" {
		return false
	}
	days, ok := e.certificateDays(c)
	if ok && (e.domain == nil || *e.domain < days) {
		e.domain = &days
	}
	return ok
}

// domainName is the name whose registration Gatus asks for: the host of the target. An address
// has none.
func (e *gatusEndpoint) domainName() string {
	_, rest, ok := strings.Cut(e.url, "://")
	if !ok {
		return ""
	}
	rest = rest[:indexOr(rest, "/?#")]
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	if host, _, err := net.SplitHostPort(rest); err == nil {
		rest = host
	}
	if _, err := netip.ParseAddr(strings.Trim(rest, "[]")); err == nil {
		return ""
	}
	return rest
}

// addDomain adds the check of the domain beside the check of an endpoint, with the same alerts.
func (e *gatusEndpoint) addDomain(check *Resource) {
	if e.domain == nil {
		return
	}
	const suffix, hourly = " domain", "1h"
	added := e.g.Add(project.KindCheck, e.origin+" [DOMAIN_EXPIRATION]", check.Key+suffix)
	name, _ := check.Members.Get("name").(string)
	if !hasVariable(name) {
		name = cut(name, maxName-len(suffix))
	}
	added.Set("name", name+suffix)
	added.Set("type", string(vigil.TypeDomain))
	added.Set("interval", hourly)
	if check.Members.Get("enabled") == false {
		added.Set("enabled", false)
	}
	if labels, ok := check.Members.Get("labels").(Object); ok {
		added.Set("labels", labels)
	}
	config := Object{{"domain", e.g.fileText(e.domainName())}}
	if *e.domain >= 0 {
		config.Set("alert_days_before", *e.domain)
	}
	added.Set("config", config)
	added.lostChannels = check.lostChannels
	for _, rule := range check.Rules {
		condition, _ := rule.Members.Get("condition").(Object)
		if condition.Get("failure_threshold") == nil {
			continue
		}
		copied := added.AddRule(rule.Key)
		copied.Members = append(Object{}, rule.Members...)
		copied.Set("condition", Object{{"failure_threshold", 1}}) // an hour is long enough
	}
}

// certificateBound is how many days before the end of a certificate a rule fires.
type certificateBound struct {
	days      int
	condition string // of Gatus
}

// certificateCondition notes how many days a certificate must have left, for a rule: checks of its
// type do not fail for that.
func (e *gatusEndpoint) certificateCondition(c condition) bool {
	if e.suite != nil {
		return false
	}
	days, ok := e.certificateDays(c)
	if ok && days >= 0 && (e.certificate == nil || e.certificate.days < days) {
		e.certificate = &certificateBound{days, c.text}
	}
	return ok
}

// certificateRule adds a rule for the end of a certificate to a check whose type does not fail for
// it, with the channels of the other rules.
func (g *gatusImport) certificateRule(check *Resource, bound *certificateBound) {
	if bound == nil {
		return
	}
	channels := check.channels()
	if len(channels) == 0 {
		check.Lose("condition "+bound.condition, "it becomes a rule, which needs a channel, and the endpoint has none")
		return
	}
	days := counted(bound.days, "day")
	check.Lose("condition "+bound.condition, "a rule fires %s before the end, and the check stays healthy", days)
	rule := check.AddRule("certificate")
	rule.Set("name", "Certificate ends within "+days)
	rule.Set("condition", Object{{"ssl_days_remaining", bound.days}, {"severity", string(vigil.Warning)}})
	rule.Set("notify_on", "unhealthy")
	rule.Set("channels", channels)
}

// channels are those of all rules of a check.
func (c *Resource) channels() []string {
	var all []string
	for _, rule := range c.Rules {
		keys, _ := rule.Members.Get("channels").([]string)
		all = append(all, keys...)
	}
	return unique(all)
}
