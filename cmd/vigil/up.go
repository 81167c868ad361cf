// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/cmd/vigil/cli"
	"github.com/vigil-monitor/vigil/internal/instance"
	"github.com/vigil-monitor/vigil/internal/standalone"
)

func newUpCommand() *cobra.Command {
	var asJSON, noLogin, withDemo bool
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run the whole platform in this process",
		Long: "Run the whole platform in this process: Postgres (unless DATABASE_URL is set), Temporal and its UI\n" +
			"(unless TEMPORAL_ADDRESS is set), the API and the workers of the regions.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := readSettings(cmd)
			if err != nil {
				return err
			}
			show := newScreen(cmd.OutOrStdout(), cmd.ErrOrStderr(), asJSON)
			show.login = !noLogin && !asJSON && cli.IsTerminal(cmd.OutOrStdout())
			if show.withDemo = withDemo; withDemo {
				if err := checkDemo(&s); err != nil {
					return err
				}
			}
			return up(cmd.Context(), s, show, newLogger(show.logs(cmd.ErrOrStderr()), slog.Level(s.LogLevel)))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one line of JSON once ready, everything else to standard error")
	cmd.Flags().BoolVar(&noLogin, "no-login", false, "on a terminal, do not save the first key as the context local of the client commands")
	cmd.Flags().BoolVar(&withDemo, "demo", false, "check a shop on this machine that fails and recovers, and show what Vigil does about it")
	return cmd
}

// up runs until ctx ends or a part fails.
func up(ctx context.Context, s settings, show *screen, log *slog.Logger) error {
	p := newProcess(log, thisProgram())
	defer p.stop(ctx)
	built, summary, err := startAll(ctx, p, s, show)
	if err != nil {
		if ctx.Err() != nil {
			return nil // asked to stop while starting
		}
		if s.DatabaseURL == "" {
			return standalone.ExplainFull(s.DataDir, err)
		}
		return err
	}
	if err := describeInstance(p, summary); err != nil {
		return err
	}
	instance.RemoveApplied(summary.DataDir) // of an earlier process
	if err := built.startApplying(ctx, summary.APIURL); err != nil {
		return err
	}
	if show.login && summary.APIKey != "" {
		summary.context = saveLocalContext(summary, log)
	}
	if err := show.ready(summary); err != nil {
		return err
	}
	if built.demo != nil {
		go built.runDemo(ctx)
	}
	err = p.wait(ctx)
	if err == nil {
		show.note("stopping")
	}
	return err
}
