// SPDX-License-Identifier: Apache-2.0

package web

import (
	"github.com/vigil-monitor/vigil/client"
)

// ruleCard is a rule as a sentence.
type ruleCard struct {
	ID, Name string
	Mark     mark
	State    string // firing, quiet, off
	Sentence []sentencePart
	Edit     string
	Check    *link // where the list is of several checks
}

// sentencePart is a part of a sentence: a choice of the rule is bold, a channel is a link.
type sentencePart struct {
	Text, Href string
	Bold       bool
}

// ruleCards writes rules as sentences. firing has the ids of the rules that fire; nil when
// that is not known.
func ruleCards(rules []client.AlertRule, channels map[string]string, regions int, firing map[string]bool) []ruleCard {
	cards := make([]ruleCard, len(rules))
	for k := range rules {
		rule := &rules[k]
		card := ruleCard{
			ID: rule.Id.String(), Name: rule.Name, Edit: rulePath(rule.CheckId, rule.Id), Sentence: ruleSentence(rule, channels, regions),
			Mark: newMark("unknown", ""), State: "quiet",
		}
		switch {
		case !rule.Enabled:
			card.Mark, card.State = newMark("paused", ""), "off"
		case firing[card.ID]:
			card.Mark, card.State = newMark(stateOfSeverity(rule.Condition.Severity), ""), "firing"
		case firing == nil:
			card.State = ""
		}
		cards[k] = card
	}
	return cards
}

func stateOfSeverity(severity *client.ConditionSeverity) string {
	if severity != nil && *severity != client.ConditionSeverityCritical {
		return "warn"
	}
	return "down"
}

// ruleSentence says what a rule does. A check of one region needs no word about regions.
func ruleSentence(rule *client.AlertRule, channels map[string]string, regions int) []sentencePart {
	var parts []sentencePart
	say := func(text string) { parts = append(parts, sentencePart{Text: text}) }
	for i, when := range conditions(&rule.Condition) {
		switch {
		case i > 0:
			say(", or " + when[0])
		default:
			say(capital(when[0]))
		}
		parts = append(parts, sentencePart{Text: when[1], Bold: true})
		say(when[2])
	}
	if regions != 1 {
		say(" in ")
		parts = append(parts, sentencePart{Text: policyWord(rule.RegionPolicy), Bold: true})
		say(policyRest(rule.RegionPolicy))
	}
	switch rule.NotifyOn {
	case client.AlertRuleNotifyOnHealthy:
		say(", and it resolves, notify ")
	default:
		say(", notify ")
	}
	for i, id := range rule.NotificationChannelIds {
		switch last := i == len(rule.NotificationChannelIds)-1; {
		case i > 0 && last:
			say(" and ")
		case i > 0:
			say(", ")
		}
		name := channels[id]
		if name == "" {
			name = "a channel"
		}
		parts = append(parts, sentencePart{Text: name, Href: "/app/channels/" + id})
	}
	if rule.NotifyOn == client.AlertRuleNotifyOnBoth {
		say("; again when it resolves")
	}
	say(".")
	if n := rule.Condition.RecoveryThreshold; n != nil && *n > 1 {
		say(" It resolves after ")
		parts = append(parts, sentencePart{Text: counted(*n, "good result"), Bold: true})
		say(" in a row.")
	}
	return parts
}

func policyWord(p client.AlertRuleRegionPolicy) string {
	switch p {
	case client.AlertRuleRegionPolicyMajority:
		return "more than half"
	case client.AlertRuleRegionPolicyAll:
		return "all"
	case client.AlertRuleRegionPolicyAny:
	}
	return "any"
}

func policyRest(p client.AlertRuleRegionPolicy) string {
	switch p {
	case client.AlertRuleRegionPolicyAll:
		return " regions"
	case client.AlertRuleRegionPolicyMajority:
		return " of the regions"
	case client.AlertRuleRegionPolicyAny:
	}
	return " region"
}

// channelNames returns the names of the channels by their id.
func (r *request) channelNames() (map[string]string, error) {
	names := make(map[string]string)
	limit := int64(100)
	var cursor *string
	for {
		list, err := r.api.ListNotificationChannelsWithResponse(r.Context(),
			&client.ListNotificationChannelsParams{Limit: &limit, Cursor: cursor})
		if err != nil {
			return nil, err
		}
		for k := range list.JSON200.Data {
			names[list.JSON200.Data[k].Id.String()] = list.JSON200.Data[k].Name
		}
		if cursor = list.JSON200.Meta.NextCursor; cursor == nil {
			return names, nil
		}
	}
}
