// SPDX-License-Identifier: Apache-2.0

package web

import (
	"strings"

	"github.com/vigil-monitor/vigil/client"
)

// severityNow is the most severe one of the rules that fire in an incident now; the most severe
// one that fired when it is over.
func severityNow(i *client.Incident) string { return severityOf(i.Rules, string(i.WorstSeverity)) }

// severityOf is the most severe one of the rules that fire now; otherwise when none does.
func severityOf(rules []client.FiredRule, otherwise string) string {
	order := []string{"critical", "warning", "info"}
	for _, severity := range order {
		for _, rule := range rules {
			if rule.Until == nil && string(rule.Severity) == severity {
				return severity
			}
		}
	}
	return otherwise
}

// alsoFiring names the rules that fire besides the one that opened the incident; empty when
// none does.
func alsoFiring(i *client.Incident) string {
	var names []string
	for _, rule := range i.Rules {
		if rule.Until == nil && rule.Id != i.AlertRuleId {
			names = append(names, rule.Name+" ("+string(rule.Severity)+")")
		}
	}
	return strings.Join(names, ", ")
}

// summaryOf is what an incident page says first: why it opened, and what is wrong besides.
func summaryOf(i *client.Incident) string {
	text := capital(i.Description)
	if others := alsoFiring(i); others != "" {
		text += " Also firing: " + others + "."
	}
	return text
}

// ruleFacts list the rules that fired in an incident, where there is more than one.
func ruleFacts(r *request, i *client.Incident) []fact {
	if len(i.Rules) < 2 {
		return nil
	}
	var facts []fact
	for _, rule := range i.Rules {
		text := rule.Name + ", " + string(rule.Severity) + ": fires since " + r.stamp(rule.Since).Text
		if rule.Until != nil {
			text = rule.Name + ", " + string(rule.Severity) + ": fired for " + spanExact(rule.Until.Sub(rule.Since))
		}
		facts = append(facts, fact{Name: "Fired", Value: text, Link: rulePath(i.CheckId, rule.Id)})
	}
	return facts
}
