// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
)

// memberRoutes are the pages about who belongs to the organization.
func (s *Server) memberRoutes(on *routes) {
	on.page("GET /app/members", func(r *request) error { return r.renderMembers(inviteForm(r)) })
	on.page("POST /app/members", s.invite)
	on.page("POST /app/members/{id}/role", s.setRole)
	on.page("GET /app/members/{id}/remove", s.askRemoveMember)
	on.page("POST /app/members/{id}/remove", s.removeMember)
	on.page("POST /app/invitations/{id}/revoke", s.revokeInvitation)
	on.open("GET /app/invitation", s.invitationPage)
	on.open("POST /app/invitation", s.acceptInvitation)
}

// roles are the choices of a role with what each may do.
func roles(chosen string) []option {
	options := []option{
		{Value: "owner", Text: "Owner: everything"},
		{Value: "editor", Text: "Editor: checks, channels, rules and incidents"},
		{Value: "responder", Text: "Responder: acts on incidents"},
		{Value: "viewer", Text: "Viewer: looks"},
	}
	for i := range options {
		options[i].Chosen = options[i].Value == chosen
	}
	return options
}

// roleText is a role for a person.
func roleText(role string) string {
	for _, known := range roles("") {
		if known.Value == role {
			name, _, _ := strings.Cut(known.Text, ":")
			return name
		}
	}
	return role
}

type membersBody struct {
	Owner       bool // the reader is one, and may change members
	Members     []memberRow
	More        int64 // members that are not listed
	Invitations []invitationRow
	Invite      *form
}

// memberRow is a member in the list.
type memberRow struct {
	ID, Name, Email string
	Unconfirmed     bool
	Role            string
	Roles           []option
	Since           stamp
	You             bool
}

// invitationRow is an open invitation.
type invitationRow struct {
	ID, Email, Role, By string
	Ends                stamp
}

func inviteForm(r *request) *form {
	f := newForm(r)
	f.Heading = "No invitation is made yet."
	f.add(field{Name: "email", Label: "Email", Type: "email", Autofill: "off", Required: true})
	f.add(field{Name: "role", Label: "Role", Type: "select", Value: "editor", Options: roles("editor")})
	return f
}

// maxMembers is how many members the page lists.
const maxMembers = int64(100)

func (r *request) renderMembers(invite *form) error {
	me, err := r.api.GetMeWithResponse(r.Context())
	if err != nil {
		return err
	}
	limit := maxMembers
	list, err := r.api.ListMembersWithResponse(r.Context(), &client.ListMembersParams{Limit: &limit})
	if err != nil {
		return err
	}
	b := membersBody{
		Invite: invite, More: totalOf(list.JSON200.Meta) - int64(len(list.JSON200.Data)), Owner: me.JSON200.Data.User.Role == "owner",
	}
	names := make(map[uuid.UUID]string)
	for _, member := range list.JSON200.Data {
		names[member.Id] = member.Name
		role := string(member.Role)
		b.Members = append(b.Members, memberRow{
			ID: member.Id.String(), Name: member.Name, Email: string(member.Email), Unconfirmed: !member.EmailVerified, Role: roleText(role),
			Roles: roles(role), Since: r.date(member.CreatedAt), You: member.Id == r.who.UserID,
		})
	}
	if b.Owner {
		open, err := r.api.ListInvitationsWithResponse(r.Context(), &client.ListInvitationsParams{Limit: &limit})
		if err != nil {
			return err
		}
		for _, invitation := range open.JSON200.Data {
			b.Invitations = append(b.Invitations, invitationRow{
				ID: invitation.Id.String(), Email: string(invitation.Email), Role: roleText(string(invitation.Role)),
				By: names[invitation.InvitedBy], Ends: r.date(invitation.ExpiresAt),
			})
		}
	}
	return r.render(invite.Status, "members", page{Title: "Members", Nav: navMembers, Body: b})
}

