// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/listing"
)

// invitationStore keeps invitations.
type invitationStore interface {
	CreateInvitation(ctx context.Context, invitation account.Invitation, by account.Credential, discreet bool) (account.Invitation, error)
	Invitations(ctx context.Context, orgID uuid.UUID, page listing.Page) ([]account.Invitation, int, error)
	DeleteInvitation(ctx context.Context, orgID, id uuid.UUID) error
	InvitationByHash(ctx context.Context, hash []byte) (account.Invitation, account.Organization, error)
	AcceptInvitation(ctx context.Context, hash []byte, user account.User) (account.User, account.Organization, error)
}

// resourceInvitation names an invitation in errors.
const resourceInvitation = "invitation"

// invitationView is an invitation without its token.
type invitationView struct {
	ID        uuid.UUID    `json:"id" format:"uuid"`
	Email     string       `json:"email" format:"email" example:"grace@example.com"`
	Role      account.Role `json:"role" enum:"owner,editor,responder,viewer"`
	InvitedBy uuid.UUID    `json:"invited_by" format:"uuid" doc:"The member who made it."`
	CreatedAt time.Time    `json:"created_at"`
	ExpiresAt time.Time    `json:"expires_at" doc:"When its link stops to work: 7 days after it was made."`
}

func showInvitation(i account.Invitation) invitationView {
	return invitationView{
		ID: i.ID, Email: i.Email, Role: i.Role, InvitedBy: i.InvitedBy, CreatedAt: i.CreatedAt.UTC(), ExpiresAt: i.ExpiresAt.UTC(),
	}
}

// invitedView is what an invited person needs to know before accepting.
type invitedView struct {
	Email        string       `json:"email" format:"email" doc:"The address that the invitation was mailed to, which the account gets."`
	Role         account.Role `json:"role" enum:"owner,editor,responder,viewer"`
	Organization string       `json:"organization" doc:"Name of the organization." example:"Analytical Engines"`
	ExpiresAt    time.Time    `json:"expires_at"`
}

type invitationBody struct {
	Email string `json:"email" format:"email" maxLength:"254" example:"grace@example.com"`
	Role  string `json:"role" enum:"owner,editor,responder,viewer" doc:"What the member may do: owner (everything), editor (read, respond, write), responder (read, respond) or viewer (read)."`
}

type acceptBody struct {
	Token    string `json:"token" minLength:"1" maxLength:"200" doc:"The token of the mailed link."`
	Name     string `json:"name" minLength:"1" maxLength:"200" example:"Grace"`
	Password string `json:"password" minLength:"8" maxLength:"128" writeOnly:"true" example:"correct horse battery staple"`
}

