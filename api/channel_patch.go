package api

import (
	"encoding/json"
	"maps"

	"vigil"
	"vigil/api/rest"
)

// channelPatch is what a request asks of a notification channel. Nil members
// are left as they are.
type channelPatch struct {
	name    *string
	kind    *vigil.ChannelType
	config  json.RawMessage
	enabled *bool
	given   map[string]json.RawMessage // the members that the request named
}

// channelReadOnly are the members that a channel shows and nobody can set.
func channelReadOnly() []string {
	return []string{"id", "org_id", "disabled_reason", "created_at", "updated_at"}
}

// readChannelPatch reads a body. A new channel needs some members.
func readChannelPatch(body json.RawMessage, creates bool) (channelPatch, error) {
	m, err := readMembers(body)
	if err != nil {
		return channelPatch{}, err
	}
	given := maps.Clone(m.raw)
	if creates {
		m.require("name", "type", "config")
	}
	patch := channelPatch{
		given:   given,
		name:    read[string](m, "name", "a string"),
		kind:    read[vigil.ChannelType](m, "type", "a string"),
		config:  m.object("config"),
		enabled: read[bool](m, "enabled", "true or false"),
	}
	if err := m.finish(channelReadOnly()...); err != nil {
		return channelPatch{}, err
	}
	if patch.name != nil {
		*patch.name, err = rest.CleanName("name", *patch.name)
	}
	return patch, err
}

// change applies a patch. A config must be usable when it is new and when
// the channel is enabled again; a channel that nothing of this happens to can be
// renamed and disabled whatever has become of its receiver.
func (c *channels) change(channel *vigil.Channel, patch channelPatch) error {
	if patch.kind != nil && *patch.kind != channel.Type {
		return vigil.Invalid("type", "cannot be changed: create another channel")
	}
	if patch.name != nil {
		channel.Name = *patch.name
	}
	judge := false
	if patch.enabled != nil {
		judge = *patch.enabled && !channel.Enabled
		channel.Enabled = *patch.enabled
		channel.DisabledReason = ""
	}
	if patch.config != nil {
		config, err := c.types.Secrets(channel.Type).Keep(patch.config, channel.Config)
		if err != nil {
			return err
		}
		if !sameJSON(config, channel.Config) {
			channel.Config, judge = config, true
		}
	}
	if !judge {
		return nil
	}
	_, err := c.types.Parse(channel.Type, channel.Config)
	return err
}
