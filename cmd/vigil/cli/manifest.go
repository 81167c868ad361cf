// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/internal/console"
	"github.com/vigil-monitor/vigil/internal/manifest"
)

// filesFlags are the flags of the commands that read the files of a project.
type filesFlags struct {
	paths              []string
	strict, allowEmpty bool
	allowFiles         []string
}

func (f *filesFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.paths, "file", "f", nil, "`path` of a file or a directory of the project; may be repeated, - is standard input")
	flags.BoolVar(&f.strict, "strict", false, "a secret that stands in a file is an error")
	flags.BoolVar(&f.allowEmpty, "allow-empty", false, "accept files without a resource")
	flags.StringArrayVar(&f.allowFiles, "allow-file", nil,
		"`directory` whose files ${file:...} may name, besides those of the project and /run/secrets; may be repeated")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return console.Errorf(console.Usage, "%s takes no argument %q; name files with -f", cmd.CommandPath(), args[0])
		}
		if len(f.paths) == 0 {
			return console.Errorf(console.Usage, "%s needs -f with a file or a directory, such as -f monitoring/", cmd.CommandPath())
		}
		return nil
	}
}

// arguments are the flags as they stand on a command line.
func (f *filesFlags) arguments() string {
	var words []string
	for _, path := range f.paths {
		words = append(words, "-f "+shellWord(path))
	}
	if f.allowEmpty {
		words = append(words, "--allow-empty")
	}
	for _, dir := range f.allowFiles {
		words = append(words, "--allow-file "+shellWord(dir))
	}
	return strings.Join(words, " ")
}

// shellWord quotes a word for a shell when it needs that.
func shellWord(word string) string {
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+=:@,") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// rules are what the schema of this program says of the files.
func (a *app) rules() (manifest.Rules, error) {
	if a.host.Rules == nil {
		return manifest.Rules{}, nil
	}
	return a.host.Rules()
}

// read reads the files. Problems with the files are the error as it is.
func (a *app) read(con *console.Console, f filesFlags) (*manifest.Document, error) {
	rules, err := a.rules()
	if err != nil {
		return nil, err
	}
	for _, path := range f.paths {
		if _, err := os.Stat(path); err != nil && path != manifest.Stdin {
			return nil, console.Errorf(console.Usage, "-f %s: there is no such file or directory", path)
		}
	}
	return manifest.Read(f.paths, manifest.Options{
		Rules: rules, Env: os.LookupEnv, Stdin: con.In, AllowEmpty: f.allowEmpty, Strict: f.strict, FileDirs: f.allowFiles,
	})
}

// document reads the files, shows warnings, and makes an error of the command of problems.
func (a *app) document(con *console.Console, f filesFlags) (*manifest.Document, error) {
	document, err := a.read(con, f)
	if problems, ok := err.(manifest.Problems); ok { //nolint:errorlint // Read returns it as it is
		return nil, failed(con, problems, 0)
	}
	if err != nil {
		return nil, err
	}
	for _, warning := range document.Warnings {
		con.Note("warning: %s", warning)
	}
	return document, nil
}

// failed shows problems on standard error and returns the error of the command. The server did
// not list all of them where there are more.
func failed(con *console.Console, problems manifest.Problems, more int) error {
	for _, problem := range problems {
		con.Warn("%s", problem)
	}
	if more > 0 {
		con.Warn("and %d more", more)
	}
	return console.Errorf(console.Failed, "%s in the files, nothing was changed", counted(len(problems)+more, "problem"))
}

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return console.Thousands(int64(n)) + " " + noun + "s"
}

// contents counts what a document has, such as "4 files, 12 checks, 3 channels".
func contents(document *manifest.Document) string {
	parts := []string{counted(document.Files, "file"), counted(document.Count("checks"), "check")}
	for _, section := range []struct{ name, noun string }{
		{"channels", "channel"},
		{"rules", "rule"},
		{"maintenance", "maintenance window"},
		{"status_pages", "status page"},
		{"subscriptions", "subscription"},
	} {
		if n := document.Count(section.name); n > 0 {
			parts = append(parts, counted(n, section.noun))
		}
	}
	return strings.Join(parts, ", ")
}

