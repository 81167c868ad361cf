// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vigil-monitor/vigil/cmd/vigil/cli"
	"github.com/vigil-monitor/vigil/internal/console"
	"github.com/vigil-monitor/vigil/internal/platform"
)

// run is the program: it returns the exit code, and explains one other than 0 in one
// sentence on stderr. The first SIGINT or SIGTERM cancels the context of the command; a
// second one kills the process.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err != nil && err.Error() != "" {
		fmt.Fprintf(stderr, "vigil: %s\n", console.Sentence(err))
	}
	return cli.ExitCode(ctx, err)
}

func newRootCommand() *cobra.Command {
	root := cli.Group("vigil", "Monitoring and alerting on durable workflows")
	root.Long = "Vigil runs checks against your services from many regions, each as a durable workflow.\n" +
		"`vigil up` starts everything in one process; then `vigil login` and `vigil status`."
	root.Version, root.SilenceUsage, root.SilenceErrors = version, true, true
	root.AddGroup(&cobra.Group{ID: cli.GroupID, Title: "Client commands:"}, &cobra.Group{ID: serverGroup, Title: "Server commands:"})
	root.SetCompletionCommandGroupID(cli.GroupID)
	root.SetHelpCommandGroupID(cli.GroupID)
	root.AddCommand(cli.Commands(clientHost())...)
	root.AddCommand(newVersionCommand(), newUpgradeCommand())
	root.AddCommand(serverCommands()...)
	addRegionTokens(root)
	showSettings(root)
	cli.UsageErrors(root)
	return root
}

// clientHost is what the client commands take from this program.
func clientHost() cli.Host {
	return cli.Host{
		Version:  version,
		Now:      time.Now,
		DataDir:  dataDir(),
		LocalKey: localKey,
		Machine:  machine,
		Schema:   platform.FileSchema,
		Rules:    platform.FileRules,
		Judge:    platform.NewFileJudge,
	}
}

// serverGroup is the group of the commands that run or administer the platform.
const serverGroup = "server"

// serverCommands are the commands that have the settings, besides `vigil openapi`, which
// needs none, and `vigil agent`, which has its own.
func serverCommands() []*cobra.Command {
	commands := []*cobra.Command{
		newUpCommand(), newAPICommand(), newWorkerCommand(), newTemporalCommand(), newMigrateCommand(), newKeysCommand(), newLoginLinkCommand(),
		newOrgsCommand(), newDeploymentCommand(), newHealthCommand(), newBenchCommand(), newBackupCommand(), newRestoreCommand(),
		newRestoredCommand(),
	}
	for _, cmd := range commands {
		cmd.GroupID = serverGroup
		cmd.Flags().SortFlags = false
		addSettings(cmd.PersistentFlags())
	}
	document := newOpenAPICommand()
	document.GroupID = serverGroup
	return append(commands, document, newAgentCommand())
}

const settingsTitle = "Settings (flags of the server commands, and environment variables; the flag wins):"

// showSettings makes the help of the root, and of each command that has the settings,
// list them below its own flags.
func showSettings(root *cobra.Command) {
	standard := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		settings := pflag.NewFlagSet("settings", pflag.ContinueOnError)
		addSettings(settings)
		has := !cmd.HasParent()
		hide := func(hidden bool) {
			settings.VisitAll(func(setting *pflag.Flag) {
				if flag := cmd.Flag(setting.Name); flag != nil && flag.Annotations[settingAnnotation] != nil {
					flag.Hidden, has = hidden, true
				}
			})
		}
		hide(true)
		standard(cmd, args)
		hide(false)
		if has {
			fmt.Fprintf(cmd.OutOrStdout(), "\n%s\n%s", settingsTitle, settings.FlagUsages())
		}
	})
}
