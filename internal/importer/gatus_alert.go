// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"fmt"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/project"
)

// What Gatus takes for thresholds that are absent.
const (
	gatusFailureThreshold = 3
	gatusSuccessThreshold = 2
)

// gatusAlert is an alert with the defaults of its provider.
type gatusAlert struct {
	kind             string
	enabled          *bool
	failures         int
	successes        int
	reminder         time.Duration
	description      string // with marks
	sendOnResolved   *bool
	providerOverride *value
}

func readAlert(m *members) gatusAlert {
	a := gatusAlert{enabled: m.truth("enabled"), description: m.marked("description"), sendOnResolved: m.truth("send-on-resolved")}
	a.kind, _ = m.scalar("type")
	a.failures, _ = m.integer("failure-threshold")
	a.successes, _ = m.integer("success-threshold")
	a.reminder, _ = m.duration("minimum-reminder-interval")
	a.providerOverride = m.take("provider-override")
	m.finish()
	return a
}

// merge fills what an alert leaves out with the default of its provider.
func (a *gatusAlert) merge(standard *gatusAlert) {
	if standard == nil {
		return
	}
	if a.enabled == nil {
		a.enabled = standard.enabled
	}
	if a.sendOnResolved == nil {
		a.sendOnResolved = standard.sendOnResolved
	}
	if a.description == "" {
		a.description = standard.description
	}
	if a.failures == 0 {
		a.failures = standard.failures
	}
	if a.successes == 0 {
		a.successes = standard.successes
	}
	if a.reminder == 0 {
		a.reminder = standard.reminder
	}
}

// alerts adds a rule for each alert of an endpoint.
func (g *gatusImport) alerts(check *Resource, alerts []*value, group string) {
	for _, one := range alerts {
		g.alert(check, newMembers(one, "alerts.", check.Lose), group, true)
	}
}

// alert adds the rule of an alert. Gatus fills in the default alert of a provider for
// endpoints, and not for those of a suite.
func (g *gatusImport) alert(check *Resource, m *members, group string, defaults bool) {
	rule := &Resource{Kind: project.KindRule, result: g.Result}
	m.lose = rule.Lose
	a := readAlert(m)
	provider := g.providers[a.kind]
	if provider == nil {
		g.loseAlert(check, &a)
		return
	}
	if defaults {
		a.merge(provider.alert)
	}
	channel := provider.channel(group, a.providerOverride, check)
	if channel == nil {
		if a.on() {
			check.miss(a.kind)
		}
		return
	}
	if a.failures <= 0 {
		a.failures = gatusFailureThreshold
	}
	if a.successes <= 0 {
		a.successes = gatusSuccessThreshold
	}
	rule.setAlert(g, &a)
	if check.hasRule(rule, channel.Key) {
		return // two endpoints of a suite have the same alert
	}
	added := check.AddRule(a.kind)
	added.Members, added.Losses = rule.Members, rule.Losses
	added.Set("channels", []string{channel.Key})
}

// setAlert sets the members of the rule of an alert, besides its channels.
func (c *Resource) setAlert(g *gatusImport, a *gatusAlert) {
	name := fmt.Sprintf("%d failures in a row", a.failures)
	if a.failures == 1 {
		name = "A failure"
	}
	if a.description != "" {
		name = a.description
	}
	c.Set("name", g.name(name, name))
	if a.enabled != nil && !*a.enabled {
		c.Set("enabled", false)
	}
	failures := min(a.failures, vigil.MaxFailureThreshold)
	if failures != a.failures {
		c.Lose(fmt.Sprintf("failure-threshold: %d", a.failures), "a rule waits for at most %d failures", failures)
	}
	condition := Object{{"failure_threshold", failures}}
	if a.successes > 1 {
		successes := min(a.successes, vigil.MaxRecoveryThreshold)
		if successes != a.successes {
			c.Lose(fmt.Sprintf("success-threshold: %d", a.successes), "a rule waits for at most %d successes", successes)
		}
		condition.Set(vigil.KeyRecoveryThreshold, successes)
	}
	c.Set("condition", condition)
	notify := "unhealthy"
	if a.sendOnResolved != nil && *a.sendOnResolved {
		notify = "both"
	}
	c.Set("notify_on", notify)
	if a.reminder > 0 {
		c.Lose("minimum-reminder-interval: "+a.reminder.String(), "Vigil sends no reminders")
	}
}

// hasRule reports whether a check has a rule like another one, with the same channel.
func (c *Resource) hasRule(rule *Resource, channel string) bool {
	for _, one := range c.Rules {
		if channels, _ := one.Members.Get("channels").([]string); len(channels) == 1 && channels[0] == channel {
			other := *one
			other.Members = append(Object{}, one.Members...)
			other.Members.Delete("channels")
			if fmt.Sprint(other.Members) == fmt.Sprint(rule.Members) {
				return true
			}
		}
	}
	return false
}

// on reports whether Gatus sends the alert.
func (a *gatusAlert) on() bool { return a.enabled == nil || *a.enabled }

// loseAlert notes an alert whose provider makes no channel. The provider is reported itself; without
// one, Gatus sends nothing either.
func (g *gatusImport) loseAlert(check *Resource, a *gatusAlert) {
	given := g.root.get("alerting").get(a.kind)
	switch {
	case a.kind == "":
		check.Lose("alert", "its type is not known; it has no rule")
	case given == nil || given.kind == nullKind:
		g.LoseSetting("alerts of the type "+a.kind, "alerting has no provider %s, so that Gatus sends none of them; they have no rule", a.kind)
	case a.on():
		check.miss(a.kind)
	}
}

// slowBound is a bound of the response time that becomes a rule.
type slowBound struct {
	ms        int
	condition string // of Gatus
}

// slowRules adds a rule for each bound of the response time, with the channels of the other
// rules.
func (g *gatusImport) slowRules(check *Resource, slow []slowBound) {
	channels := check.channels()
	for _, bound := range slow {
		if len(channels) == 0 {
			check.Lose("condition "+bound.condition, "it becomes a rule, which needs a channel, and the endpoint has none")
			continue
		}
		check.Lose("condition "+bound.condition, "a rule fires above %d ms, and the check stays healthy", bound.ms)
		rule := check.AddRule("slow")
		rule.Set("name", fmt.Sprintf("Slower than %d ms", bound.ms))
		rule.Set("condition", Object{{"response_time_ms", bound.ms}})
		rule.Set("notify_on", "unhealthy")
		rule.Set("channels", channels)
	}
}

func unique(texts []string) []string {
	var all []string
	seen := map[string]bool{}
	for _, text := range texts {
		if !seen[text] {
			seen[text] = true
			all = append(all, text)
		}
	}
	return all
}
