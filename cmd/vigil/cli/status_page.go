// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

func (a *app) statusPageCommand() *cobra.Command {
	return Group("status-page", "List, read, create and change public status pages",
		a.pageListCommand(), a.pageGetCommand(), a.pageCreateCommand(), a.pageEditCommand(), a.pageDeleteCommand(),
		a.pagePasswordCommand(), a.pageLogoCommand(), a.pageHostCommand(), a.pageSubscribersCommand(), a.pageUnsubscribeCommand())
}

// statusPages returns what lists status pages.
func (s *session) statusPages(ctx context.Context, params client.ListStatusPagesParams) fetchPage {
	return func(page client.RequestEditorFn) (*http.Response, error) {
		return s.api.ListStatusPages(ctx, &params, page)
	}
}

// statusPage finds a status page by its ID or its slug.
func (s *session) statusPage(ctx context.Context, ref string) (named, error) {
	return s.resolve("status page", ref, func(string) fetchPage { return s.statusPages(ctx, client.ListStatusPagesParams{}) })
}

func suggestPages(ctx context.Context, s *session, _ string) ([]string, error) {
	all, err := list[client.StatusPage](s, suggested, s.statusPages(ctx, client.ListStatusPagesParams{}))
	var slugs []string
	for _, page := range all.data {
		slugs = append(slugs, page.Slug)
	}
	return slugs, err
}

func pageColumns() []console.Column {
	return console.Columns("ID", "SLUG", "TITLE", "STATE", "CHECKS", "URL", "+MANAGED BY")
}

func pageRow(p client.StatusPage) []console.Cell {
	state, checks := "enabled", 0
	if !p.Enabled {
		state = "disabled"
	}
	for _, group := range p.Groups {
		checks += len(group.Checks)
	}
	return []console.Cell{
		console.ID(p.Id.String()), console.Word(p.Slug), console.Text(p.Title), health(state), console.Number(int64(checks)), console.Word(p.Url),
		managedBy(p.ManagedBy),
	}
}

func (s *session) printPage(answer client.StatusPageAnswer, body []byte, err error) error {
	if err != nil {
		return err
	}
	return s.Print(console.Answer{Body: body, Parts: []console.Part{
		console.List{Columns: pageColumns(), Rows: [][]console.Cell{pageRow(answer.Data)}},
	}})
}

func (a *app) pageListCommand() *cobra.Command {
	var limit int
	var project string
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List status pages", Args: cobra.NoArgs}
	limitFlag(cmd, &limit, unlimited)
	cmd.Flags().StringVar(&project, "project", "", "only those that the files of a `project` manage")
	a.watched(cmd, func(ctx context.Context, s *session, _ []string) error {
		all, err := list[client.StatusPage](s, limit, s.statusPages(ctx, client.ListStatusPagesParams{Project: optional(project)}))
		if err != nil {
			return err
		}
		return show(s, all, console.List{Columns: pageColumns(), Empty: "No status pages."}, pageRow)
	})
	return cmd
}

func (a *app) pageGetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "get <page>", Short: "Show a status page, by its slug or ID", Args: oneOf("a status page"),
		ValidArgsFunction: a.suggest(suggestPages),
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.statusPage(ctx, args[0])
		if err != nil {
			return err
		}
		response, err := s.api.GetStatusPage(ctx, found.ID, nil)
		answer, body, err := read[client.StatusPageAnswer](s, response, err)
		if err != nil {
			return err
		}
		fields := fieldsOf(pageColumns(), pageRow(answer.Data))
		fields[0].Value = console.Word(answer.Data.Id.String())
		for _, group := range answer.Data.Groups {
			names := make([]string, len(group.Checks))
			for i, check := range group.Checks {
				names[i] = check.Name
			}
			fields = append(fields, console.Field{Name: fmt.Sprintf("group %q", group.Name), Value: console.Text(strings.Join(names, ", "))})
		}
		return s.Print(console.Answer{Body: body, Parts: []console.Part{fields}})
	})
	return cmd
}

func (a *app) pageCreateCommand() *cobra.Command {
	var pageTitle string
	var checks []string
	cmd := &cobra.Command{
		Use: "create <slug>", Short: "Create a status page, which is public under its slug", Args: oneOf("a slug"),
		Example: "  vigil status-page create shop --title 'Shop status' --check Shop --check 'Database=Orders'",
	}
	cmd.Flags().StringVar(&pageTitle, "title", "", "`title` of the page (default: the slug)")
	cmd.Flags().StringArrayVar(&checks, "check", nil, "`check` to show, or check=name for another name on the page; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("check", a.suggest(suggestChecks))
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		group := []map[string]any{}
		for _, text := range checks {
			ref, name, renamed := strings.Cut(text, "=")
			found, err := s.check(ctx, ref)
			if err != nil {
				return err
			}
			if !renamed {
				name = cmp.Or(found.Name, ref) // a part of an id is no name for the public
			}
			group = append(group, map[string]any{"check_id": found.ID, "name": name})
		}
		body := map[string]any{"slug": args[0], "title": pageTitle}
		if pageTitle == "" {
			body["title"] = args[0]
		}
		if len(group) > 0 {
			body["groups"] = []any{map[string]any{"name": "", "checks": group}}
		}
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		response, err := s.api.CreateStatusPageWithBody(ctx, nil, "application/json", bytes.NewReader(text), once())
		return s.printPage(read[client.StatusPageAnswer](s, response, err))
	})
	return cmd
}

func (a *app) pageEditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "edit <page>", Short: "Change a status page in your editor", Args: oneOf("a status page"),
		ValidArgsFunction: a.suggest(suggestPages),
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.statusPage(ctx, args[0])
		if err != nil {
			return err
		}
		return s.edit(ctx, editing{
			get: func() (*http.Response, error) { return s.api.GetStatusPage(ctx, found.ID, nil) },
			put: func(body []byte, match client.RequestEditorFn) (*http.Response, error) {
				return s.api.UpdateStatusPageWithBody(ctx, found.ID, nil, "application/json", bytes.NewReader(body), match)
			},
			print: func(response *http.Response, err error) error {
				return s.printPage(read[client.StatusPageAnswer](s, response, err))
			},
		})
	})
	return cmd
}

func (a *app) pageDeleteCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete <page>", Short: "Delete a status page", Args: oneOf("a status page"), ValidArgsFunction: a.suggest(suggestPages),
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.statusPage(ctx, args[0])
		if err != nil {
			return err
		}
		return s.remove("delete", "status page", found.ID, found.label(), func() (*http.Response, error) {
			return s.api.DeleteStatusPage(ctx, found.ID, nil)
		})
	})
	return cmd
}