func (m *members) registerInvitations(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: "/v1/invitations", ID: "list-invitations", Tag: resource.TagMembers, Scope: account.ScopeAdmin,
		Summary: "List the open invitations, newest first",
	}, func(ctx context.Context, in *struct{ rest.PageQuery }) (*rest.Listing[invitationView], error) {
		invitations, total, err := m.store.Invitations(ctx, rest.CallerOf(ctx).Org.ID, in.Page())
		if err != nil {
			return nil, err
		}
		return rest.NewListing(invitations, total, showInvitation), nil
	})
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: "/v1/invitations", ID: "create-invitation", Tag: resource.TagMembers, Scope: account.ScopeAdmin,
		Status: http.StatusCreated, Audit: "invitation.create", Idempotent: true,
		Errors:  []int{http.StatusConflict, http.StatusForbidden, http.StatusTooManyRequests},
		Summary: "Invite a person to the organization",
		Description: "Mails a link that works once, for 7 days. A second invitation to an address replaces the first. " +
			"The address of a member is a conflict. One that has an account in another organization cannot accept: where mail leaves the " +
			"machine the mail to it says so, elsewhere it is a conflict. A credential invites with no role that may do more than itself, and an " +
			"API key invites no owner. Where mail leaves the machine, your own address must be confirmed first.",
	}, m.invite)
	rest.Register(r, rest.Operation{
		Method: http.MethodDelete, Path: "/v1/invitations/{id}", ID: "delete-invitation", Tag: resource.TagMembers, Scope: account.ScopeAdmin,
		Status: http.StatusNoContent, Audit: "invitation.delete", Resource: resourceInvitation,
		Summary: "Revoke an invitation",
	}, func(ctx context.Context, in *rest.IDPath) (*struct{}, error) {
		id, err := in.Parse(resourceInvitation)
		if err != nil {
			return nil, err
		}
		return nil, m.store.DeleteInvitation(ctx, rest.CallerOf(ctx).Org.ID, id)
	})
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: "/v1/invitations/inspect", ID: "inspect-invitation", Tag: resource.TagMembers, Open: true,
		Audit:       rest.NotAudited,
		Summary:     "Describe an invitation by the token of its link",
		Description: "The token stays valid.",
	}, func(ctx context.Context, in *struct{ Body tokenBody }) (*rest.Answer[invitedView], error) {
		invitation, org, err := m.store.InvitationByHash(ctx, hashToken(in.Body.Token))
		if err != nil {
			return nil, err
		}
		return rest.NewAnswer(invitedView{
			Email: invitation.Email, Role: invitation.Role, Organization: org.Name, ExpiresAt: invitation.ExpiresAt.UTC(),
		}), nil
	})
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: "/v1/invitations/accept", ID: "accept-invitation", Tag: resource.TagMembers, Open: true,
		Status: http.StatusCreated, Audit: "invitation.accept", Errors: []int{http.StatusConflict},
		Summary: "Accept an invitation with the token of its link",
		Description: "Makes an account with the address that was invited, which counts as confirmed, and returns a session token. " +
			"The token of the link works once. The owners of the organization are mailed.",
	}, m.accept)
}

func (m *members) invite(ctx context.Context, in *struct{ Body invitationBody }) (*rest.Answer[invitationView], error) {
	email, err := rest.CleanAccountEmail("email", in.Body.Email)
	if err != nil {
		return nil, err
	}
	role, err := account.ParseRole("role", in.Body.Role)
	if err != nil {
		return nil, err
	}
	who := rest.CallerOf(ctx)
	if err := m.mail.mayInvite(ctx, who.User); err != nil {
		return nil, err
	}
	if err := m.mail.admit(ctx, account.ConfirmationQuotas(who.Org.ID, email)); err != nil {
		return nil, err
	}
	token, hash, err := newSecret()
	if err != nil {
		return nil, err
	}
	rest.ShowRepeated(ctx, showInvitation)
	invitation, err := m.store.CreateInvitation(ctx, account.Invitation{
		OrgID: who.Org.ID, Email: email, Role: role, Hash: hash, InvitedBy: who.User.ID,
	}, who.Credential(), m.mail.leaves())
	if err != nil {
		return nil, err
	}
	m.mail.invitation(ctx, who, invitation, token)
	return rest.NewAnswer(showInvitation(invitation)), nil
}

func (m *members) accept(ctx context.Context, in *struct{ Body acceptBody }) (*rest.Answer[authView], error) {
	name, err := rest.CleanName("name", in.Body.Name)
	if err != nil {
		return nil, err
	}
	hash := hashToken(in.Body.Token)
	// The costly hash of a password is made for real tokens only.
	if _, _, err := m.store.InvitationByHash(ctx, hash); err != nil {
		return nil, err
	}
	user := account.User{ID: uuid.New(), Name: name}
	if user.PasswordHash, err = m.passwords.hash(ctx, in.Body.Password); err != nil {
		return nil, err
	}
	if address := rest.RequestOf(ctx).Address; address.IsValid() {
		user.CreatedAddress = address.String()
	}
	user, org, err := m.store.AcceptInvitation(ctx, hash, user)
	if err != nil {
		return nil, err
	}
	m.tellOwners(ctx, user, "is a member of")
	return m.auth.session(user, org)
}
