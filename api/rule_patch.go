package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/google/uuid"

	"vigil"
	"vigil/api/rest"
)

// maxRuleChannels bounds the channels of a rule.
const maxRuleChannels = 100

// rulePatch is what a request asks of an alert rule. Nil members are left as
// they are.
type rulePatch struct {
	name      *string
	condition vigil.ConditionInput
	channels  []uuid.UUID
	notifyOn  *vigil.NotifyOn
	policy    *vigil.RegionPolicy
	enabled   *bool
	given     map[string]json.RawMessage // the members that the request named
}

// ruleReadOnly are the members that a rule shows and nobody can set.
func ruleReadOnly() []string { return []string{"id", "check_id", "created_at", "updated_at"} }

// readRulePatch reads a body. A new rule needs some members; what its condition
// needs is for vigil.ConditionInput to say.
func readRulePatch(body json.RawMessage, creates bool) (rulePatch, error) {
	m, err := readMembers(body)
	if err != nil {
		return rulePatch{}, err
	}
	given := maps.Clone(m.raw)
	if creates {
		m.require("name", "notification_channel_ids")
	}
	patch := rulePatch{
		given:     given,
		name:      read[string](m, "name", "a string"),
		condition: readCondition(m),
		notifyOn:  read[vigil.NotifyOn](m, "notify_on", "a string"),
		policy:    read[vigil.RegionPolicy](m, "region_policy", "a string"),
		enabled:   read[bool](m, "enabled", "true or false"),
	}
	if patch.notifyOn != nil && !patch.notifyOn.Valid() {
		m.wrong("notify_on", "must be one of unhealthy, healthy, both")
	}
	if patch.policy != nil && !patch.policy.Valid() {
		m.wrong("region_policy", "must be one of any, majority, all")
	}
	if ids := read[[]string](m, "notification_channel_ids", "an array of strings"); ids != nil {
		patch.channels = readChannels(m, *ids)
	}
	if err := m.finish(ruleReadOnly()...); err != nil {
		return rulePatch{}, err
	}
	if patch.name != nil {
		*patch.name, err = rest.CleanName("name", *patch.name)
	}
	return patch, err
}

// readCondition takes every member that can say when a rule fires. A null says
// nothing: it is how a rule shows a form that its condition does not have. What
// is of the wrong kind becomes a value that no form accepts, so that the answer
// names those that are.
func readCondition(m *members) vigil.ConditionInput {
	var in vigil.ConditionInput
	in.Condition, _ = m.take("condition")
	if raw, ok := m.take("condition_type"); ok && string(raw) != "null" {
		in.Type = new(vigil.ConditionType)
		_ = json.Unmarshal(raw, in.Type)
	}
	if raw, ok := m.take("threshold"); ok && string(raw) != "null" {
		in.Threshold = new(float64)
		if json.Unmarshal(raw, in.Threshold) != nil {
			*in.Threshold = math.NaN()
		}
	}
	return in
}

// readChannels reads the ids of channels, each once.
func readChannels(m *members, ids []string) []uuid.UUID {
	const member = "notification_channel_ids"
	switch {
	case len(ids) == 0:
		m.wrong(member, "must have at least 1 item")
	case len(ids) > maxRuleChannels:
		m.wrong(member, fmt.Sprintf("must have at most %d items", maxRuleChannels))
		return nil
	}
	channels := make([]uuid.UUID, 0, len(ids))
	for i, text := range ids {
		id, err := rest.ParseID(text, resourceChannel)
		if err != nil {
			m.wrong(fmt.Sprintf("%s[%d]", member, i), "must be the id of a notification channel")
			continue
		}
		if !slices.Contains(channels, id) {
			channels = append(channels, id)
		}
	}
	return channels
}

// apply writes everything but the condition into a rule.
func (p *rulePatch) apply(rule *vigil.Rule) {
	if p.name != nil {
		rule.Name = *p.name
	}
	if p.channels != nil {
		rule.Channels = p.channels
	}
	if p.notifyOn != nil {
		rule.NotifyOn = *p.notifyOn
	}
	if p.policy != nil {
		rule.Policy = *p.policy
	}
	if p.enabled != nil {
		rule.Enabled = *p.enabled
	}
}
