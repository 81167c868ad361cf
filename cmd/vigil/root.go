package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// version is set by the build.
var version = "unknown"

// run is the program: it returns the exit code, and says in one sentence on
// stderr why that is not 0. The first SIGINT or SIGTERM cancels the context that
// commands get; a second one kills the process, for whom it takes too long.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(stderr, "vigil: %s\n", sentence(err))
		return 1
	}
	return 0
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "vigil",
		Short: "Monitoring and alerting whose every promise is kept by a durable workflow",
		Long: "Vigil runs checks against your services from many regions, each as a durable workflow.\n" +
			"`vigil up` starts everything in one process.\n\n" +
			"Every setting is a flag and an environment variable; the flag wins.",
		Version:           version,
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		// Without this a mistyped command would print help and succeed.
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.Flags().SortFlags = false // in the order of the settings, which has a sense
	addSettings(root.PersistentFlags())
	root.AddCommand(
		newUpCommand(),
		newAPICommand(),
		newWorkerCommand(),
		newTemporalCommand(),
		newMigrateCommand(),
		newOpenAPICommand(),
		newKeysCommand(),
		newOrgsCommand(),
		newHealthCommand(),
		newBenchCommand(),
	)
	return root
}

// group is a command that only holds others: alone, or with a word that is none
// of them, it is an error.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q for %q; see %s --help", args[0], cmd.CommandPath(), cmd.CommandPath())
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(commands...)
	return cmd
}

// sentence is an error as a person at a terminal reads it: each of several
// mistakes gets its own line, and what a library broke into many is joined.
func sentence(err error) string {
	return strings.NewReplacer(":\n\t", ": ", "\n\t", "; ", "\n", "\nvigil: ").Replace(err.Error())
}

// newLogger writes everything that is no command's answer: to stderr, so that
// stdout stays fit for scripts.
func newLogger(stderr io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
}
