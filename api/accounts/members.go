// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/listing"
)

// memberStore keeps the members of organizations.
type memberStore interface {
	Members(ctx context.Context, orgID uuid.UUID, page listing.Page) ([]account.User, int, error)
	Owners(ctx context.Context, orgID uuid.UUID) ([]account.User, error)
	SetRole(
		ctx context.Context,
		orgID, userID uuid.UUID,
		role account.Role,
		by account.Credential,
	) (user account.User, changed bool, err error)
	RemoveMember(ctx context.Context, orgID, userID uuid.UUID, by account.Credential) error
	invitationStore
}

// members are the users of an organization, and those who are invited.
type members struct {
	store     memberStore
	auth      *Authenticator
	passwords *passwords
	mail      *accountMail
}

// resourceMember names a member in errors.
const resourceMember = "member"

type roleBody struct {
	Role string `json:"role" enum:"owner,editor,responder,viewer" doc:"What the member may do: owner (everything), editor (read, respond, write), responder (read, respond) or viewer (read)."`

	ID            any `json:"id,omitempty" readOnly:"true" doc:"Ignored."`
	Email         any `json:"email,omitempty" readOnly:"true" doc:"Ignored."`
	EmailVerified any `json:"email_verified,omitempty" readOnly:"true" doc:"Ignored."`
	Name          any `json:"name,omitempty" readOnly:"true" doc:"Ignored."`
	CreatedAt     any `json:"created_at,omitempty" readOnly:"true" doc:"Ignored."`
	UpdatedAt     any `json:"updated_at,omitempty" readOnly:"true" doc:"Ignored."`
}

type roleInput struct {
	rest.IDPath

	Body roleBody
}

func (m *members) Register(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: "/v1/members", ID: "list-members", Tag: resource.TagMembers,
		Summary: "List the members of the organization, oldest first",
	}, func(ctx context.Context, in *struct{ rest.PageQuery }) (*rest.Listing[userView], error) {
		users, total, err := m.store.Members(ctx, rest.CallerOf(ctx).Org.ID, in.Page())
		if err != nil {
			return nil, err
		}
		return rest.NewListing(users, total, showUser), nil
	})
	rest.Register(r, rest.Operation{
		Method:   http.MethodPut,
		Path:     "/v1/members/{id}",
		ID:       "update-member",
		Tag:      resource.TagMembers,
		Scope:    account.ScopeAdmin,
		Audit:    "member.update",
		Resource: resourceMember,
		Errors:   []int{http.StatusConflict, http.StatusForbidden},
		Summary:  "Change the role of a member",
		Description: "Sessions and API keys of the member lose what the role does not allow, everywhere within 5 seconds. " +
			"The last owner stays one. A credential gives no role that may do more than itself, and an API key makes no owner. " +
			"A member who is no owner any more loses the open invitations that the member made. The owners are mailed about a new owner.",
	}, m.setRole)
	rest.Register(r, rest.Operation{
		Method: http.MethodDelete, Path: "/v1/members/{id}", ID: "delete-member", Tag: resource.TagMembers, Scope: account.ScopeAdmin,
		Status: http.StatusNoContent, Audit: "member.delete", Resource: resourceMember, Errors: []int{http.StatusConflict},
		Summary: "Remove a member",
		Description: "Ends the member's sessions and API keys, and the invitations that the member made. What the member created stays. " +
			"The last owner cannot be removed.",
	}, m.remove)
	m.registerInvitations(r)
}

func (m *members) setRole(ctx context.Context, in *roleInput) (*rest.Answer[userView], error) {
	id, err := in.Parse(resourceMember)
	if err != nil {
		return nil, err
	}
	role, err := account.ParseRole("role", in.Body.Role)
	if err != nil {
		return nil, err
	}
	who := rest.CallerOf(ctx)
	user, changed, err := m.store.SetRole(ctx, who.Org.ID, id, role, who.Credential())
	if err != nil {
		return nil, err
	}
	m.auth.forgetUser(user.ID)
	if changed && role == account.RoleOwner {
		m.tellOwners(ctx, user, "was made an owner of")
	}
	return rest.NewAnswer(showUser(user)), nil
}

func (m *members) remove(ctx context.Context, in *rest.IDPath) (*struct{}, error) {
	id, err := in.Parse(resourceMember)
	if err != nil {
		return nil, err
	}
	who := rest.CallerOf(ctx)
	if err := m.store.RemoveMember(ctx, who.Org.ID, id, who.Credential()); err != nil {
		return nil, err
	}
	m.auth.forgetUser(id)
	return nil, nil //nolint:nilnil // Huma's way to answer without a body
}

// tellOwners mails the other owners of an organization what happened to a member.
func (m *members) tellOwners(ctx context.Context, member account.User, what string) {
	m.mail.tasks.Start(ctx, "tell the owners of a member", func(ctx context.Context) error {
		org, err := m.mail.store.Organization(ctx, member.OrgID)
		if err != nil {
			return err
		}
		owners, err := m.store.Owners(ctx, member.OrgID)
		for _, owner := range owners {
			if owner.ID != member.ID {
				m.mail.memberChanged(ctx, owner, member, org, what)
			}
		}
		return err
	})
}
