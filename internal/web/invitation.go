// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"net/http"
	"strings"
)

// invitedBody is the page of an invitation, or what is wrong with its link.
type invitedBody struct {
	Token                     string
	Organization, Email, Role string
	Form                      *form
	Problem                   string
}

func invitationForm(r *request) *form {
	f := newForm(r)
	f.Heading = "Not accepted yet."
	f.add(field{Name: "name", Label: "Your name", Autofill: "name", Required: true, Focus: true})
	f.add(
		field{Name: "password", Label: "Password", Type: "password", Autofill: "new-password", Required: true, Help: "8 characters or more."},
	)
	return f
}

func (s *Server) invitationPage(r *request) error {
	return r.renderInvitation(invitationForm(r), r.FormValue("token"))
}

// renderInvitation describes an invitation, with a form that accepts it.
func (r *request) renderInvitation(f *form, token string) error {
	text, _ := json.Marshal(map[string]string{"token": token}) // text always encodes
	answer, err := r.api.InspectInvitationWithBodyWithResponse(r.Context(), jsonType, strings.NewReader(string(text)))
	if hasCode(err, "invalid_request") {
		problem := "The invitation was used or revoked, a newer one was mailed, or it is older than 7 days. Ask an owner for another one."
		return r.render(http.StatusGone, "invitation", page{Title: "This link does not work", Outside: true, Body: invitedBody{Problem: problem}})
	}
	if err != nil {
		return err
	}
	invited := answer.JSON200.Data
	return r.render(f.Status, "invitation", page{Title: "Join " + invited.Organization, Outside: true, Body: invitedBody{
		Token:        token,
		Organization: invited.Organization,
		Email:        string(invited.Email),
		Role:         strings.ToLower(roleText(string(invited.Role))),
		Form:         f,
	}})
}

func (s *Server) acceptInvitation(r *request) error {
	f := invitationForm(r)
	token := f.get("token")
	answer, err := r.api.AcceptInvitationWithBodyWithResponse(r.Context(), jsonType, f.body("token", "name", "password"))
	if err != nil {
		if !f.refused(err) {
			return err
		}
		f.forgetPasswords()
		return r.renderInvitation(f, token)
	}
	if err := r.signIn(answer.JSON201.Data.Token); err != nil {
		return err
	}
	r.flash(flash{Mark: "done", Text: "You are a member of " + answer.JSON201.Data.Organization.Name + "."})
	return r.redirect("/app")
}
