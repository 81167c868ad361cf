// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

// ownedKind is a kind of object that a project can manage.
type ownedKind struct {
	name, path string
}

func ownedKinds() []ownedKind {
	return []ownedKind{
		{"check", "/v1/checks"},
		{"rule", "/v1/alert-rules"},
		{"channel", "/v1/notification-channels"},
		{"status-page", "/v1/status-pages"},
		{"maintenance", "/v1/maintenance-windows"},
		{"subscription", "/v1/subscriptions"},
	}
}

// absent reports whether an error says that the server does not know the kind.
func (k ownedKind) absent(err error) bool {
	return (k.name == "maintenance" || k.name == "subscription") && console.CodeOf(err) == console.NotFound
}

func kindNames() []string {
	var names []string
	for _, kind := range ownedKinds() {
		names = append(names, kind.name)
	}
	return names
}

func kindOf(name string) (ownedKind, error) {
	for _, kind := range ownedKinds() {
		if kind.name == name || kind.name == strings.ReplaceAll(name, "_", "-") {
			return kind, nil
		}
	}
	return ownedKind{}, console.Errorf(console.Usage, "%q is no kind of object; it must be %s", name, strings.Join(kindNames(), ", "))
}

// manager is what manages an object: the member managed_by.
type manager = client.ManagedBy

// fetch lists the objects of a kind whose name contains a text.
func (s *session) fetch(ctx context.Context, kind ownedKind, editors ...client.RequestEditorFn) func(text string) fetchPage {
	return func(text string) fetchPage {
		if kind.name == "status-page" || kind.name == "maintenance" {
			text = "" // their lists have no filter by name
		}
		return func(page client.RequestEditorFn) (*http.Response, error) {
			return s.send(ctx, http.MethodGet, kind.path, nil, append(slices.Clone(editors), query("query", text), page)...)
		}
	}
}

// owned finds an object of a kind.
func (s *session) owned(ctx context.Context, kind ownedKind, ref string) (named, error) {
	return s.resolve(strings.ReplaceAll(kind.name, "-", " "), ref, s.fetch(ctx, kind))
}

// setManager sets managed_by of an object; nil releases it.
func (s *session) setManager(ctx context.Context, one ownedObject, by *manager) ([]byte, error) {
	body, err := json.Marshal(map[string]any{"managed_by": by})
	if err != nil {
		return nil, err
	}
	path := one.kind.path + "/" + one.ID.String()
	if one.kind.name == "rule" {
		if one.CheckID == uuid.Nil {
			response, err := s.send(ctx, http.MethodGet, path, nil)
			answer, _, err := read[struct {
				Data named `json:"data"`
			}](s, response, err)
			if err != nil {
				return nil, err
			}
			one.CheckID = answer.Data.CheckID
		}
		path = "/v1/checks/" + one.CheckID.String() + "/alerts/" + one.ID.String()
	}
	response, err := s.send(ctx, http.MethodPut, path, body)
	return s.body(response, err)
}

func (a *app) adoptCommand() *cobra.Command {
	var as string
	cmd := &cobra.Command{
		Use:   "adopt <kind> <object> --as PROJECT/KEY",
		Short: "Let the files of a project manage an object that exists",
		Long: "Let the files of a project manage an object that exists, under the key that it has in the files. The object itself\n" +
			"is not changed before the next `vigil apply`. The kinds are " + strings.Join(kindNames(), ", ") + ".\n" +
			"The key of a rule is that of its check and its own, such as shop/home/down.",
		Example: "  vigil adopt check a07e51b9 --as shop/api",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return console.Errorf(console.Usage, "adopt needs a kind and an object, such as: vigil adopt check a07e51b9 --as shop/api")
			}
			return nil
		},
		ValidArgsFunction: completeKinds,
	}
	cmd.Flags().StringVar(&as, "as", "", "`project/key` that the object has in the files")
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		project, key, ok := strings.Cut(as, "/")
		if !ok || project == "" || key == "" {
			return console.Errorf(console.Usage, "--as is %q; it must be a project and a key, such as shop/api", as)
		}
		kind, err := kindOf(args[0])
		if err != nil {
			return err
		}
		found, err := s.owned(ctx, kind, args[1])
		if err != nil {
			return err
		}
		body, err := s.setManager(ctx, ownedObject{kind, found}, &manager{Tool: applyTool, Project: project, Key: key})
		if err != nil {
			return err
		}
		return s.printOwned(body)
	})
	return cmd
}

// applyTool is the program in managed_by of what the files of a project manage.
const applyTool = "apply"

