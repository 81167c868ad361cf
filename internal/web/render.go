// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"
)

// page is what a template gets as its dot.
type page struct {
	Title string // without " · Vigil"
	Nav   string // the item of the navigation that is current: navChecks, ...
	// Live are the parameters of the page's stream, such as page=checks; empty for a page
	// that does not change by itself.
	Live string
	// Wall is a page for a screen without keyboard: dark, without navigation.
	Wall bool
	// Outside is a page without navigation, such as the sign-in page.
	Outside bool
	// Chart loads the chart library.
	Chart bool
	// Lean is a page that needs nothing of pages.css: the list of checks and the page of a check, which people open first
	// and most.
	Lean bool
	Body any

	// What render fills in.
	Now      stamp
	Flash    *flash
	Theme    string // light, dark, or empty for the system's
	Keys     bool   // single-key shortcuts are on
	Menu     nav
	Path     string // of this page, with its query
	SignedIn bool
	Owner    string // the user whose page it is
	Posted   bool   // it answers to a form
}

// pageTemplate parses the template of a page, once, when it is first used: a server whose
// dashboard no browser opens does not hold some 40 parsed pages.
type pageTemplate func() (*template.Template, error)

// parseTemplates returns the templates by the name of their page.
func parseTemplates(a *assets) (map[string]pageTemplate, error) {
	funcs := template.FuncMap{
		"asset": a.url,
		"list":  func(items ...any) []any { return items }, "icon": newIcon, "mark": newMark, "safeID": safeID,
	}
	shared := sync.OnceValues(func() (*template.Template, error) {
		return parseDense(template.New("").Funcs(funcs).Option("missingkey=error"), "templates/layout.html", "templates/parts*.html")
	})
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		return nil, err
	}
	pages := make(map[string]pageTemplate)
	for _, name := range names {
		short := strings.TrimSuffix(path.Base(name), ".html")
		if short == "layout" || strings.HasPrefix(short, "parts") {
			continue
		}
		pages[short] = sync.OnceValues(func() (*template.Template, error) {
			base, err := shared()
			if err != nil {
				return nil, err
			}
			own, err := base.Clone()
			if err != nil {
				return nil, err
			}
			return parseDense(own, name)
		})
	}
	return pages, nil
}

// indentation is the space around the ends of lines of a template.
var indentation = regexp.MustCompile(`[ \t]*\n\s*`)

