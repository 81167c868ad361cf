// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"encoding/json"
	"io"
	"strings"
)

// signInRoutes are the pages that begin and end a session.
func (s *Server) signInRoutes(on *routes) {
	on.open("GET /app/sign-in", s.signInPage)
	on.open("POST /app/sign-in", s.signIn)
	on.open("POST /app/sign-out", s.signOut)
}

type signInBody struct {
	Form *form
	Next string // where the sign-in leads
}

func signInForm(r *request) *signInBody {
	b := &signInBody{Form: newForm(r), Next: r.FormValue("next")}
	b.Form.Heading = "Not signed in."
	b.Form.add(field{Name: "email", Label: "Email", Type: "email", Autofill: "username", Required: true, Focus: true})
	b.Form.add(field{Name: "password", Label: "Password", Type: "password", Autofill: "current-password", Required: true})
	return b
}

func (s *Server) signInPage(r *request) error {
	if r.signedIn {
		return r.redirect(r.FormValue("next"))
	}
	return r.renderSignIn(signInForm(r))
}

func (r *request) renderSignIn(b *signInBody) error {
	return r.render(b.Form.Status, "signin", page{Title: "Sign in", Outside: true, Body: b})
}

func (s *Server) signIn(r *request) error {
	b := signInForm(r)
	ctx := r.Context()
	if userID, browser, ok := r.knownBrowser(); ok {
		ctx = s.deps.FromBrowser(ctx, userID, browser)
	}
	answer, err := r.api.LoginWithBodyWithResponse(ctx, jsonType, b.Form.body("email", "password"))
	if err != nil {
		if !b.Form.refused(err) {
			return err
		}
		b.Form.forgetPasswords()
		return r.renderSignIn(b)
	}
	if err := r.signIn(answer.JSON200.Data.Token); err != nil {
		return err
	}
	kept := r.takeNext()
	return r.redirect(cmp.Or(b.Next, kept))
}

func (s *Server) signOut(r *request) error {
	if err := s.sessions.end(r.Context()); err != nil {
		return err
	}
	r.flash(flash{Text: "You are signed out."})
	return r.redirect("/app/sign-in")
}

const jsonType = "application/json"

// body writes fields as the JSON of a request, as they were typed: the API says what is
// wrong with them.
func (f *form) body(names ...string) io.Reader {
	members := make(map[string]string, len(names))
	for _, name := range names {
		members[name] = f.get(name)
	}
	text, _ := json.Marshal(members) // text always encodes
	return strings.NewReader(string(text))
}

// forgetPasswords empties the fields of passwords, so that no page has one in its text.
func (f *form) forgetPasswords() {
	for _, known := range f.fields {
		if known.Type == "password" {
			known.Value = ""
		}
	}
}