func (s *Server) invite(r *request) error {
	f := inviteForm(r)
	answer, err := r.api.CreateInvitationWithBodyWithResponse(r.Context(), nil, jsonType, f.body("email", "role"))
	if err != nil {
		if !f.refused(err) {
			return err
		}
		return r.renderMembers(f)
	}
	r.flash(flash{Mark: "done", Text: "An invitation is mailed to " + string(answer.JSON201.Data.Email) + "."})
	return r.redirect("/app/members")
}

// setRole changes a role. What the API refuses is shown above the list.
func (s *Server) setRole(r *request) error {
	id, err := r.pathID("id")
	if err != nil {
		return err
	}
	f := newForm(r)
	f.Heading = "The role stays as it is."
	f.add(field{Name: "role", Label: "Role"})
	answer, err := r.api.UpdateMemberWithBodyWithResponse(r.Context(), id, jsonType, f.body("role"))
	if err != nil {
		return r.refusedMember(f, err)
	}
	member := answer.JSON200.Data
	r.flash(flash{Mark: "done", Text: member.Name + " is now " + strings.ToLower(roleText(string(member.Role))) + "."})
	return r.redirect("/app/members")
}

// refusedMember shows the list with what the API said about a change of a member.
func (r *request) refusedMember(refused *form, err error) error {
	if !refused.refused(err) {
		return err
	}
	invite := inviteForm(r)
	for _, known := range invite.fields {
		if known.Name == "role" {
			known.Value, known.Options = "editor", roles("editor") // not the role of the member
		}
	}
	invite.Status, invite.Message, invite.Problems, invite.Heading = refused.Status, refused.Message, refused.Problems, refused.Heading
	return r.renderMembers(invite)
}

// askRemoveMember asks before a member is removed.
func (s *Server) askRemoveMember(r *request) error {
	id, err := r.pathID("id")
	if err != nil {
		return err
	}
	member, err := r.member(id)
	if err != nil {
		return err
	}
	ask := confirm{
		Title: "Remove " + member.Name + "?", Names: []string{string(member.Email)}, Button: "Remove",
		Text:   "The sessions and API keys of this member end at once. Checks, channels and rules stay.",
		Action: "/app/members/" + id.String() + "/remove", Back: "/app/members",
	}
	if id == r.who.UserID {
		ask.Title, ask.Button = "Leave the organization?", "Leave"
		ask.Text = "Your account is deleted, with its sessions and API keys. Checks, channels and rules stay."
	}
	return r.render(http.StatusOK, "confirm", page{Title: ask.Title, Nav: navMembers, Body: ask})
}

// member finds a member of the organization.
func (r *request) member(id uuid.UUID) (client.User, error) {
	limit, offset := maxMembers, int64(0)
	for {
		list, err := r.api.ListMembersWithResponse(r.Context(), &client.ListMembersParams{Limit: &limit, Offset: &offset})
		if err != nil {
			return client.User{}, err
		}
		for _, member := range list.JSON200.Data {
			if member.Id == id {
				return member, nil
			}
		}
		if offset += limit; len(list.JSON200.Data) == 0 {
			return client.User{}, &APIError{Status: http.StatusNotFound, Code: "not_found", Message: "There is no such member."}
		}
	}
}

func (s *Server) removeMember(r *request) error {
	id, err := r.pathID("id")
	if err != nil {
		return err
	}
	if _, err := r.api.DeleteMemberWithResponse(r.Context(), id); err != nil {
		f := newForm(r)
		f.Heading = "The member stays."
		return r.refusedMember(f, err)
	}
	if id == r.who.UserID {
		if err := s.sessions.end(r.Context()); err != nil {
			return err
		}
		r.flash(flash{Text: "You have left the organization."})
		return r.redirect("/app/sign-in")
	}
	r.flash(flash{Mark: "done", Text: "The member is removed."})
	return r.redirect("/app/members")
}

func (s *Server) revokeInvitation(r *request) error {
	id, err := r.pathID("id")
	if err != nil {
		return err
	}
	if _, err := r.api.DeleteInvitationWithResponse(r.Context(), id); err != nil && !hasCode(err, "not_found") {
		return err
	}
	r.flash(flash{Mark: "done", Text: "The invitation is revoked."})
	return r.redirect("/app/members")
}
