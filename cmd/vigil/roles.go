// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/internal/platform"
)

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
