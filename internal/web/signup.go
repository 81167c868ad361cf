// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"net/http"
	"strings"
)

// signUpRoutes are the pages that make an account.
func (s *Server) signUpRoutes(on *routes) {
	on.open("GET /app/sign-up", func(r *request) error {
		if r.signedIn {
			return r.redirect("/app")
		}
		return r.renderSignUp(signUpForm(r))
	})
	on.open("POST /app/sign-up", s.signUp)
	on.open("GET /app/sign-up/confirm", func(r *request) error { return r.renderConfirm(confirmForm(r), r.FormValue("token")) })
	on.open("POST /app/sign-up/confirm", s.confirmSignUp)
}

func signUpForm(r *request) *form {
	f := newForm(r)
	f.Heading = "No account made yet."
	f.add(field{Name: "name", Label: "Your name", Autofill: "name", Required: true, Focus: true})
	f.add(field{Name: "organization_name", Label: "Organization", Autofill: "organization", Required: true})
	f.add(field{Name: "email", Label: "Email", Type: "email", Autofill: "username", Required: true})
	if !r.s.deps.Config.MailLeaves { // else it is chosen on the page of the mailed link
		f.add(newPasswordField())
	}
	return f
}

func newPasswordField() field {
	return field{
		Name:     "password",
		Label:    "Password",
		Type:     "password",
		Autofill: "new-password",
		Required: true,
		Help:     "8 characters or more.",
	}
}

// signUpBody is the form, or what the API said of a request.
type signUpBody struct {
	Form   *form
	ByMail bool
	Sent   string
}

func (r *request) renderSignUp(f *form) error {
	body := signUpBody{Form: f, ByMail: r.s.deps.Config.MailLeaves}
	return r.render(f.Status, "signup", page{Title: "Create an account", Outside: true, Body: body})
}

// requestSignUp has a link mailed that makes the account. The page is the same whether or not
// the address has one.
func (s *Server) requestSignUp(r *request) error {
	f := signUpForm(r)
	answer, err := r.api.RequestSignupWithBodyWithResponse(r.Context(), jsonType, f.body("name", "organization_name", "email"))
	if err != nil {
		if !f.refused(err) {
			return err
		}
		return r.renderSignUp(f)
	}
	return r.render(http.StatusOK, "signup", page{
		Title: "Create an account", Outside: true, Body: signUpBody{Sent: answer.JSON200.Data.Message},
	})
}

// confirmBody is the page of a mailed link, or what is wrong with it.
type confirmBody struct {
	Token, Name, Email, Organization string
	Form                             *form
	Problem                          string
}

func confirmForm(r *request) *form {
	f := newForm(r)
	f.Heading = "No account made yet."
	f.add(newPasswordField())
	return f
}

func (r *request) renderConfirm(f *form, token string) error {
	text, _ := json.Marshal(map[string]string{"token": token}) // text always encodes
	answer, err := r.api.InspectSignupWithBodyWithResponse(r.Context(), jsonType, strings.NewReader(string(text)))
	if hasCode(err, "invalid_request") {
		problem := "The link was used, or is older than 24 hours. If you have no account yet, ask for another one."
		return r.render(
			http.StatusGone,
			"signup_confirm",
			page{Title: "This link does not work", Outside: true, Body: confirmBody{Problem: problem}},
		)
	}
	if err != nil {
		return err
	}
	asked := answer.JSON200.Data
	return r.render(f.Status, "signup_confirm", page{Title: "Make your account", Outside: true, Body: confirmBody{
		Token: token, Name: asked.Name, Email: string(asked.Email), Organization: asked.OrganizationName, Form: f,
	}})
}

func (s *Server) confirmSignUp(r *request) error {
	f := confirmForm(r)
	answer, err := r.api.ConfirmSignupWithBodyWithResponse(r.Context(), jsonType, f.body("token", "password"))
	if err != nil {
		if !f.refused(err) {
			return err
		}
		f.forgetPasswords()
		return r.renderConfirm(f, f.get("token"))
	}
	if err := r.signIn(answer.JSON201.Data.Token); err != nil {
		return err
	}
	r.flash(flash{Mark: "up", Text: "The account is made."})
	return r.redirect("/app")
}

func (s *Server) signUp(r *request) error {
	if s.deps.Config.MailLeaves {
		return s.requestSignUp(r)
	}
	f := signUpForm(r)
	answer, err := r.api.SignupWithBodyWithResponse(r.Context(), jsonType, f.body("name", "organization_name", "email", "password"))
	if err != nil {
		if !f.refused(err) {
			return err
		}
		f.forgetPasswords()
		return r.renderSignUp(f)
	}
	if err := r.signIn(answer.JSON201.Data.Token); err != nil {
		return err
	}
	r.flash(flash{Mark: "up", Text: "The account is made. A link to confirm your address is in your mail."})
	return r.redirect("/app")
}

// recoverRoutes are the pages that give back access. The link in the mail leads to a page
// of the API.
func (s *Server) recoverRoutes(on *routes) {
	on.open("GET /app/recover", func(r *request) error { return r.renderRecover(recoverForm(r), "") })
	on.open("POST /app/recover", s.recover)
}

func recoverForm(r *request) *form {
	f := newForm(r)
	f.Heading = "No mail sent."
	f.add(field{Name: "email", Label: "Email", Type: "email", Autofill: "username", Required: true, Focus: true})
	return f
}

// recoverBody is the form, or what the API said.
type recoverBody struct {
	Form *form
	Sent string
}

func (r *request) renderRecover(f *form, sent string) error {
	return r.render(f.Status, "recover", page{Title: "Get back into your account", Outside: true, Body: recoverBody{Form: f, Sent: sent}})
}

func (s *Server) recover(r *request) error {
	f := recoverForm(r)
	answer, err := r.api.RecoverAccessWithBodyWithResponse(r.Context(), jsonType, f.body("email"))
	if err != nil {
		if !f.refused(err) {
			return err
		}
		return r.renderRecover(f, "")
	}
	f.Status = http.StatusOK
	return r.renderRecover(f, answer.JSON200.Data.Message)
}
