// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

func (a *app) orgCommand() *cobra.Command {
	return Group("org", "Show, rename and delete the organization", a.orgGetCommand(), a.orgRenameCommand())
}

func (a *app) orgGetCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "get", Short: "Show the organization of the key", Args: cobra.NoArgs}
	cmd.RunE = a.does(func(ctx context.Context, s *session, _ []string) error {
		response, err := s.api.GetOrganization(ctx)
		answer, body, err := read[client.OrganizationAnswer](s, response, err)
		if err != nil {
			return err
		}
		return s.printOrganization(answer.Data, body)
	})
	return cmd
}

func (a *app) orgRenameCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rename <name>", Short: "Rename the organization; its slug stays", Example: `  vigil org rename "Shop Ltd"`,
		Args: oneOf("a name, in quotes when it has spaces"),
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		response, err := s.api.RenameOrganization(ctx, client.OrganizationRequest{Name: args[0]})
		answer, body, err := read[client.OrganizationAnswer](s, response, err)
		if err != nil {
			return err
		}
		return s.printOrganization(answer.Data, body)
	})
	return cmd
}

func (s *session) printOrganization(org client.Organization, body []byte) error {
	return s.Print(console.Answer{Body: body, Names: []string{org.Id.String()}, Parts: []console.Part{console.List{
		Columns: console.Columns("ID", "NAME", "SLUG", "TIER", "+CREATED"),
		Rows: [][]console.Cell{
			{
				console.ID(
					org.Id.String(),
				),
				console.Text(org.Name),
				console.Word(org.Slug),
				console.Word(string(org.Tier)),
				console.Time(&org.CreatedAt),
			},
		},
	}}})
}
