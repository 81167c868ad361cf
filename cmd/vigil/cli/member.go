// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

func (a *app) memberCommand() *cobra.Command {
	return Group("member", "List, invite, change and remove members of the organization",
		a.memberListCommand(), a.invitationListCommand(), a.inviteCommand(), a.roleCommand(), a.memberRemoveCommand())
}

// members returns what lists members.
func (s *session) members(ctx context.Context) fetchPage {
	return func(page client.RequestEditorFn) (*http.Response, error) {
		return s.api.ListMembers(ctx, &client.ListMembersParams{}, page)
	}
}

// member finds a member by the ID or the address.
func (s *session) member(ctx context.Context, ref string) (named, error) {
	return s.resolve("member", ref, func(string) fetchPage { return s.members(ctx) })
}

func memberColumns() []console.Column {
	return console.Columns("ID", "EMAIL", "ROLE", "NAME", "VERIFIED", "SINCE")
}

func memberRow(u client.User) []console.Cell {
	verified := "yes"
	if !u.EmailVerified {
		verified = "no"
	}
	return []console.Cell{
		console.ID(u.Id.String()), console.Text(string(u.Email)), console.Word(string(u.Role)), console.Text(u.Name), console.Word(verified),
		console.Time(&u.CreatedAt),
	}
}

func (a *app) memberListCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List members and their roles", Args: cobra.NoArgs}
	limitFlag(cmd, &limit, unlimited)
	a.watched(cmd, func(ctx context.Context, s *session, _ []string) error {
		all, err := list[client.User](s, limit, s.members(ctx))
		if err != nil {
			return err
		}
		return show(s, all, console.List{Columns: memberColumns(), Empty: "No members."}, memberRow)
	})
	return cmd
}

func invitationColumns() []console.Column {
	return console.Columns("ID", "EMAIL", "ROLE", "EXPIRES")
}

func invitationRow(i client.Invitation) []console.Cell {
	return []console.Cell{
		console.ID(i.Id.String()), console.Text(string(i.Email)), console.Word(string(i.Role)), console.Time(&i.ExpiresAt),
	}
}

func (a *app) invitationListCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{Use: "invitations", Short: "List invitations that were not accepted yet", Args: cobra.NoArgs}
	limitFlag(cmd, &limit, unlimited)
	a.watched(cmd, func(ctx context.Context, s *session, _ []string) error {
		all, err := list[client.Invitation](s, limit, func(page client.RequestEditorFn) (*http.Response, error) {
			return s.api.ListInvitations(ctx, &client.ListInvitationsParams{}, page)
		})
		if err != nil {
			return err
		}
		return show(s, all, console.List{Columns: invitationColumns(), Empty: "No invitations."}, invitationRow)
	})
	return cmd
}

// roles are what a member may do, the most first.
func roles() []string { return []string{"owner", "editor", "responder", "viewer"} }

func (a *app) inviteCommand() *cobra.Command {
	var role string
	cmd := &cobra.Command{Use: "invite <email>", Short: "Invite somebody by mail", Args: oneOf("an address")}
	cmd.Flags().StringVar(&role, "role", "viewer", "what the member may do: owner, editor, responder or viewer")
	complete(cmd, "role", roles)
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		text, err := json.Marshal(map[string]string{"email": args[0], "role": role})
		if err != nil {
			return err
		}
		response, err := s.api.CreateInvitationWithBody(ctx, nil, "application/json", bytes.NewReader(text), once())
		answer, body, err := read[client.InvitationAnswer](s, response, err)
		if err != nil {
			return err
		}
		return s.Print(console.Answer{Body: body, Parts: []console.Part{
			console.List{Columns: invitationColumns(), Rows: [][]console.Cell{invitationRow(answer.Data)}},
		}})
	})
	return cmd
}

func (a *app) roleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "role <member> <role>", Short: "Give a member another role: owner, editor, responder or viewer",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return console.Errorf(console.Usage, "role needs a member and a role, such as: vigil member role ada@example.com editor")
			}
			return nil
		},
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.member(ctx, args[0])
		if err != nil {
			return err
		}
		response, err := s.api.UpdateMember(ctx, found.ID, client.RoleRequest{Role: client.RoleRequestRole(args[1])})
		answer, body, err := read[struct {
			Data client.User `json:"data"`
		}](s, response, err)
		if err != nil {
			return err
		}
		return s.Print(console.Answer{Body: body, Parts: []console.Part{
			console.List{Columns: memberColumns(), Rows: [][]console.Cell{memberRow(answer.Data)}},
		}})
	})
	return cmd
}

func (a *app) memberRemoveCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "remove <member>", Short: "Remove a member, whose keys and sessions end", Args: oneOf("a member")}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.member(ctx, args[0])
		if err != nil {
			return err
		}
		return s.remove("remove", "member", found.ID, found.label(), func() (*http.Response, error) { return s.api.DeleteMember(ctx, found.ID) })
	})
	return cmd
}
