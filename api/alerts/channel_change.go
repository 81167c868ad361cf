// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/checks"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/channelhealth"
)

// ChannelMembers are the members of a notification channel that can be written.
// What else a channel shows may come along and is ignored.
type ChannelMembers struct {
	Name      rest.Field[string]            `json:"name,omitzero" example:"On call"`
	Type      rest.Field[vigil.ChannelType] `json:"type,omitzero" doc:"How messages are sent." example:"webhook"`
	Config    rest.Field[rest.Object]       `json:"config,omitzero" doc:"Where messages go; its members depend on the type. A secret that is written as *** is kept."`
	Enabled   rest.Field[bool]              `json:"enabled,omitzero" doc:"Whether messages are sent."`
	Labels    rest.Field[vigil.Labels]      `json:"labels,omitzero" doc:"Replaces all labels: up to 20 names and values. A name has 1 to 63 characters of a-z, 0-9, ., _, / and -; a value has up to 200."`
	Fallback  rest.Nullable[string]         `json:"fallback_channel_id,omitzero" format:"uuid" doc:"The channel that gets, once, what this one cannot deliver: messages whose every attempt failed, and those that are canceled because the receiver answered 410. Its own failures go no further. Absent keeps it, and null leaves the channel without one."`
	ManagedBy resource.ManagedMember        `json:"managed_by,omitzero" doc:"The program that manages the channel. Absent keeps it, and null releases the channel."`

	ID             any `json:"id,omitempty" readOnly:"true" doc:"Ignored."`
	OrgID          any `json:"org_id,omitempty" readOnly:"true" doc:"Ignored."`
	Format         any `json:"effective_format,omitempty" readOnly:"true" doc:"Ignored."`
	DisabledReason any `json:"disabled_reason,omitempty" readOnly:"true" doc:"Ignored."`
	SecretOverlap  any `json:"secret_overlap_ends_at,omitempty" readOnly:"true" doc:"Ignored."`
	Recipients     any `json:"recipients,omitempty" readOnly:"true" doc:"Ignored."`
	Delivery       any `json:"delivery,omitempty" readOnly:"true" doc:"Ignored."`
	LastDrill      any `json:"last_drill,omitempty" readOnly:"true" doc:"Ignored."`
	Revision       any `json:"revision,omitempty" readOnly:"true" doc:"Ignored."`
	CreatedAt      any `json:"created_at,omitempty" readOnly:"true" doc:"Ignored."`
	UpdatedAt      any `json:"updated_at,omitempty" readOnly:"true" doc:"Ignored."`
}

type (
	// NotificationChannelCreate is the body that creates a channel.
	NotificationChannelCreate struct{ ChannelMembers }
	notificationChannelUpdate struct{ ChannelMembers }
)

// TransformSchema says what a new channel needs.
func (NotificationChannelCreate) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.Required = []string{"name", "type", "config"}
	return s
}

// Clean brings the name into the form in which it is stored.
func (m *ChannelMembers) Clean() (err error) {
	if m.Name.Given {
		if m.Name.Value, err = rest.CleanName("name", m.Name.Value); err != nil {
			return err
		}
	}
	return m.Labels.Value.Validate()
}

// Change applies the members that were given. A config must be usable when it is new and when
// the channel is enabled again; a channel that nothing of this happens to can be
// renamed and disabled even when its receiver is gone.
func (c *Channels) Change(channel *vigil.Channel, in *ChannelMembers) error {
	if in.Type.Given && in.Type.Value != channel.Type {
		return vigil.Invalid("type", "cannot be changed: create another channel")
	}
	if in.Name.Given {
		channel.Name = in.Name.Value
	}
	if in.Labels.Given {
		channel.Labels = in.Labels.Value
	}
	if err := resource.SetManagedBy(&channel.ManagedBy, in.ManagedBy); err != nil {
		return err
	}
	if err := setFallback(channel, in.Fallback); err != nil {
		return err
	}
	parse := false
	if in.Enabled.Given {
		parse = in.Enabled.Value && !channel.Enabled
		channel.Enabled = in.Enabled.Value
		channel.DisabledReason = ""
	}
	if in.Config.Given {
		config, err := c.Types.Secrets(channel.Type).Keep(json.RawMessage(in.Config.Value), channel.Config)
		if err != nil {
			return err
		}
		if !checks.SameJSON(config, channel.Config) {
			channel.Config, parse = config, true
		}
	}
	if !parse {
		return nil
	}
	_, err := c.Types.Parse(channel.Type, channel.Config)
	return err
}

// setFallback applies the member, if it was given. Whether there is such a channel is for the
// store to say.
func setFallback(channel *vigil.Channel, in rest.Nullable[string]) error {
	if !in.Given {
		return nil
	}
	channel.Fallback = uuid.Nil
	if in.Value == nil {
		return nil
	}
	id, err := uuid.Parse(*in.Value)
	if err != nil {
		return vigil.Invalid(channelhealth.MemberFallback, "must be the id of a notification channel")
	}
	if id == channel.ID {
		return channelhealth.FallbackCircle()
	}
	channel.Fallback = id
	return nil
}
