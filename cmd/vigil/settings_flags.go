// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"

	"github.com/caarlos0/env/v11"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// settingAnnotation marks the flags of settings among the flags of a command.
const settingAnnotation = "vigil_setting"

// knownSettings are all settings, with the default of this user for the data directory.
func knownSettings() []setting {
	all := allSettings()
	for i := range all {
		if all[i].variable == "VIGIL_DATA_DIR" {
			all[i].fallback = defaultDataDir()
		}
	}
	return all
}

// addSettings adds a flag for every setting.
func addSettings(flags *pflag.FlagSet) {
	flags.SortFlags = false
	for _, s := range knownSettings() {
		flags.String(s.flag(), s.fallback, s.help+" ["+s.variable+"]")
		_ = flags.SetAnnotation(s.flag(), settingAnnotation, []string{s.variable})
	}
}

// readSettings reads every setting from its flag, else from the environment, else its
// default. The error names each setting with a wrong value. An empty variable counts as
// unset.
func readSettings(cmd *cobra.Command) (settings, error) {
	given := env.ToMap(os.Environ())
	for _, s := range knownSettings() {
		if flag := cmd.Flags().Lookup(s.flag()); flag != nil && flag.Changed {
			given[s.variable] = flag.Value.String()
		}
		if given[s.variable] == "" {
			delete(given, s.variable)
		}
		if _, ok := given[s.variable]; !ok && s.fallback != "" {
			given[s.variable] = s.fallback
		}
	}
	return parseSettings(given)
}

// isGiven reports whether a setting was set explicitly.
func isGiven(cmd *cobra.Command, variable string) bool {
	flag := cmd.Flags().Lookup(setting{variable: variable}.flag())
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