// parseDense adds templates without their indentation, which is for those who read them: a fifth of a page, in the bytes that
// are made, compressed and read again. A browser shows one space for it either way.
func parseDense(t *template.Template, patterns ...string) (*template.Template, error) {
	for _, pattern := range patterns {
		names, err := fs.Glob(files, pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			text, err := files.ReadFile(name)
			if err != nil {
				return nil, err
			}
			if _, err := t.New(path.Base(name)).Parse(indentation.ReplaceAllString(string(text), "\n")); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

// render answers with a page. It uses the template templates/<name>.html.
func (r *request) render(status int, name string, p page) error {
	p.Now, p.Theme, p.Keys = r.stamp(r.now), r.prefs.Theme, !r.prefs.NoKeys
	p.Path, p.SignedIn, p.Flash = r.URL.RequestURI(), r.signedIn, r.takeFlash()
	p.Posted = r.Method == http.MethodPost
	if r.signedIn {
		p.Owner = r.who.UserID.String()
	}
	if !p.Outside {
		var err error
		if p.Menu, err = r.menu(p.Nav); err != nil {
			return err
		}
	}
	if p.Live != "" {
		prints, err := r.s.printsOf(&p)
		if err != nil {
			return err
		}
		p.Live += "&parts=" + prints
	}
	return r.execute(status, name, "layout", &p)
}

// renderPart answers with one part of a page's template, for a request of htmx.
func (r *request) renderPart(status int, name, part string, data any) error {
	return r.execute(status, name, part, data)
}

func (r *request) execute(status int, name, part string, data any) error {
	t, err := r.s.template(name)
	if err != nil {
		return err
	}
	out := &answering{w: r.w, status: status}
	held := bufio.NewWriterSize(out, headBytes)
	if err := t.ExecuteTemplate(held, part, data); err != nil {
		if !out.begun {
			return err
		}
		if !out.gone && r.Context().Err() == nil {
			r.s.deps.Log.ErrorContext(r.Context(), "a page broke off", "path", r.URL.Path, "error", err)
		}
		panic(http.ErrAbortHandler) // the browser sees that the page is not whole
	}
	_ = held.Flush() // an error: the client has gone
	return nil
}

// headBytes is how much of a page is made before any of it is sent: its head, and more. What fails by then is answered with the
// page of an error.
const headBytes = 8 << 10

// answering sends a page while it is made, so that the browser reads its head and asks for its files while the server
// writes the rows.
type answering struct {
	w           http.ResponseWriter
	status      int
	begun, gone bool // the client
}

// Write sends a part of the page; the first one at once.
func (a *answering) Write(text []byte) (int, error) {
	first := !a.begun
	if first {
		a.begun = true
		a.w.Header().Set("Content-Type", "text/html; charset=utf-8")
		a.w.WriteHeader(a.status)
	}
	n, err := a.w.Write(text)
	if err == nil && first && len(text) >= headBytes {
		err = http.NewResponseController(a.w).Flush()
	}
	a.gone = err != nil
	return n, err
}

// template returns the template of a page.
func (s *Server) template(name string) (*template.Template, error) {
	parsed, ok := s.templates[name]
	if !ok {
		return nil, fmt.Errorf("web: no template %s", name)
	}
	return parsed()
}

// fill executes a part of a page's template.
func (s *Server) fill(name, part string, data any) ([]byte, error) {
	t, err := s.template(name)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := t.ExecuteTemplate(&out, part, data); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// errorBody is what the page of an error shows.
type errorBody struct {
	Title, Message, RequestID string
	Back, BackName            string
}

// fail answers with the page of an error.
func (r *request) fail(err error) {
	known, ok := errors.AsType[*APIError](err)
	if !ok {
		if r.Context().Err() == nil {
			r.s.deps.Log.ErrorContext(r.Context(), "a page failed", "path", r.URL.Path, "error", err)
		}
		known = &APIError{Status: http.StatusInternalServerError, Message: "The page could not be made. The error is in the server's log."}
	}
	if known.Status == http.StatusUnauthorized && r.signedIn { // the session ended, such as by a new password
		if err := r.s.sessions.end(r.Context()); err != nil {
			r.s.deps.Log.ErrorContext(r.Context(), "a session that has ended stays stored", "error", err)
		}
		_ = r.toSignIn()
		return
	}
	body := errorBody{
		Title:     errorTitle(known.Status),
		Message:   known.Message,
		RequestID: known.RequestID,
		Back:      "/app",
		BackName:  "Go to checks",
	}
	if r.partial() {
		r.w.Header().Set("Hx-Reswap", "none")
	}
	if r.render(known.Status, "error", page{Title: body.Title, Outside: !r.signedIn, Body: body}) == nil {
		return
	}
	// The navigation could not be read either.
	if err := r.render(known.Status, "error", page{Title: body.Title, Outside: true, Body: body}); err != nil {
		http.Error(r.w, body.Message, known.Status)
	}
}

func errorTitle(status int) string {
	switch status {
	case http.StatusNotFound:
		return "Not found"
	case http.StatusForbidden:
		return "Not allowed"
	case http.StatusTooManyRequests:
		return "Too many requests"
	case http.StatusServiceUnavailable, http.StatusBadGateway, http.StatusGatewayTimeout:
		return "Not available right now"
	case http.StatusInternalServerError:
		return "Something went wrong"
	}
	return "This did not work"
}
