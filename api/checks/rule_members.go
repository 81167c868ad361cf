// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
)

// RuleMembers are the members of an alert rule that can be written. What else a
// rule shows may come along and is ignored. The members that say when it fires
// have several forms, which vigil.ConditionInput reads. null counts as absent in
// condition_type and threshold, since a rule shows null there when the pair does not
// say its condition.
type RuleMembers struct {
	Name                   rest.Field[string]             `json:"name,omitzero" example:"Three failures in a row"`
	Condition              ConditionMember                `json:"condition,omitempty"`
	ConditionType          json.RawMessage                `json:"condition_type,omitempty"`
	Threshold              json.RawMessage                `json:"threshold,omitempty"`
	NotificationChannelIDs rest.Field[ChannelIDs]         `json:"notification_channel_ids,omitzero" minItems:"1" maxItems:"100" doc:"The channels that are notified."`
	NotifyOn               rest.Field[vigil.NotifyOn]     `json:"notify_on,omitzero" enum:"unhealthy,healthy,both" doc:"What the channels are notified of: unhealthy when an incident opens, healthy when it ends, however it does, both of both."`
	NotifyIfOpen           rest.Field[bool]               `json:"notify_if_open,omitzero" doc:"Whether the rule, when it begins to fire while an incident of the check is open, sends the opening of that incident to those of its channels that have had no message of it. False when it is left out of a new rule: such a rule sends no message then."`
	Unobserved             rest.Field[vigil.OnUnobserved] `json:"unobserved,omitzero" enum:"ignore,notify" doc:"Whether the channels are notified when the check is not probed."`
	RegionPolicy           rest.Field[vigil.RegionPolicy] `json:"region_policy,omitzero" enum:"any,majority,all" doc:"In how many of the regions that have a vote the rule must fire: one, more than half, or all."`
	Enabled                rest.Field[bool]               `json:"enabled,omitzero"`
	Labels                 rest.Field[vigil.Labels]       `json:"labels,omitzero" doc:"Replaces all labels: up to 20 names and values. A name has 1 to 63 characters of a-z, 0-9, ., _, / and -; a value has up to 200."`
	ManagedBy              resource.ManagedMember         `json:"managed_by,omitzero" doc:"The program that manages the rule. Absent keeps it, and null releases the rule."`

	ID        any `json:"id,omitempty" readOnly:"true" doc:"Ignored."`
	CheckID   any `json:"check_id,omitempty" readOnly:"true" doc:"Ignored."`
	Revision  any `json:"revision,omitempty" readOnly:"true" doc:"Ignored."`
	CreatedAt any `json:"created_at,omitempty" readOnly:"true" doc:"Ignored."`
	UpdatedAt any `json:"updated_at,omitempty" readOnly:"true" doc:"Ignored."`
	Warnings  any `json:"warnings,omitempty" readOnly:"true" doc:"Ignored."`
}

type (
	// AlertRuleCreate is the body that creates a rule.
	AlertRuleCreate struct{ RuleMembers }
	// AlertRuleUpdate is the body that changes one.
	AlertRuleUpdate struct{ RuleMembers }
)

// TransformSchema says what a new rule needs; what its condition needs is for
// vigil.ConditionInput to say.
func (AlertRuleCreate) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.Required = []string{"name", "notification_channel_ids"}
	return s
}

// ConditionMember is the member condition, as it was sent: in one of its forms, and not null.
type ConditionMember json.RawMessage

// UnmarshalJSON keeps the text.
func (c *ConditionMember) UnmarshalJSON(data []byte) error {
	*c = bytes.Clone(data)
	return nil
}

// Schema describes any value: what is wrong with one is for vigil.ConditionInput to say.
func (ConditionMember) Schema(huma.Registry) *huma.Schema { return &huma.Schema{} }

// Resolve reports null, for Huma.
func (c *ConditionMember) Resolve(_ huma.Context, prefix *huma.PathBuffer) []error {
	if string(*c) == "null" {
		return []error{&huma.ErrorDetail{Location: prefix.String(), Message: rest.NotNull}}
	}
	return nil
}

// ChannelIDs are the ids of notification channels as they were sent.
type ChannelIDs []string

// Resolve reports texts that cannot be ids, for Huma.
func (c *ChannelIDs) Resolve(_ huma.Context, prefix *huma.PathBuffer) []error {
	var errs []error
	path, _ := strings.CutSuffix(prefix.String(), ".value") // that of the member which has them
	for i, text := range *c {
		if _, err := rest.ParseID(text, "notification channel"); err != nil {
			errs = append(errs, &huma.ErrorDetail{
				Location: fmt.Sprintf("%s[%d]", path, i), Message: "must be the id of a notification channel",
			})
		}
	}
	return errs
}

