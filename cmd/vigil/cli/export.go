// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/internal/console"
	"github.com/vigil-monitor/vigil/internal/manifest"
)

// exportFlags are the flags of export.
type exportFlags struct {
	project, split string
	all, adopt     bool
}

func (a *app) exportCommand() *cobra.Command {
	var flags exportFlags
	cmd := &cobra.Command{
		Use:   "export (--project NAME | --all)",
		Short: "Write what the server has as files of a project",
		Long: "Write what the server has in the format of the files, in a stable order: with --project what the project manages,\n" +
			"with --all everything. A secret becomes a variable such as ${CHECK_HOME_PASSWORD}; standard error lists them.\n" +
			"With --all and --project, the project is the one that the files name, and --adopt lets it manage what no other\n" +
			"project does.",
		Example: "  vigil export --all --project shop --adopt --split monitoring/",
		Args:    cobra.NoArgs,
	}
	cmd.Flags().StringVar(&flags.project, "project", "", "`name` of the project")
	cmd.Flags().BoolVar(&flags.all, "all", false, "also what the project does not manage")
	cmd.Flags().BoolVar(&flags.adopt, "adopt", false, "let the files manage what is exported and not managed yet")
	cmd.Flags().StringVar(&flags.split, "split", "", "write a file for each section into a `directory`")
	_ = cmd.MarkFlagDirname("split")
	cmd.RunE = a.does(func(ctx context.Context, s *session, _ []string) error {
		if flags.project == "" && !flags.all {
			return console.Errorf(console.Usage, "export needs --project with the name of a project, or --all")
		}
		if flags.adopt && flags.project == "" {
			return console.Errorf(console.Usage, "--adopt needs --project with the name of the project that manages the objects")
		}
		if flags.project == "" {
			flags.project = "main"
		}
		rules, err := a.rules()
		if err != nil {
			return err
		}
		objects, err := s.objects(ctx)
		if err != nil {
			return err
		}
		export, err := manifest.NewExport(objects, manifest.ExportOptions{Project: flags.project, All: flags.all, Schema: rules.Schema})
		if err != nil {
			return err
		}
		return s.export(ctx, export, flags)
	})
	return cmd
}

// objects reads everything that files can describe.
func (s *session) objects(ctx context.Context) (manifest.Objects, error) {
	var objects manifest.Objects
	into := map[string]*[]json.RawMessage{
		"check": &objects.Checks, "rule": &objects.Rules, "channel": &objects.Channels, "status-page": &objects.StatusPages,
		"maintenance": &objects.Maintenance, "subscription": &objects.Subscriptions,
	}
	for _, kind := range ownedKinds() {
		all, err := list[json.RawMessage](s, maxExport, s.fetch(ctx, kind)(""))
		if err != nil && !kind.absent(err) {
			return objects, err
		}
		if all.more {
			return objects, console.Errorf(console.Failed, "there are more than %d %ss, which export does not write", maxExport, kind.name)
		}
		*into[kind.name] = all.data
	}
	return objects, nil
}

// maxExport bounds how many objects of a kind are exported.
const maxExport = 100_000

// export writes the files, lists the variables, and adopts what is exported.
func (s *session) export(ctx context.Context, export *manifest.Export, flags exportFlags) error {
	var err error
	if flags.split != "" {
		err = s.exportFiles(export, flags)
	} else {
		err = s.exportOne(export, flags.project)
	}
	if err != nil {
		return err
	}
	if len(export.Secrets) > 0 {
		s.Note("Set %s before the files are applied; secrets are not exported:", counted(len(export.Secrets), "variable"))
		for _, secret := range export.Secrets {
			s.Note("  %s  %s", secret.Variable, secret.Path)
		}
	}
	if flags.adopt {
		return s.adoptExported(ctx, export, flags.project)
	}
	return nil
}

// exportOne prints one document.
func (s *session) exportOne(export *manifest.Export, project string) error {
	text, err := exported(export.Sections, project, s.Format == console.JSON || s.Query != nil)
	if err != nil {
		return err
	}
	if s.Query != nil {
		return s.Print(console.Answer{Body: text})
	}
	_, err = s.Out.Write(text)
	return err
}

// exported writes sections as a file.
func exported(sections []manifest.Section, project string, asJSON bool) ([]byte, error) {
	name, err := json.Marshal(project)
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	fmt.Fprintf(&body, `{"version":%d,"project":%s`, manifest.Version, name)
	for _, section := range sections {
		fmt.Fprintf(&body, ",%q:%s", section.Name, section.JSON)
	}
	body.WriteByte('}')
	if !asJSON {
		return console.ToYAML(body.Bytes())
	}
	var out bytes.Buffer
	if err := json.Indent(&out, body.Bytes(), "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// exportFiles writes a file for each section.
func (s *session) exportFiles(export *manifest.Export, flags exportFlags) error {
	if err := os.MkdirAll(flags.split, 0o750); err != nil {
		return console.Errorf(console.Usage, "--split: %w", err)
	}
	ending := ".yaml"
	if s.Format == console.JSON {
		ending = ".json"
	}
	for _, section := range export.Sections {
		text, err := exported([]manifest.Section{section}, flags.project, s.Format == console.JSON)
		if err != nil {
			return err
		}
		path := filepath.Join(flags.split, section.Name+ending)
		if err := os.WriteFile(path, text, 0o640); err != nil { //nolint:gosec // the user names the directory
			return err
		}
		if _, err := fmt.Fprintln(s.Out, path); err != nil {
			return err
		}
	}
	return nil
}

// adoptExported lets the project manage what was exported.
func (s *session) adoptExported(ctx context.Context, export *manifest.Export, project string) error {
	progress := s.Progress("adopting")
	defer progress.Done()
	adopted := 0
	for i, one := range export.Keys {
		if one.Managed {
			continue
		}
		progress.Set("adopting %d of %d", i+1, len(export.Keys))
		kind, err := kindOf(one.Kind)
		if err != nil {
			return err
		}
		object := ownedObject{kind: kind}
		if object.ID, err = uuid.Parse(one.ID); err != nil {
			return err
		}
		if _, err := s.setManager(ctx, object, &manager{Tool: applyTool, Project: project, Key: one.Key}); err != nil {
			return console.Errorf(console.CodeOf(err), "%s %q is not adopted: %w", strings.ReplaceAll(one.Kind, "_", " "), one.Name, err)
		}
		adopted++
	}
	s.Note("Project %s manages %s more. Next: vigil plan", project, counted(adopted, "object"))
	return nil
}
