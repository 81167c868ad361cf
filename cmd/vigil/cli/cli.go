// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/internal/console"
	"github.com/vigil-monitor/vigil/internal/importer"
	"github.com/vigil-monitor/vigil/internal/manifest"
)

// Host is what the commands take from the program that they are part of.
type Host struct {
	Version string
	Now     func() time.Time
	// DataDir is the data directory of an instance on this machine, unless a flag names another.
	DataDir string
	// LocalKey makes an API key in the database of the instance of a data directory. No
	// scopes are all.
	LocalKey func(ctx context.Context, dataDir, name string, scopes []string) (string, error)
	// Machine returns what doctor looks at on this machine, for a data directory.
	Machine func(dataDir string) Machine
	// Schema is the JSON Schema of the files of monitoring as code, and Rules is what the
	// files are compared with; nil: only their form is checked.
	Schema func() ([]byte, error)
	Rules  func() (manifest.Rules, error)
	// Judge returns what reads the configs that an import writes as a server does.
	Judge func() importer.Judge
}

// GroupID is the group of the client commands in the help of the root.
const GroupID = "client"

// app is one run of the program.
type app struct {
	host  Host
	flags globalFlags
}

// globalFlags are the flags that every client command has.
type globalFlags struct {
	context, url, output, jq   string
	quiet, yes, noColor, debug bool
	timeout                    time.Duration
}

// Commands returns the client commands, and the help topic about exit codes.
func Commands(host Host) []*cobra.Command {
	a := &app{host: host}
	commands := []*cobra.Command{
		a.loginCommand(),
		a.logoutCommand(),
		a.authCommand(),
		a.contextCommand(),
		a.statusCommand(),
		a.checkCommand(),
		a.ruleCommand(),
		a.channelCommand(),
		a.incidentCommand(),
		a.deliveryCommand(),
		a.drillCommand(),
		a.runCommand(),
		a.tailCommand(),
		a.subscriptionCommand(),
		a.maintenanceCommand(),
		a.statusPageCommand(),
		a.memberCommand(),
		a.orgCommand(),
		a.keyCommand(),
		a.pingKeyCommand(),
		a.reportCommand(),
		a.usageCommand(),
		a.regionCommand(),
		a.locationCommand(),
		a.auditCommand(),
		a.requestCommand(),
		a.doctorCommand(),
		a.demoCommand(),
		a.mcpCommand(),
		a.validateCommand(),
		a.planCommand(),
		a.applyCommand(),
		a.trialCommand(),
		a.exportCommand(),
		a.adoptCommand(),
		a.releaseCommand(),
		a.schemaCommand(),
	}
	for _, cmd := range commands {
		cmd.GroupID = GroupID
		a.addFlags(cmd)
	}
	return append(commands, a.importCommand(), exitCodesTopic())
}

func (a *app) addFlags(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.StringVar(&a.flags.context, "context", "", "`name` of the context to use [VIGIL_CONTEXT]")
	flags.StringVar(&a.flags.url, "url", "", "`address` of the server [VIGIL_URL]")
	flags.StringVarP(&a.flags.output, "output", "o", string(console.Table), "`format` of the answer: table, wide, json, yaml or name")
	flags.StringVar(&a.flags.jq, "jq", "", "jq `expression` to apply to the JSON of the answer")
	flags.BoolVar(&a.flags.quiet, "quiet", false, "no notes on standard error")
	flags.BoolVar(&a.flags.yes, "yes", false, "confirm a change without being asked")
	flags.BoolVar(&a.flags.noColor, "no-color", false, "no colours [NO_COLOR]")
	flags.BoolVar(&a.flags.debug, "debug", false, "show each request on standard error: method, path, status, time and request ID")
	flags.DurationVar(
		&a.flags.timeout, "timeout", standardTimeout, "longest `duration` of a request with its retries; of a test 100s by default",
	)
	complete(cmd, "output", func() []string { return console.Formats() })
	complete(cmd, "context", func() []string {
		contexts, err := console.ReadContexts(configPath(), func(string, ...any) {})
		if err != nil {
			return nil
		}
		return contexts.Names()
	})
}

// console returns the console of a command, as its flags ask for.
func (a *app) console(cmd *cobra.Command) (*console.Console, error) {
	con := console.Open(cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr(), a.host.Now)
	con.ChooseColour(os.Getenv("NO_COLOR"), os.Getenv("CLICOLOR_FORCE"), os.Getenv("TERM"), a.flags.noColor)
	con.Quiet, con.Yes = a.flags.quiet, a.flags.yes
	var err error
	if con.Format, err = console.ParseFormat(a.flags.output); err != nil {
		return nil, err
	}
	if a.flags.jq != "" {
		if cmd.Flag("output").Changed && con.Format != console.JSON {
			return nil, console.Errorf(console.Usage, "--jq works on JSON; leave out --output %s", con.Format)
		}
		if con.Query, err = console.ParseQuery(a.flags.jq); err != nil {
			return nil, err
		}
	}
	return con, nil
}

// configPath is the file of contexts.
func configPath() string { return console.ContextsPath(os.Getenv("XDG_CONFIG_HOME")) }

// does returns the function of a command that calls the API.
func (a *app) does(do func(ctx context.Context, s *session, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		s, err := a.session(cmd)
		if err != nil {
			return err
		}
		return do(cmd.Context(), s, args)
	}
}

// Group is a command that only has subcommands: alone it prints its help, and with an unknown
// one it is an error that names what was probably meant.
func Group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short,
		// Without this a misspelled command would print the help and succeed.
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}

// oneOf requires one argument and says what it is.
func oneOf(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return console.Errorf(console.Usage, "%s needs %s (got %d words)", cmd.CommandPath(), what, len(args))
		}
		return nil
	}
}
