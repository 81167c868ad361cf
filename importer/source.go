package importer

import (
	"time"

	"vigil/manifest"
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
	// Switches are the names of the switches that are on.
	Switches map[string]bool
	// Rules say what a file may hold, and which members are secret.
	Rules manifest.Rules
}

// Sources returns the programs whose configuration can be imported.
func Sources() []Source {
	return []Source{gatus(), kuma()}
}
