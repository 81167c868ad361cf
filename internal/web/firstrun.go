// SPDX-License-Identifier: Apache-2.0

package web

import (
	"errors"
	"net/http"

	"github.com/vigil-monitor/vigil"
)

// firstRunRoutes sign in by a link that is printed on the machine itself. Reading the page
// does not use the link, since browsers and scanners follow links: its button does.
func (s *Server) firstRunRoutes(on *routes) {
	on.open("GET /app/first-run", s.firstRunPage)
	on.open("POST /app/first-run", s.firstRun)
}

// firstRunBody is the page of a link, or what is wrong with it.
type firstRunBody struct {
	Token, Name string
	Problem     string
}

func (s *Server) firstRunPage(r *request) error {
	token := r.FormValue("token")
	name, err := s.deps.LinkUser(r.Context(), token)
	if err != nil {
		return r.refuseLink(err)
	}
	return r.render(
		http.StatusOK,
		"firstrun",
		page{Title: "Continue on this machine", Outside: true, Body: firstRunBody{Token: token, Name: name}},
	)
}

func (s *Server) firstRun(r *request) error {
	form, err := r.posted()
	if err != nil {
		return err
	}
	who, err := s.deps.UseLink(r.Context(), form.Get("token"))
	if err != nil {
		return r.refuseLink(err)
	}
	if err := r.begin(who); err != nil {
		return err
	}
	return r.redirect(r.takeNext())
}

// refuseLink says what is wrong with a link and how to get another one.
func (r *request) refuseLink(err error) error {
	known, ok := errors.AsType[*vigil.Error](err)
	if !ok {
		return err
	}
	status, problem := http.StatusForbidden, known.Message
	switch known.Code {
	case vigil.CodeForbidden:
	case vigil.CodeInvalid:
		status, problem = http.StatusGone, "This link was used, or is older than 10 minutes. Each link works once."
	case vigil.CodeRateLimited:
		status = http.StatusTooManyRequests
	default:
		return err
	}
	return r.render(status, "firstrun", page{Title: "This link does not work", Outside: true, Body: firstRunBody{Problem: problem}})
}
