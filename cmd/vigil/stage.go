// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/internal/bench"
	"github.com/vigil-monitor/vigil/internal/console"
)

// stageKey is the key of the function of a context that shows what a command is at.
type stageKey struct{}

// long makes a command show on standard error that it goes on, when it takes longer than a
// second, and what it is at (see stage). Its lines stand above that.
func long(cmd *cobra.Command, what string) *cobra.Command {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		out, errOut := cmd.OutOrStdout(), cmd.ErrOrStderr()
		progress := console.Open(cmd.InOrStdin(), out, errOut, time.Now).Progress("%s", what)
		defer progress.Done()
		if console.IsTerminal(out) {
			cmd.SetOut(progress.Over(out))
		}
		cmd.SetErr(progress.Over(errOut))
		show := func(what string) { progress.Set("%s", what) }
		cmd.SetContext(bench.WithProgress(context.WithValue(cmd.Context(), stageKey{}, show), show))
		return run(cmd, args)
	}
	return cmd
}

// stage shows what a command is at, such as "dumping the database vigil".
func stage(ctx context.Context, format string, args ...any) {
	if show, ok := ctx.Value(stageKey{}).(func(string)); ok {
		show(fmt.Sprintf(format, args...))
	}
}
