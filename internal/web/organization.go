// SPDX-License-Identifier: Apache-2.0

package web

import "net/http"

// organizationRoutes are the pages about the organization itself.
func (s *Server) organizationRoutes(on *routes) {
	on.page("GET /app/organization", func(r *request) error { return r.renderOrganization(renameForm(r)) })
	on.page("POST /app/organization", s.renameOrganization)
}

// organizationBody is the page of the organization. A form that was refused shows what was typed.
type organizationBody struct {
	Facts  []fact
	Owner  bool // the reader may change it
	Rename *form
	Ping   *pingKeySection // nil for those who may not see the ping key
}

func renameForm(r *request) *form {
	f := newForm(r)
	f.Heading = "The name stays as it is."
	f.add(field{
		Name: "name", Label: "Name", Autofill: "organization", Required: true,
		Help: "Messages about later incidents have it. The addresses of status pages stay.",
	})
	return f
}

func (r *request) renderOrganization(rename *form) error {
	me, err := r.api.GetMeWithResponse(r.Context())
	if err != nil {
		return err
	}
	org := me.JSON200.Data.Organization
	made := r.date(org.CreatedAt)
	b := organizationBody{
		Owner: me.JSON200.Data.User.Role == "owner", Rename: rename,
		Facts: []fact{
			{Name: "Name", Value: org.Name},
			{Name: "ID", Value: org.Id.String()},
			{Name: "Slug", Value: org.Slug},
			{Name: "Plan", Value: string(org.Tier)},
			{Name: "Made", Time: &made},
		},
	}
	if b.Ping, err = r.pingKeySection(); err != nil {
		return err
	}
	if rename.Status == http.StatusOK {
		for _, known := range rename.fields {
			known.Value = org.Name
		}
	}
	return r.render(rename.Status, "organization", page{Title: "Organization", Nav: navOrganization, Body: b})
}

func (s *Server) renameOrganization(r *request) error {
	f := renameForm(r)
	answer, err := r.api.RenameOrganizationWithBodyWithResponse(r.Context(), jsonType, f.body("name"))
	if err != nil {
		if !f.refused(err) {
			return err
		}
		return r.renderOrganization(f)
	}
	s.nav.forget(r.who.UserID)
	r.flash(flash{Mark: "done", Text: "The organization is named " + answer.JSON200.Data.Name + "."})
	return r.redirect("/app/organization")
}