// finding is a problem in the answer of validate.
type finding struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
}

func findings(problems manifest.Problems) []finding {
	found := []finding{}
	for _, p := range problems {
		found = append(found, finding{File: p.Position.File, Line: p.Position.Line, Column: p.Position.Column, Path: p.Path, Message: p.Message})
	}
	return found
}

func (a *app) validateCommand() *cobra.Command {
	var files filesFlags
	cmd := &cobra.Command{
		Use:   "validate -f PATH...",
		Short: "Check the files of a project without a server",
		Long: "Check the files of a project: their form, the names of members, references and variables. It needs no server;\n" +
			"`vigil plan` asks the server as well. Each mistake has file, line and column, and the exit code is 1.",
		Example: "  vigil validate -f monitoring/",
	}
	files.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		con, err := a.console(cmd)
		if err != nil {
			return err
		}
		document, err := a.read(con, files)
		problems, invalid := err.(manifest.Problems) //nolint:errorlint // Read returns it as it is
		if err != nil && !invalid {
			return err
		}
		return printValidation(con, document, problems)
	}
	return cmd
}

// printValidation prints what was found; an invalid document is nil.
func printValidation(con *console.Console, document *manifest.Document, problems manifest.Problems) error {
	data := map[string]any{"valid": document != nil, "errors": findings(problems), "warnings": []finding{}}
	var lines console.Lines
	for _, problem := range problems {
		lines = append(lines, console.Line{Text: problem.String(), Tone: console.Bad})
	}
	if document != nil {
		data["project"], data["warnings"] = document.ProjectAsWritten(), findings(document.Warnings)
		for _, warning := range document.Warnings {
			lines = append(lines, console.Line{Text: "warning: " + warning.String(), Tone: console.Doubtful})
		}
		lines = append(
			lines,
			console.Line{Text: fmt.Sprintf("Project %s is valid: %s.", document.ProjectAsWritten(), contents(document)), Tone: console.Good},
		)
	}
	body, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		return err
	}
	if err := con.Print(console.Answer{Body: body, Names: []string{}, Parts: []console.Part{lines}}); err != nil {
		return err
	}
	if document == nil {
		return console.Silent(console.Failed)
	}
	return nil
}

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the files",
		Long: "Print the JSON Schema of the files, which editors use to complete and check them. A server has the same at\n" +
			"/v1/schemas/vigil.json.",
		Example: "  vigil schema > vigil.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			con, err := a.console(cmd)
			if err != nil {
				return err
			}
			text, err := a.host.Schema()
			if err != nil {
				return err
			}
			if con.Format == console.YAML || con.Query != nil {
				return con.Print(console.Answer{Body: text})
			}
			_, err = con.Out.Write(text)
			return err
		},
	}
}

func (a *app) trialCommand() *cobra.Command {
	var files filesFlags
	var only, regions []string
	cmd := &cobra.Command{
		Use:   "test -f PATH...",
		Short: "Run the checks of files once and store nothing; exit code 3 when one failed",
		Long: "Run the checks of the files once and show the results. Nothing is stored and no message is sent. The exit code\n" +
			"is 3 when a check failed.",
		Example: "  vigil test -f monitoring/ --only home",
	}
	files.add(cmd)
	cmd.Flags().StringArrayVar(&only, "only", nil, "`key` of the check to run; may be repeated")
	cmd.Flags().StringArrayVar(&regions, "region", nil, "`region` to run in instead of those of the check; may be repeated")
	complete(cmd, "region", a.regionKeys(cmd))
	cmd.RunE = a.does(func(ctx context.Context, s *session, _ []string) error {
		document, err := a.document(s.Console, files)
		if err != nil {
			return err
		}
		trials, err := selectTrials(document.Trials(), only)
		if err != nil {
			return err
		}
		return s.try(ctx, trials, regions)
	})
	return cmd
}
