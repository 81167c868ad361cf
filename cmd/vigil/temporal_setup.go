// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/internal/dispatch"

	"github.com/vigil-monitor/vigil/internal/platform"
)

func newTemporalSetupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "setup",
		Short: "Prepare a Temporal for Vigil: namespace, retention and search attributes",
		Long: "Prepare the Temporal at TEMPORAL_ADDRESS for Vigil: the namespace (TEMPORAL_NAMESPACE) with its\n" +
			"retention (VIGIL_TEMPORAL_RETENTION) and the search attributes. It may be run again at any time.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := readSettings(cmd)
			if err != nil {
				return err
			}
			if s.TemporalAddress == "" {
				return errors.New("`vigil temporal setup` needs TEMPORAL_ADDRESS, the Temporal to prepare; the embedded one prepares itself")
			}
			p := platform.NewProcess(platform.NewLogger(cmd.ErrOrStderr(), slog.Level(s.LogLevel)), thisProgram())
			defer p.Stop(cmd.Context())
			temporal, err := p.DialTemporal(s, nil, nil)
			if err != nil {
				return err
			}
			done, err := dispatch.PrepareNamespace(cmd.Context(), temporal.Client, s.TemporalNamespace, s.TemporalRetention)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), preparedText(s, done))
			return err
		},
	}
}

// preparedText describes what was changed, if anything.
func preparedText(s platform.Settings, done dispatch.Preparation) string {
	var changes []string
	if done.Created {
		changes = append(changes, "namespace created")
	}
	if done.Retention {
		changes = append(changes, fmt.Sprintf("retention set to %s", s.TemporalRetention))
	}
	if len(done.Attributes) > 0 {
		changes = append(changes, "search attributes added: "+strings.Join(done.Attributes, ", "))
	}
	if len(changes) == 0 {
		changes = []string{"nothing to do"}
	}
	return fmt.Sprintf("Namespace %s at %s is ready (%s).", s.TemporalNamespace, s.TemporalAddress, strings.Join(changes, "; "))
}
