// SPDX-License-Identifier: Apache-2.0

// Package web is the dashboard under /app: pages of HTML that the server renders from
// what the API answers. It is a client of /v1 in the same process: a page calls the API's
// own handler, which validates, limits, audits and keeps organizations apart, so nothing
// of that is here, and a page cannot do what the API does not offer.
//
// # Adding a page
//
// A page is one Go file (incident.go) with its handlers, and one template
// (templates/incident.html) that defines "content".
//
//  1. Write `func (s *Server) incidentRoutes(on *routes)` and list it in routesOf in
//     server.go. `on.page("GET /app/incidents/{id}", s.incident)` needs a signed-in user;
//     `on.open` does not. A pattern has Go's syntax of ServeMux.
//  2. A handler is `func(r *request) error`. `r.api` is the generated client, acting as the
//     user; a call that the API does not answer with 2xx returns an *APIError. A handler
//     returns what it cannot handle, and the user sees the page of that error.
//  3. It ends with `r.render(status, "incident", page{Title: ..., Nav: navIncidents, Body:
//     data})`, or, after a write, with `r.flash(...)` and `r.redirect("/app/...")`, which
//     is a 303.
//  4. The template gets the page as its dot, with its data in `.Body`. It is dumb: the Go
//     file makes texts, marks and times. Parts of templates/parts.html are called with
//     {{template "mark" ...}}; parts.go, time.go and form.go have the types that they take.
//
// # Forms
//
// A form's fields are named by the members of the API, such as config.url. `f :=
// newForm(r)` reads what was posted; `f.add(field{Name: "name", Label: "Name"})` declares a
// field, `{{template "field" (.Body.Form.Field "name")}}` shows it. When the API refuses,
// `f.refused(err)` puts its messages under the fields that they name, and the rest into
// the summary on top: `if f.refused(err) { return r.render(f.Status, ...) }; return err`.
//
// The forms of a check and of a channel are made from the types that the API lists: no page
// names a type or a member of its config to ask for it.
//
// # What pages must keep to
//
// The Content-Security-Policy allows neither style attributes nor inline scripts. Every
// page reads and every form works without JavaScript. Files under static/ are named through
// {{asset "app.css"}}, which adds the hash of their contents. Styles that a page needs
// beyond the parts stand in static/pages.css under a heading of its own; those of the list of
// checks and of the page of a check, which do not load it, in static/app.css.
package web
