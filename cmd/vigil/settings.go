// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/caarlos0/env/v11"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vigil-monitor/vigil/internal/platform"
)

// settingAnnotation marks the flags of settings among the flags of a command.
const settingAnnotation = "vigil_setting"

// knownSettings are all settings, with the default of this user for the data directory.
func knownSettings() []platform.Setting {
	all := platform.AllSettings()
	for i := range all {
		if all[i].Variable == "VIGIL_DATA_DIR" {
			all[i].Fallback = defaultDataDir()
		}
	}
	return all
}

// addSettings adds a flag for every setting.
func addSettings(flags *pflag.FlagSet) {
	flags.SortFlags = false
	for _, s := range knownSettings() {
		flags.String(s.Flag(), s.Fallback, s.Help+" ["+s.Variable+"]")
		flags.Lookup(s.Flag()).NoOptDefVal = s.Bare
		_ = flags.SetAnnotation(s.Flag(), settingAnnotation, []string{s.Variable})
	}
}

// readSettings reads every setting from its flag, else from the environment, else its
// default. The error names each setting with a wrong value. An empty variable counts as
// unset, unless it means something else.
func readSettings(cmd *cobra.Command) (platform.Settings, error) {
	given := env.ToMap(os.Environ())
	for _, s := range knownSettings() {
		if flag := cmd.Flags().Lookup(s.Flag()); flag != nil && flag.Changed {
			given[s.Variable] = flag.Value.String()
		}
		if _, set := given[s.Variable]; !set || s.Empty == "" {
			given[s.Variable] = cmp.Or(given[s.Variable], s.Fallback)
		}
	}
	return platform.ParseSettings(given)
}

// isGiven reports whether a setting was set explicitly.
func isGiven(cmd *cobra.Command, variable string) bool {
	flag := cmd.Flags().Lookup(platform.Setting{Variable: variable}.Flag())
	return flag != nil && flag.Changed || os.Getenv(variable) != ""
}

// defaultDataDir is a directory of the user. For root it is one whose parents the
// unprivileged user of Postgres can enter, which /root is not.
func defaultDataDir() string {
	if os.Geteuid() == 0 {
		return "/var/lib/vigil"
	}
	if base := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "vigil")
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".local", "share", "vigil")
	}
	return filepath.Join(os.TempDir(), "vigil")
}

// The roles are the parts of `vigil up` as processes of their own, against a
// Postgres and a Temporal that run elsewhere.

// readRoleSettings returns the settings of a role, and the life of its process.
func readRoleSettings(cmd *cobra.Command) (platform.Settings, *platform.Process, error) {
	s, err := readSettings(cmd)
	switch {
	case err != nil:
		return s, nil, err
	case s.DatabaseURL == "":
		return s, nil, errors.New("a role of its own needs DATABASE_URL, the Postgres that all roles share; `vigil up` runs one by itself")
	case s.TemporalAddress == "":
		return s, nil, errors.New("a role of its own needs TEMPORAL_ADDRESS, the Temporal that all roles share; `vigil temporal` runs one")
	}
	return s, platform.NewProcess(platform.NewLogger(cmd.ErrOrStderr(), slog.Level(s.LogLevel)), thisProgram()), nil
}
