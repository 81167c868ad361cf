package api

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"vigil"
	"vigil/api/rest"
)

const tagOrganization = "Organization"

// organizationStore keeps organizations.
type organizationStore interface {
	Organization(ctx context.Context, id uuid.UUID) (vigil.Organization, error)
	RenameOrganization(ctx context.Context, orgID uuid.UUID, name string, by vigil.Credential) (vigil.Organization, error)
}

// organizations is about the organization of the caller.
type organizations struct {
	store organizationStore
	auth  *authenticator
}

type organizationBody struct {
	Name string `json:"name" minLength:"1" maxLength:"200" example:"Analytical Engines"`

	ID        any `json:"id,omitempty" readOnly:"true" doc:"Ignored."`
	Slug      any `json:"slug,omitempty" readOnly:"true" doc:"Ignored."`
	Tier      any `json:"tier,omitempty" readOnly:"true" doc:"Ignored."`
	CreatedAt any `json:"created_at,omitempty" readOnly:"true" doc:"Ignored."`
	UpdatedAt any `json:"updated_at,omitempty" readOnly:"true" doc:"Ignored."`
}

func (o *organizations) register(r *rest.Registrar) {
	const path = "/v1/organization"
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: path, ID: "get-organization", Tag: tagOrganization,
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
		Tag:         tagOrganization,
		Scope:       vigil.ScopeAdmin,
		Audit:       "organization.update",
		Summary:     "Rename the organization",
		Description: "Its `slug`, and the addresses of its status pages, stay. Messages about incidents that begin later have the new name.",
	}, o.rename)
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
