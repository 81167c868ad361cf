// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
)

// statusExtraRoutes are the logo, the password and the subscribers of a status page, which are no members of it.
func (s *Server) statusExtraRoutes(on *routes) {
	on.page("POST /app/status-pages/{id}/logo", s.setStatusLogo)
	on.page("POST /app/status-pages/{id}/password", s.setStatusPassword)
	on.page("GET /app/status-pages/{id}/subscribers", s.statusSubscribers)
	on.page("POST /app/status-pages/{id}/subscribers/{subscriber}/remove", s.removeStatusSubscriber)
}

// statusLook are the forms of the logo and the password.
type statusLook struct {
	Path      string
	Logo      string // where it is; empty for none
	Protected bool   // readers need a password
	Picture   *form
	Password  *form
}

// newStatusLook makes the forms, empty: what was posted to one of them is a secret or a picture.
func newStatusLook(p *client.StatusPage) *statusLook {
	l := &statusLook{
		Path: "/app/status-pages/" + p.Id.String(), Logo: p.LogoUrl, Protected: p.Protected,
		Picture: &form{Status: http.StatusOK}, Password: &form{Status: http.StatusOK},
	}
	l.Picture.add(field{Name: "image", Label: "Logo", Type: "file", Help: "A PNG or JPEG of at most 256 KiB and 2,000 pixels on each side."})
	l.Password.add(field{
		Name: "password", Label: "New password", Type: "password", Autofill: "new-password",
		Help: "8 to 200 characters. Readers give it for the page, its feed and its badges. It is never shown.",
	})
	return l
}

// showLook shows the page with what the API says of its logo or its password.
func (s *Server) showLook(r *request, p *client.StatusPage, wrong func(*statusLook) *form, err error) error {
	look := newStatusLook(p)
	asked, get := *r, *r.Request
	get.Method, asked.Request = http.MethodGet, &get // the fields of the page are as they are stored
	f := statusPageForm(&asked, p)
	refused := wrong(look)
	if !refused.refused(err) {
		return err
	}
	f.look, f.Status = look, refused.Status
	return s.renderStatusPage(r, p, f)
}

// setStatusLogo sets the logo, or removes it.
func (s *Server) setStatusLogo(r *request) error {
	p, err := readStatusPage(r)
	if err != nil {
		return err
	}
	done := "The logo is set"
	err = r.ParseMultipartForm(maxForm) //nolint:gosec // the body is bounded, see newRequest
	if err != nil && !errors.Is(err, http.ErrNotMultipart) {
		return errForm("The form could not be read.")
	}
	if r.PostFormValue("remove") != "" {
		done = "The logo is removed"
		_, err = r.api.DeleteStatusPageLogoWithResponse(r.Context(), p.Id)
	} else {
		_, err = r.api.SetStatusPageLogoWithResponse(r.Context(), p.Id, client.SetStatusPageLogoJSONRequestBody{Image: r.postedFile("image")})
	}
	if err != nil {
		return s.showLook(r, p, func(l *statusLook) *form { return l.Picture }, err)
	}
	r.flash(flash{Mark: "done", Text: done})
	return r.redirect("/app/status-pages/" + p.Id.String())
}

// postedFile is a file of a form in base64; empty without one, which the API refuses.
func (r *request) postedFile(name string) string {
	file, _, err := r.FormFile(name)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(file) // the form is bounded
	if err != nil {
		return ""
	}
	return base64.StdEncoding.EncodeToString(data)
}

// setStatusPassword sets the password, or opens the page to everybody.
func (s *Server) setStatusPassword(r *request) error {
	p, err := readStatusPage(r)
	if err != nil {
		return err
	}
	done := "The password is set"
	if r.PostFormValue("remove") != "" {
		done = "The page is open to everybody"
		_, err = r.api.DeleteStatusPagePasswordWithResponse(r.Context(), p.Id)
	} else {
		body := client.SetStatusPagePasswordJSONRequestBody{Password: r.PostFormValue("password")}
		_, err = r.api.SetStatusPagePasswordWithResponse(r.Context(), p.Id, body)
	}
	if err != nil {
		return s.showLook(r, p, func(l *statusLook) *form { return l.Password }, err)
	}
	r.flash(flash{Mark: "done", Text: done})
	return r.redirect("/app/status-pages/" + p.Id.String())
}

// subscribersBody is the list of a page's subscribers.
type subscribersBody struct {
	Title, Page string
	Rows        []subscriberRow
	Pager       pager
}

// subscriberRow is a reader who gets the messages of the page.
type subscriberRow struct {
	Type, Address string
	Since         stamp
	Remove        string
}

// statusSubscribers lists who gets the messages of the page.
func (s *Server) statusSubscribers(r *request) error {
	p, err := readStatusPage(r)
	if err != nil {
		return err
	}
	limit := int64(listPage)
	list, err := r.api.ListStatusPageSubscribersWithResponse(r.Context(), p.Id,
		&client.ListStatusPageSubscribersParams{Limit: &limit, Cursor: r.cursor()})
	if err != nil {
		return err
	}
	path := "/app/status-pages/" + p.Id.String()
	body := &subscribersBody{Title: p.Title, Page: path, Pager: r.pager(list.JSON200.Meta, len(list.JSON200.Data), "subscriber")}
	for _, one := range list.JSON200.Data {
		body.Rows = append(body.Rows, subscriberRow{
			Type: string(
				one.Type,
			),
			Address: one.Address,
			Since:   r.stamp(one.ConfirmedAt),
			Remove:  path + "/subscribers/" + one.Id.String() + "/remove",
		})
	}
	return r.render(http.StatusOK, "status_subscribers", page{Title: "Subscribers of " + p.Title, Nav: navStatus, Body: body})
}

// removeStatusSubscriber removes a subscriber, with the address.
func (s *Server) removeStatusSubscriber(r *request) error {
	id, err := r.pathID("id")
	if err != nil {
		return err
	}
	subscriber, err := uuid.Parse(r.PathValue("subscriber"))
	if err != nil {
		return errNoPage()
	}
	if _, err := r.api.DeleteStatusPageSubscriberWithResponse(r.Context(), id, subscriber); err != nil {
		return err
	}
	r.flash(flash{Mark: "done", Text: "The subscriber is removed"})
	return r.redirect("/app/status-pages/" + id.String() + "/subscribers")
}
