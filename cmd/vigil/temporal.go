// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/internal/standalone"

	"github.com/vigil-monitor/vigil/internal/platform"
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
