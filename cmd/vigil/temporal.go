// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/internal/dispatch"
	"github.com/vigil-monitor/vigil/internal/platform"
	"github.com/vigil-monitor/vigil/internal/standalone"
)

func newTemporalCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "temporal",
		Short: "Run the embedded Temporal server and its UI alone, for development",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := readSettings(cmd)
			if err != nil {
				return err
			}
			if s.DatabaseURL == "" {
				return errors.New("`vigil temporal` needs DATABASE_URL: it keeps its data in two databases beside that one")
			}
			ctx := cmd.Context()
			p := platform.NewProcess(platform.NewLogger(cmd.ErrOrStderr(), slog.Level(s.LogLevel)), thisProgram())
			defer p.Stop(ctx)
			if _, err := p.ServeMetrics(ctx, s); err != nil {
				return err
			}
			if err := standalone.EnsureDatabases(ctx, s.DatabaseURL); err != nil {
				return err
			}
			server, err := p.StartTemporal(ctx, s, s.DatabaseURL, nil, nil)
			if err != nil {
				if ctx.Err() != nil {
					return nil // asked to stop while starting
				}
				return err
			}
			out := temporalReady{Address: server.Address(), UIURL: server.UIURL(), Namespace: s.TemporalNamespace, PID: os.Getpid()}
			if asJSON {
				err = json.NewEncoder(cmd.OutOrStdout()).Encode(out)
			} else {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "Temporal serves on %s, its UI on %s. Ctrl-C stops it.\n", out.Address, out.UIURL)
			}
			if err != nil {
				return err
			}
			return p.Wait(ctx)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one line of JSON once ready, everything else to standard error")
	cmd.AddCommand(newTemporalSetupCommand())
	return cmd
}

// temporalReady is what `vigil temporal --json` prints once it serves.
type temporalReady struct {
	Address   string `json:"temporal_address"`
	UIURL     string `json:"temporal_ui_url"`
	Namespace string `json:"namespace"`
	PID       int    `json:"pid"`
}

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
