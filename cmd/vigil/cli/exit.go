// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/internal/console"
)

// exitCodesTopic is what `vigil help exit-codes` shows.
func exitCodesTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean",
		Long: `The exit codes are part of the interface:

  0    done
  1    failed
  2    the command line is wrong, or a confirmation is missing
  3    the answer is no: a check failed, vigil doctor found something, something is unhealthy, a plan
       has changes (the last two with --exit-code), or an import lost something (with --strict)
  4    not logged in, or the key is refused or lacks a scope
  5    not found
  6    changed meanwhile, or a conflict
  7    unreachable, or try later
  130  interrupted

An error is one sentence on standard error. Requests that may be repeated safely are
sent up to four times before a command ends with 7.`,
	}
}

// UsageErrors makes each mistake in the flags and arguments of a command, or of one below
// it, end the program with the exit code for a wrong command line.
func UsageErrors(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usage(suggestFlag(cmd, err)) })
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error { return usage(check(cmd, args)) }
	}
	for _, below := range cmd.Commands() {
		UsageErrors(below)
	}
}

func usage(err error) error {
	if err == nil || console.CodeOf(err) == console.Usage {
		return err
	}
	return console.Errorf(console.Usage, "%w", err)
}

// ExitCode returns the exit code of the program for the error of a command. A command
// that the user interrupted has its own.
func ExitCode(ctx context.Context, err error) int {
	if err != nil && ctx.Err() != nil && (errors.Is(err, context.Canceled) || console.CodeOf(err) == console.Interrupted) {
		return int(console.Interrupted)
	}
	return int(console.CodeOf(err))
}
