// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"encoding/json"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/manifest"
)

// Source is a program whose configuration can be imported.
type Source struct {
	Name    string // of the subcommand, such as gatus
	Product string // as its users write it, such as Gatus
	// Argument names what the subcommand reads, such as "config.yaml|DIRECTORY".
	Argument string
	Short    string // help on one line
	Long     string // help: what is read, and how it is found
	Example  string // of the command line
	// Switches are flags of the subcommand that are on or off.
	Switches []Switch
	// Read reads the file or the directory at the path. The error names what keeps the whole
	// configuration from being read; what concerns one resource is a loss of the result.
	Read func(path string, o Options) (*Result, error)
}

// Switch is a flag of a source.
type Switch struct{ Name, Help string }

// Options say how a configuration is imported.
type Options struct {
	// Project is the name of the project in the files.
	Project string
	// Now is the time of the import. Repeating maintenance windows start on its day.
	Now time.Time
	// MinInterval is the shortest interval that checks get; the tier of the organization on the
	// server says what that may be. 0: one second.
	MinInterval time.Duration
	// Switches are the names of the switches that are on.
	Switches map[string]bool
	// Rules say what a file may hold, and which members are secret.
	Rules manifest.Rules
	// Judge returns why a server would refuse the config of a check or a channel, whose
	// variables have some value; nil: only the schema is asked.
	Judge Judge
}

// Judge reads configs as a server does.
type Judge interface {
	Check(kind vigil.CheckType, config json.RawMessage, interval time.Duration) error
	Channel(kind vigil.ChannelType, config json.RawMessage) error
}

// Sources returns the programs whose configuration can be imported.
func Sources() []Source {
	return []Source{gatus(), kuma(), upptime(), healthchecks(), csvSource()}
}
