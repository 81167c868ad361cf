// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"encoding/json"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/secret"
)

// CheckTypes is the registry of check types.
type CheckTypes interface {
	Types() []vigil.CheckType
	// Describe says of each type what a form needs to ask for its config.
	Describe() []probe.TypeInfo
	// Config and Metadata return zero values of the structs that document a
	// type's config and the metadata of its results, or nil.
	Config(t vigil.CheckType) any
	Metadata(t vigil.CheckType) any
	// Secrets returns the secret members of a type's config.
	Secrets(t vigil.CheckType) secret.Fields
	// Parse reads a config, or names the member that is wrong.
	Parse(t vigil.CheckType, config json.RawMessage, interval time.Duration) (probe.Probe, error)
}

// ChannelTypes is the registry of channel types.
type ChannelTypes interface {
	Types() []vigil.ChannelType
	// Describe says of each type what a form needs to ask for its config.
	Describe() []notify.TypeInfo
	// Config returns a zero value of the struct that documents a type's config.
	Config(t vigil.ChannelType) any
	// Secrets returns the secret members of a type's config.
	Secrets(t vigil.ChannelType) secret.Fields
	// Format returns the name of the format of a config; empty for a type that has one form.
	Format(t vigil.ChannelType, config json.RawMessage) string
	// Parse reads a config, or names the member that is wrong.
	Parse(t vigil.ChannelType, config json.RawMessage) (notify.Sender, error)
}
