// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
)

// organizationStore keeps organizations.
type organizationStore interface {
	Organization(ctx context.Context, id uuid.UUID) (account.Organization, error)
	RenameOrganization(ctx context.Context, orgID uuid.UUID, name string, by account.Credential) (account.Organization, error)
	DeleteOrganization(
		ctx context.Context,
		orgID uuid.UUID,
		confirm string,
		by account.Credential,
	) (account.Organization, []account.User, error)
}

// organizations is about the organization of the caller.
type organizations struct {
	store organizationStore
	auth  *Authenticator
	mail  *accountMail
}

type deleteOrganizationBody struct {
	Confirm string `json:"confirm" maxLength:"200" doc:"The name of the organization." example:"Analytical Engines"`
}

type organizationBody struct {
	Name string `json:"name" minLength:"1" maxLength:"200" example:"Analytical Engines"`

	ID        any `json:"id,omitempty" readOnly:"true" doc:"Ignored."`
	Slug      any `json:"slug,omitempty" readOnly:"true" doc:"Ignored."`
	Tier      any `json:"tier,omitempty" readOnly:"true" doc:"Ignored."`
	CreatedAt any `json:"created_at,omitempty" readOnly:"true" doc:"Ignored."`
	UpdatedAt any `json:"updated_at,omitempty" readOnly:"true" doc:"Ignored."`
}

func (o *organizations) Register(r *rest.Registrar) {
	const path = "/v1/organization"
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: path, ID: "get-organization", Tag: resource.TagOrganization,
		Summary: "Get the organization of the credential",
	}, func(ctx context.Context, _ *struct{}) (*rest.Answer[organizationView], error) {
		org, err := o.store.Organization(ctx, rest.CallerOf(ctx).Org.ID)
		if err != nil {
			return nil, err
		}
		return rest.NewAnswer(showOrganization(org)), nil
	})
	rest.Register(r, rest.Operation{
		Method:      http.MethodPut,
		Path:        path,
		ID:          "rename-organization",
		Tag:         resource.TagOrganization,
		Scope:       account.ScopeAdmin,
		Audit:       "organization.update",
		Summary:     "Rename the organization",
		Description: "Its `slug`, and the addresses of its status pages, stay. Messages about incidents that begin later have the new name.",
	}, o.rename)
	rest.Register(r, rest.Operation{
		Method: http.MethodDelete, Path: path, ID: "delete-organization", Tag: resource.TagOrganization, Scope: account.ScopeAdmin,
		Status: http.StatusNoContent, Audit: "organization.delete", Errors: []int{http.StatusConflict},
		Summary: "Delete the organization with everything that it has",
		Description: "Deletes the accounts of all its members. Sessions, API keys, invitations and status pages end at once, " +
			"everywhere within 5 seconds. Checks are deleted next, with the ends of their open incidents sent for up to an hour; " +
			"then everything else. It cannot be undone. The owners are mailed. " +
			"The organization of the platform's operator cannot be deleted (409).",
	}, o.delete)
}

func (o *organizations) delete(ctx context.Context, in *struct{ Body deleteOrganizationBody }) (*struct{}, error) {
	who := rest.CallerOf(ctx)
	rest.AuditResource(ctx, who.Org.ID)
	org, owners, err := o.store.DeleteOrganization(ctx, who.Org.ID, in.Body.Confirm, who.Credential())
	if err != nil {
		return nil, err
	}
	o.auth.forgetOrganization(org.ID)
	rest.RequestOf(ctx).Log().LogAttrs(ctx, slog.LevelInfo, "organization deleted",
		slog.String("organization", org.ID.String()), slog.String("user", who.User.ID.String()), slog.String("email", who.User.Email))
	for _, owner := range owners {
		o.mail.organizationDeleted(ctx, owner, who.User, org)
	}
	return nil, nil //nolint:nilnil // Huma's way to answer without a body
}

func (o *organizations) rename(ctx context.Context, in *struct{ Body organizationBody }) (*rest.Answer[organizationView], error) {
	name, err := rest.CleanName("name", in.Body.Name)
	if err != nil {
		return nil, err
	}
	who := rest.CallerOf(ctx)
	rest.AuditResource(ctx, who.Org.ID)
	org, err := o.store.RenameOrganization(ctx, who.Org.ID, name, who.Credential())
	if err != nil {
		return nil, err
	}
	o.auth.forgetOrganization(org.ID)
	return rest.NewAnswer(showOrganization(org)), nil
}