// Clean brings the name into the form in which it is stored. The error is about all members but the
// condition.
func (m *RuleMembers) Clean() error {
	var name, managed error
	if m.Name.Given {
		m.Name.Value, name = rest.CleanName("name", m.Name.Value)
	}
	_, managed = resource.ReadManagedBy(m.ManagedBy)
	return rest.Together(name, managed, m.Labels.Value.Validate())
}

// NewRule makes the rule that the body describes, of a check; its error is about all members.
func (m *AlertRuleCreate) NewRule(org, check uuid.UUID) (rule vigil.Rule, err error) {
	rule = vigil.Rule{OrgID: org, CheckID: check, NotifyOn: vigil.NotifyUnhealthy, Policy: vigil.AnyRegion, Enabled: true}
	wrong := m.Clean()
	rule.Condition, err = m.ResolveCondition(nil)
	if err := rest.Together(wrong, err); err != nil {
		return rule, err
	}
	m.Apply(&rule)
	rule.ID, err = uuid.NewV7()
	return rule, err
}

// ResolveCondition reads the condition, as vigil.ConditionInput.Resolve does. The error is about all of
// its keys that are wrong.
func (m *RuleMembers) ResolveCondition(stored *vigil.Condition) (vigil.Condition, error) {
	in := m.ConditionInput()
	condition, err := in.Resolve(stored)
	var keys map[string]json.RawMessage
	if err == nil || json.Unmarshal(in.Condition, &keys) != nil {
		return condition, err
	}
	wrong := []error{err}
	for range len(keys) {
		key, ok := strings.CutPrefix(memberOf(wrong[len(wrong)-1]), "condition.")
		if key, _, _ = strings.Cut(key, "."); !ok || keys[key] == nil {
			break
		}
		delete(keys, key)
		if in.Condition, err = json.Marshal(keys); err != nil {
			break
		}
		if _, err := in.Resolve(stored); err != nil {
			wrong = append(wrong, err)
		}
	}
	return condition, rest.Together(wrong...)
}

func memberOf(err error) string {
	known, ok := errors.AsType[*vigil.Error](err)
	if !ok {
		return ""
	}
	member, _ := known.Details["member"].(string)
	return member
}

// ConditionInput reads every member that can say when a rule fires. What is of the
// wrong type becomes a value that no form accepts, so that the answer names those
// that are accepted.
func (m *RuleMembers) ConditionInput() vigil.ConditionInput {
	in := vigil.ConditionInput{Condition: json.RawMessage(m.Condition)}
	if given(m.ConditionType) {
		in.Type = new(vigil.ConditionType)
		_ = json.Unmarshal(m.ConditionType, in.Type)
	}
	if given(m.Threshold) {
		in.Threshold = new(float64)
		if json.Unmarshal(m.Threshold, in.Threshold) != nil {
			*in.Threshold = math.NaN()
		}
	}
	return in
}

func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// channels returns the ids of the channels, each once.
func (m *RuleMembers) channels() []uuid.UUID {
	ids := make([]uuid.UUID, 0, len(m.NotificationChannelIDs.Value))
	for _, text := range m.NotificationChannelIDs.Value {
		if id, err := rest.ParseID(text, "notification channel"); err == nil && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Apply writes everything but the condition into a rule.
func (m *RuleMembers) Apply(rule *vigil.Rule) {
	if m.Name.Given {
		rule.Name = m.Name.Value
	}
	if m.NotificationChannelIDs.Given {
		rule.Channels = m.channels()
	}
	if m.NotifyOn.Given {
		rule.NotifyOn = m.NotifyOn.Value
	}
	if m.NotifyIfOpen.Given {
		rule.NotifyIfOpen = m.NotifyIfOpen.Value
	}
	if m.Unobserved.Given {
		rule.Unobserved = m.Unobserved.Value
	}
	if m.RegionPolicy.Given {
		rule.Policy = m.RegionPolicy.Value
	}
	if m.Enabled.Given {
		rule.Enabled = m.Enabled.Value
	}
	if m.Labels.Given {
		rule.Labels = m.Labels.Value
	}
	_ = resource.SetManagedBy(&rule.ManagedBy, m.ManagedBy) // clean has reported an error
}
