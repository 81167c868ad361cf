// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/internal/console"
	"github.com/vigil-monitor/vigil/internal/importer"
)

// importFlags are the flags of import.
type importFlags struct {
	dir, project  string
	strict, force bool
	minInterval   time.Duration
	switches      map[string]*bool
}

// importCommand imports from other programs. It calls no server, so it lacks the flags of
// the commands that do.
func (a *app) importCommand() *cobra.Command {
	var commands []*cobra.Command
	for _, source := range importer.Sources() {
		commands = append(commands, a.importSource(source))
	}
	cmd := Group("import", "Write the configuration of another program as files of a project", commands...)
	cmd.Long = "Write the configuration of another monitoring program as files of a project, for `vigil plan`. It calls no server.\n" +
		"What Vigil does not have is reported in comments, in a table and in IMPORT.md. Secrets go to the file .env."
	cmd.GroupID = GroupID
	return cmd
}

func (a *app) importSource(source importer.Source) *cobra.Command {
	flags := importFlags{switches: map[string]*bool{}}
	cmd := &cobra.Command{
		Use: source.Name + " " + source.Argument + " -o DIRECTORY", Short: source.Short, Long: source.Long, Example: source.Example,
		Args: oneOf("a file or a directory of " + source.Product),
	}
	set := cmd.Flags()
	set.StringVarP(&flags.dir, "output", "o", "", "`directory` to write")
	_ = cmd.MarkFlagDirname("output")
	set.StringVar(&flags.project, "project", source.Name, "`name` of the project in the files")
	set.DurationVar(&flags.minInterval, "min-interval", time.Second, "raise shorter intervals to this `duration`, the least of your tier")
	set.BoolVar(&flags.strict, "strict", false, "exit code 3 when anything is lost")
	set.BoolVar(&flags.force, "force", false, "replace files that exist")
	set.BoolVar(&a.flags.yes, "yes", false, "the same as --force")
	set.BoolVar(&a.flags.quiet, "quiet", false, "no notes on standard error")
	set.BoolVar(&a.flags.noColor, "no-color", false, "no colours [NO_COLOR]")
	for _, one := range source.Switches {
		flags.switches[one.Name] = set.Bool(one.Name, false, one.Help)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if flags.dir == "" {
			return console.Errorf(console.Usage, "%s needs -o with the directory to write, such as -o vigil/", cmd.CommandPath())
		}
		a.flags.output = string(console.Table)
		con, err := a.console(cmd)
		if err != nil {
			return err
		}
		return a.runImport(con, source, args[0], flags)
	}
	return cmd
}

// runImport reads the configuration, writes the files and shows what was lost.
func (a *app) runImport(con *console.Console, source importer.Source, path string, flags importFlags) error {
	rules, err := a.rules()
	if err != nil {
		return err
	}
	switches := map[string]bool{}
	for name, on := range flags.switches {
		switches[name] = *on
	}
	result, err := source.Read(path, importer.Options{
		Project: flags.project, Now: a.host.Now(), MinInterval: flags.minInterval, Switches: switches, Rules: rules, Judge: a.host.Judge(),
	})
	if err != nil {
		return console.Errorf(console.Failed, "%w", err)
	}
	_, err = result.Write(flags.dir, flags.force || con.Yes)
	if exists, ok := errors.AsType[*importer.ExistsError](err); ok {
		return console.Errorf(console.Usage, "%w; nothing was written, --force replaces what is there", exists)
	}
	if err != nil {
		return err
	}
	if err := printImport(con, result, flags.dir); err != nil {
		return err
	}
	if flags.strict && result.Lossy() {
		return console.Silent(console.No)
	}
	return nil
}

// printImport prints the summary of an import.
func printImport(con *console.Console, result *importer.Result, dir string) error {
	var entries console.Entries
	for _, line := range result.Summary() {
		entries = append(entries, console.Entry{Label: line.Label, What: line.What, Notes: line.Notes})
	}
	in := shellWord(strings.TrimSuffix(dir, "/") + "/")
	next := "vigil plan -f " + in
	if len(result.Secrets)+len(result.Variables) > 0 {
		next = "set -a; . " + in + ".env; set +a; " + next
	}
	return con.Print(console.Answer{Parts: []console.Part{
		console.Lines{{Text: result.Opening()}}, entries, console.Lines{{Text: "Details: " + in + "IMPORT.md. Next: " + next}},
	}})
}
