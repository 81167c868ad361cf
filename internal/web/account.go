// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"net/http"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/vigil-monitor/vigil/client"
)

// accountRoutes are the pages about the user's own account.
func (s *Server) accountRoutes(on *routes) {
	on.page("GET /app/account", func(r *request) error { return r.renderAccount(emailForm(r), passwordForm(r)) })
	on.page("POST /app/account/email", s.changeEmail)
	on.page("POST /app/account/password", s.changePassword)
	on.page("POST /app/account/verification", s.resendVerification)
	on.page("POST /app/account/sessions/{id}/end", s.endSession)
	on.page("POST /app/account/sign-out-everywhere", s.signOutEverywhere)
}

// accountBody is the page of the account. A form that was refused shows what was typed.
type accountBody struct {
	User        []fact
	Unconfirmed bool
	HasPassword bool
	NoMail      bool // the address is one that no mail reaches
	Role        string
	Sessions    []sessionRow
	More        int64 // sessions that are not listed
	Email       *form
	Password    *form
}

// sessionRow is a session in the list.
type sessionRow struct {
	ID      string
	Browser string
	Address string
	Began   stamp
	Used    stamp
	Current bool
}

func emailForm(r *request) *form {
	f := newForm(r)
	f.Heading = "The address stays as it is."
	f.add(field{
		Name: "new_email", Label: "New address", Type: "email", Autofill: "email", Required: true,
		Help: "It takes the place of the present one when the link that is mailed to it is used.",
	})
	f.add(field{
		Name: "password", Label: "Your password", Type: "password", Autofill: "current-password",
		Help: "Without it, your present address must allow the change by a link.",
	})
	return f
}

func passwordForm(r *request) *form {
	f := newForm(r)
	f.Heading = "The password stays as it is."
	f.add(field{Name: "current_password", Label: "Present password", Type: "password", Autofill: "current-password", Required: true})
	f.add(field{
		Name: "new_password", Label: "New password", Type: "password", Autofill: "new-password", Required: true, Help: "8 characters or more.",
	})
	return f
}

// renderAccount answers with the page and its forms, of which one may have been refused.
func (r *request) renderAccount(email, password *form) error {
	var me *client.GetMeResponse
	var list *client.ListSessionsResponse
	work, ctx := errgroup.WithContext(r.Context())
	work.Go(func() (err error) {
		me, err = r.api.GetMeWithResponse(ctx)
		return err
	})
	work.Go(func() (err error) {
		list, err = r.api.ListSessionsWithResponse(ctx, &client.ListSessionsParams{})
		return err
	})
	if err := work.Wait(); err != nil {
		return err
	}
	known := me.JSON200.Data
	b := accountBody{
		Unconfirmed: !known.User.EmailVerified, HasPassword: known.HasPassword, Role: string(known.User.Role),
		Email: email, Password: password, More: totalOf(list.JSON200.Meta) - int64(len(list.JSON200.Data)),
	}
	b.NoMail = strings.HasSuffix(string(known.User.Email), ".invalid") // RFC 2606
	made := r.date(known.User.CreatedAt)
	b.User = []fact{
		{Name: "Name", Value: known.User.Name},
		{Name: "Role", Value: roleText(string(known.User.Role))},
		{Name: "Organization", Value: known.Organization.Name},
		{Name: "Plan", Value: string(known.Organization.Tier)},
		{Name: "Member since", Time: &made},
	}
	proof := "confirmed"
	if b.Unconfirmed {
		proof = "not confirmed"
	}
	b.User = append(b.User[:1], append([]fact{{Name: "Email", Value: string(known.User.Email) + ", " + proof}}, b.User[1:]...)...)
	current := r.s.sessions.id(r.Context())
	for _, session := range list.JSON200.Data {
		b.Sessions = append(b.Sessions, sessionRow{
			ID: session.Id.String(), Browser: browserOf(session.UserAgent), Address: session.Address,
			Began: r.date(session.CreatedAt), Used: r.ago(session.LastUsedAt), Current: session.Id.String() == current,
		})
	}
	email.forgetPasswords()
	password.forgetPasswords()
	return r.render(max(email.Status, password.Status), "account", page{Title: "Account", Nav: navAccount, Body: b})
}

func (s *Server) changeEmail(r *request) error {
	f := emailForm(r)
	members := []string{"new_email"}
	if f.get("password") != "" {
		members = append(members, "password")
	}
	answer, err := r.api.ChangeEmailWithBodyWithResponse(r.Context(), jsonType, f.body(members...))
	if err != nil {
		if !f.refused(err) {
			return err
		}
		return r.renderAccount(f, &form{Status: http.StatusOK, fields: passwordForm(r).fields})
	}
	r.flash(flash{Mark: "done", Text: answer.JSON200.Data.Message})
	return r.redirect("/app/account")
}

// changePassword begins another session for the user: a new password ends all of them.
func (s *Server) changePassword(r *request) error {
	f := passwordForm(r)
	answer, err := r.api.ChangePasswordWithBodyWithResponse(r.Context(), jsonType, f.body("current_password", "new_password"))
	if err != nil {
		if !f.refused(err) {
			return err
		}
		return r.renderAccount(&form{Status: http.StatusOK, fields: emailForm(r).fields}, f)
	}
	if err := r.signIn(answer.JSON200.Data.Token); err != nil {
		return err
	}
	r.flash(flash{Mark: "done", Text: "The password is changed. Every other session has ended."})
	return r.redirect("/app/account")
}

func (s *Server) resendVerification(r *request) error {
	answer, err := r.api.ResendVerificationWithResponse(r.Context())
	if err != nil {
		return err
	}
	r.flash(flash{Mark: "done", Text: answer.JSON200.Data.Message})
	return r.redirect("/app/account")
}

func (s *Server) endSession(r *request) error {
	id, err := r.pathID("id")
	if err != nil {
		return err
	}
	if _, err := r.api.EndSessionWithResponse(r.Context(), id); err != nil && !hasCode(err, "not_found") {
		return err
	}
	r.flash(flash{Mark: "done", Text: "The session has ended."})
	return r.redirect("/app/account")
}

func (s *Server) signOutEverywhere(r *request) error {
	if _, err := r.api.EndSessionsWithResponse(r.Context()); err != nil {
		return err
	}
	if err := s.sessions.end(context.WithoutCancel(r.Context())); err != nil {
		return err
	}
	r.flash(flash{Text: "You are signed out everywhere."})
	return r.redirect("/app/sign-in")
}