func completeKinds(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return kindNames(), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// printOwned prints an object with its manager.
func (s *session) printOwned(body []byte) error {
	var answer struct {
		Data named `json:"data"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return err
	}
	return s.Print(console.Answer{Body: body, Parts: []console.Part{ownedTable([]named{answer.Data})}})
}

func ownedTable(all []named) console.List {
	table := console.List{Columns: console.Columns("ID", "NAME", "MANAGED BY")}
	for _, one := range all {
		table.Rows = append(table.Rows, []console.Cell{console.ID(one.ID.String()), console.Text(one.label()), managedBy(one.ManagedBy)})
	}
	return table
}

// managedBy shows what manages an object.
func managedBy(by *manager) console.Cell {
	if by == nil {
		return console.Word("")
	}
	return console.Text(by.Tool + " " + by.Project + "/" + by.Key)
}

func (a *app) releaseCommand() *cobra.Command {
	var project string
	cmd := &cobra.Command{
		Use:   "release [<kind> <object>...]",
		Short: "Stop managing objects by files, and keep them",
		Long: "Stop managing objects by the files of a project. The objects stay as they are. Name a kind and its objects, or\n" +
			"release everything of a project with --project. The rules of a check are released with it. " +
			"The kinds are " + strings.Join(kindNames(), ", ") + ".",
		Example: "  vigil release check shop/api\n  vigil release --project shop",
		Args: func(_ *cobra.Command, args []string) error {
			if (len(args) >= 2) == (project != "") || len(args) == 1 {
				return console.Errorf(console.Usage, "release needs a kind and objects, such as: vigil release check shop/api, or --project")
			}
			return nil
		},
		ValidArgsFunction: completeKinds,
	}
	cmd.Flags().StringVar(&project, "project", "", "release everything that the files of a `project` manage")
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		if project != "" {
			return s.releaseProject(ctx, project)
		}
		kind, err := kindOf(args[0])
		if err != nil {
			return err
		}
		var all []ownedObject
		for _, ref := range args[1:] {
			found, err := s.owned(ctx, kind, ref)
			if err != nil {
				return err
			}
			all = append(all, ownedObject{kind, found})
			if kind.name == "check" {
				rules, err := s.managedRules(ctx, found.ID)
				if err != nil {
					return err
				}
				all = append(all, rules...)
			}
		}
		return s.release(ctx, all)
	})
	return cmd
}

type ownedObject struct {
	kind ownedKind
	named
}

// managedRules lists the rules of a check that files manage: they do not outlive it there.
func (s *session) managedRules(ctx context.Context, check uuid.UUID) ([]ownedObject, error) {
	kind, err := kindOf("rule")
	if err != nil {
		return nil, err
	}
	found, err := list[named](s, maxScan, s.fetch(ctx, kind, query("check_id", check.String(), "tool", applyTool))(""))
	var rules []ownedObject
	for _, one := range found.data {
		rules = append(rules, ownedObject{kind, one})
	}
	return rules, err
}

// releaseProject releases everything of a project after a confirmation.
func (s *session) releaseProject(ctx context.Context, project string) error {
	all, err := s.ofProject(ctx, project)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return console.Errorf(console.NotFound, "the project %q manages nothing", project)
	}
	change := console.Change{Action: "release", Kind: "object"}
	for _, one := range all {
		change.Objects = append(change.Objects, console.Object{ID: one.ID.String(), Name: one.kind.name + " " + one.label()})
	}
	if err := s.Confirm(change); err != nil {
		return err
	}
	return s.release(ctx, all)
}

// ofProject lists what the files of a project manage.
func (s *session) ofProject(ctx context.Context, project string) ([]ownedObject, error) {
	var all []ownedObject
	for _, kind := range ownedKinds() {
		found, err := list[named](s, maxScan, s.fetch(ctx, kind, query("tool", applyTool, "project", project))(""))
		if err != nil && !kind.absent(err) {
			return nil, err
		}
		for _, one := range found.data {
			all = append(all, ownedObject{kind, one})
		}
	}
	return all, nil
}

func (s *session) release(ctx context.Context, all []ownedObject) error {
	progress := s.Progress("releasing")
	var bodies []json.RawMessage
	var released []named
	for i, one := range all {
		progress.Set("releasing %d of %d", i+1, len(all))
		body, err := s.setManager(ctx, one, nil)
		if err != nil {
			progress.Done()
			return err
		}
		var answer struct {
			Data json.RawMessage `json:"data"`
		}
		var object named
		if json.Unmarshal(body, &answer) == nil && json.Unmarshal(answer.Data, &object) == nil {
			bodies, released = append(bodies, answer.Data), append(released, object)
		}
	}
	progress.Done()
	body, err := json.Marshal(map[string]any{"data": bodies})
	if err != nil {
		return err
	}
	return s.Print(console.Answer{Body: body, Parts: []console.Part{ownedTable(released)}})
}
