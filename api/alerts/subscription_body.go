// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"fmt"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/subscription"
)

// SubscriptionMembers are the members of a subscription that can be written. What else a
// subscription shows may come along and is ignored.
type SubscriptionMembers struct {
	Name      rest.Field[string]                   `json:"name,omitzero" example:"Everything of the shop"`
	ChannelID rest.Field[string]                   `json:"channel_id,omitzero" format:"uuid" doc:"The channel that receives the events." example:"0191d2a7-6c1f-7000-8000-000000000001"`
	Events    rest.Field[[]string]                 `json:"events,omitzero" minItems:"1" maxItems:"30" doc:"Types of events, and patterns: incident.* is all of that noun, * all. incident.acknowledged and incident.updated reach channels by subscription only." example:"[\"incident.*\"]"`
	Selector  rest.Field[subscriptionSelectorView] `json:"selector,omitzero" doc:"Replaces which of these events: those that fulfil each member that is given. Without members all of them."`
	Enabled   rest.Field[bool]                     `json:"enabled,omitzero" doc:"Whether the channel receives events by it. A new subscription is enabled."`

	ManagedBy resource.ManagedMember `json:"managed_by,omitzero" doc:"The program that manages the subscription. Absent keeps it, and null releases the subscription."`

	ID        any `json:"id,omitempty" readOnly:"true" doc:"Ignored."`
	Revision  any `json:"revision,omitempty" readOnly:"true" doc:"Ignored."`
	CreatedAt any `json:"created_at,omitempty" readOnly:"true" doc:"Ignored."`
	UpdatedAt any `json:"updated_at,omitempty" readOnly:"true" doc:"Ignored."`
	Warnings  any `json:"warnings,omitempty" readOnly:"true" doc:"Ignored."`
}

type (
	// SubscriptionCreate is the body that creates a subscription.
	SubscriptionCreate struct{ SubscriptionMembers }
	subscriptionUpdate struct{ SubscriptionMembers }
)

// TransformSchema says what a new subscription needs.
func (SubscriptionCreate) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.Required = []string{"name", "channel_id", "events"}
	nameEvents(s)
	return s
}

// TransformSchema lists the types of events.
func (subscriptionUpdate) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	nameEvents(s)
	return s
}

// nameEvents lists in a schema which texts the events of a subscription can be.
func nameEvents(s *huma.Schema) {
	events := s.Properties["events"]
	if events == nil || events.Items == nil {
		return
	}
	named := *events.Items
	named.Enum = nil
	for _, pattern := range subscription.EventPatterns() {
		named.Enum = append(named.Enum, pattern)
	}
	events.Items = &named
}

// Change applies the members that were given and validates the subscription.
func (m *SubscriptionMembers) Change(s *subscription.Subscription) (err error) {
	if m.Name.Given {
		if s.Name, err = rest.CleanName("name", m.Name.Value); err != nil {
			return err
		}
	}
	if m.ChannelID.Given {
		if s.ChannelID, err = uuid.Parse(m.ChannelID.Value); err != nil {
			return vigil.Invalid("channel_id", "is not a channel of this organization")
		}
	}
	if m.Events.Given {
		s.Events = nil
		for _, pattern := range m.Events.Value { // twice says no more
			if !slices.Contains(s.Events, pattern) {
				s.Events = append(s.Events, pattern)
			}
		}
	}
	if m.Selector.Given {
		if s.Selector, err = m.Selector.Value.selector(); err != nil {
			return err
		}
	}
	if m.Enabled.Given {
		s.Enabled = m.Enabled.Value
	}
	if err := resource.SetManagedBy(&s.ManagedBy, m.ManagedBy); err != nil {
		return err
	}
	return s.Validate()
}

func (v *subscriptionSelectorView) selector() (subscription.Selector, error) {
	selector := subscription.Selector{SeverityMin: v.SeverityMin}
	if len(v.Labels) > 0 {
		selector.Labels = slices.Compact(slices.Sorted(slices.Values(v.Labels)))
	}
	if v.CheckIDs != nil {
		selector.CheckIDs = []uuid.UUID{}
	}
	for i, text := range v.CheckIDs {
		id, err := uuid.Parse(text)
		if err != nil {
			return selector, vigil.Invalid(fmt.Sprintf("selector.check_ids[%d]", i), "is not a check of this organization")
		}
		if !slices.Contains(selector.CheckIDs, id) {
			selector.CheckIDs = append(selector.CheckIDs, id)
		}
	}
	return selector, nil
}
