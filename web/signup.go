package web

import "net/http"

// signUpRoutes are the pages that make an account.
func (s *Server) signUpRoutes(on *routes) {
	on.open("GET /app/sign-up", func(r *request) error {
		if r.signedIn {
			return r.redirect("/app")
		}
		return r.renderSignUp(signUpForm(r))
	})
	on.open("POST /app/sign-up", s.signUp)
}

func signUpForm(r *request) *form {
	f := newForm(r)
	f.Heading = "No account made yet."
	f.add(field{Name: "name", Label: "Your name", Autofill: "name", Required: true, Focus: true})
	f.add(field{Name: "organization_name", Label: "Organization", Autofill: "organization", Required: true})
	f.add(field{Name: "email", Label: "Email", Type: "email", Autofill: "username", Required: true})
	f.add(
		field{Name: "password", Label: "Password", Type: "password", Autofill: "new-password", Required: true, Help: "8 characters or more."},
	)
	return f
}

func (r *request) renderSignUp(f *form) error {
	return r.render(f.Status, "signup", page{Title: "Create an account", Outside: true, Body: f})
}

func (s *Server) signUp(r *request) error {
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
