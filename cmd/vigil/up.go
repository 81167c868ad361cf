// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/cmd/vigil/cli"
	"github.com/vigil-monitor/vigil/internal/instance"
	"github.com/vigil-monitor/vigil/internal/platform"
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
			show := platform.NewScreen(cmd.OutOrStdout(), cmd.ErrOrStderr(), asJSON)
			show.Login = !noLogin && !asJSON && cli.IsTerminal(cmd.OutOrStdout())
			if show.WithDemo = withDemo; withDemo {
				if err := platform.CheckDemo(&s); err != nil {
					return err
				}
			}
			return up(cmd.Context(), s, show, platform.NewLogger(show.Logs(cmd.ErrOrStderr()), slog.Level(s.LogLevel)))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one line of JSON once ready, everything else to standard error")
	cmd.Flags().BoolVar(&noLogin, "no-login", false, "on a terminal, do not save the first key as the context local of the client commands")
	cmd.Flags().BoolVar(&withDemo, "demo", false, "check a shop on this machine that fails and recovers, and show what Vigil does about it")
	return cmd
}

// up runs until ctx ends or a part fails.
func up(ctx context.Context, s platform.Settings, show *platform.Screen, log *slog.Logger) error {
	p := platform.NewProcess(log, thisProgram())
	defer p.Stop(ctx)
	built, summary, err := platform.StartAll(ctx, p, s, show)
	if err != nil {
		if ctx.Err() != nil {
			return nil // asked to stop while starting
		}
		if s.DatabaseURL == "" {
			return standalone.ExplainFull(s.DataDir, err)
		}
		return err
	}
	if err := platform.DescribeInstance(p, summary); err != nil {
		return err
	}
	instance.RemoveApplied(summary.DataDir) // of an earlier process
	if err := built.StartApplying(ctx, summary.APIURL); err != nil {
		return err
	}
	if show.Login && summary.APIKey != "" {
		summary.Context = saveLocalContext(summary, log)
	}
	if err := show.Ready(summary); err != nil {
		return err
	}
	if built.Demo != nil {
		go built.RunDemo(ctx)
	}
	err = p.Wait(ctx)
	if err == nil {
		show.Note("stopping")
	}
	return err
}

// startCommand starts the platform of a data directory.
func startCommand(dir string) string {
	standard := defaultDataDir()
	if resolved, err := filepath.EvalSymlinks(standard); err == nil {
		standard = resolved
	}
	if dir == standard {
		return "vigil up"
	}
	if strings.ContainsFunc(dir, func(r rune) bool { return !strings.ContainsRune(shellPlain, r) }) {
		dir = "'" + strings.ReplaceAll(dir, "'", `'\''`) + "'"
	}
	return "vigil up --data-dir " + dir
}

// shellPlain are the characters that a shell takes as they are.
const shellPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+:@%,="
