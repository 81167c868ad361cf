// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil/client"
)

// request is a request for a page, with what its handler needs to answer.
type request struct {
	*http.Request
	w        http.ResponseWriter
	s        *Server
	api      *client.ClientWithResponses // acts as the user, with the context of the request
	who      Identity                    // zero on a page that needs no session
	signedIn bool
	now      time.Time
	prefs    preferences
	answers  *answers // of the API; nil: they are not looked at
	// locations has the names of the organization's locations, by key.
	locations func() map[string]string
}

// handler answers a request. The user sees the error that it returns as a page.
type handler func(r *request) error

// routes registers pages.
type routes struct {
	s   *Server
	mux *http.ServeMux
}

// page registers a page that needs a signed-in user; without one the answer is the
// sign-in page, which leads back.
func (on *routes) page(pattern string, h handler) {
	on.handle(pattern, func(r *request) error {
		if !r.signedIn {
			return r.toSignIn()
		}
		return bounded(h)(r)
	})
}

// open registers a page for everyone.
func (on *routes) open(pattern string, h handler) { on.handle(pattern, bounded(h)) }

func (on *routes) handle(pattern string, h handler) {
	on.mux.HandleFunc(pattern, func(w http.ResponseWriter, req *http.Request) {
		r := on.s.newRequest(w, req)
		if err := h(r); err != nil {
			r.fail(err)
		}
	})
}

// maxForm bounds what a form may send.
const maxForm = 1 << 20

func (s *Server) newRequest(w http.ResponseWriter, req *http.Request) *request {
	req.Body = http.MaxBytesReader(w, req.Body, maxForm)
	r := &request{w: w, s: s, api: s.api, now: s.deps.Now(), prefs: readPreferences(req), answers: &answers{}}
	r.who, r.signedIn = s.sessions.of(req.Context())
	ctx := withAnswers(context.WithValue(req.Context(), fromKey{}, req), r.answers)
	if r.signedIn {
		ctx = s.deps.ActAs(ctx, r.who)
	}
	r.Request = req.WithContext(ctx)
	r.locations = r.readNames()
	return r
}

// formPageField is the field of a form with the address of its page.
const formPageField = "form_page"

// toSignIn leads to the sign-in page, and from there back to a page that was read, or to the one with
// the form that was sent: the browser has what was typed (static/forms.js).
func (r *request) toSignIn() error {
	target, page := "/app/sign-in", r.URL.RequestURI()
	if r.partial() || r.Method != http.MethodGet {
		page = r.formPage()
	}
	if page != "/app" {
		target += "?next=" + url.QueryEscape(page)
		r.keepNext(page)
	}
	if r.partial() { // htmx would put the sign-in page into a part of this one
		r.w.Header().Set("Hx-Redirect", target)
		r.w.WriteHeader(http.StatusUnauthorized)
		return nil
	}
	return r.redirect(target)
}

// formPage is the page with the form that a request comes from.
func (r *request) formPage() string {
	if page := r.PostFormValue(formPageField); page != "" {
		return ownPath(page)
	}
	from := r.Header.Get("Hx-Current-Url")
	if from == "" {
		from = r.Referer()
	}
	u, err := url.Parse(from)
	if err != nil || u.Host != r.Host {
		return "/app"
	}
	return ownPath(u.RequestURI())
}

// redirect answers with 303, so that the browser reads the page of a path of ours.
func (r *request) redirect(path string) error {
	http.Redirect(r.w, r.Request, ownPath(path), http.StatusSeeOther) //nolint:gosec // a path of ours
	return nil
}

// ownPath returns a path of the dashboard, and its first page for what is none: a next
// parameter must not lead to another site.
func ownPath(path string) string {
	target, err := url.Parse(path)
	switch {
	case err != nil, target.IsAbs(), target.Host != "", strings.Contains(path, `\`):
		return "/app"
	case target.Path != "/app" && !strings.HasPrefix(target.Path, "/app/"):
		return "/app"
	}
	return path
}

// partial reports whether htmx asks for a part of a page.
func (r *request) partial() bool { return r.Header.Get("Hx-Request") == "true" }

// bounded refuses a form with more than maxFields fields before it is parsed, since what a
// form costs follows its fields.
func bounded(h handler) handler {
	return func(r *request) error {
		if r.Method != http.MethodPost {
			return h(r)
		}
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return errForm("The form could not be read.")
		}
		if fields := bytes.Count(text, []byte("&")) + 1; fields > maxFields {
			return errForm("The form has %d fields. It may have %d.", fields, maxFields)
		}
		r.Body = io.NopCloser(bytes.NewReader(text))
		if r.ParseForm() == nil { // what cannot be read is the handler's to refuse
			for _, values := range r.PostForm {
				if len(values) > maxFieldValues {
					return errForm("A field of the form has %d values. It may have %d.", len(values), maxFieldValues)
				}
			}
		}
		return h(r)
	}
}

// errForm is the error about a form that cannot be used.
func errForm(format string, args ...any) error {
	return &APIError{Status: http.StatusBadRequest, Code: "invalid_request", Message: fmt.Sprintf(format, args...)}
}

// posted reads the form that was posted.
func (r *request) posted() (url.Values, error) {
	if err := r.ParseForm(); err != nil {
		return nil, errForm("The form could not be read.")
	}
	return r.PostForm, nil
}
