// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/vigil-monitor/vigil/client"
)

// findRoutes are the palette: what is found by a text, and what can be done with it. The page is the same without
// the dialog that find.js opens.
func (s *Server) findRoutes(on *routes) {
	on.page("GET /app/find", s.find)
}

// Bounds of what the palette finds.
const (
	maxFind   = 200 // characters, as in a list of checks
	foundMost = 8   // of each kind
)

// findBody is what the palette shows.
type findBody struct {
	Query string
	Back  string
	Items []found
	Said  string // how many, for readers
}

// found is something that the palette leads to, by a link or by a form that is posted.
type found struct {
	ID     string
	Kind   string // check, incident, page or action
	Icon   string
	Mark   *mark
	Text   string
	Detail string
	Href   string
	Action string // path to post to; empty for a link
	Fields [][2]string
}

// Encoded are the fields of the form, for find.js.
func (f found) Encoded() string {
	values := url.Values{}
	for _, field := range f.Fields {
		values.Add(field[0], field[1])
	}
	return values.Encode()
}

// find answers with what a text finds: with htmx or find.js the list alone.
func (s *Server) find(r *request) error {
	body := &findBody{Query: strings.TrimSpace(r.URL.Query().Get("query")), Back: ownPath(r.URL.Query().Get("back"))}
	if utf8.RuneCountInString(body.Query) > maxFind {
		return &APIError{Status: http.StatusBadRequest, Code: "invalid_request", Message: "query: must have at most 200 characters"}
	}
	if err := body.read(r); err != nil {
		return err
	}
	for i := range body.Items {
		body.Items[i].ID = "found-" + number(int64(i))
	}
	body.Said = counted(int64(len(body.Items)), "result")
	if len(body.Items) == 0 {
		body.Said = "Nothing found"
	}
	if r.partial() {
		return r.renderPart(http.StatusOK, "find", "found", body)
	}
	return r.render(http.StatusOK, "find", page{Title: "Find", Body: body})
}

// read finds actions, checks, incidents and pages, in this order.
func (b *findBody) read(r *request) error {
	readOnly := r.readOnly()
	verb, rest, _ := strings.Cut(b.Query, " ")
	verb, rest = strings.ToLower(verb), strings.TrimSpace(rest)
	var actions, checks, incidents []found
	work, ctx := errgroup.WithContext(r.Context())
	if do, ok := checkVerbs()[verb]; ok && rest != "" && !readOnly {
		work.Go(func() (err error) {
			actions, err = b.onChecks(r.with(ctx), verb, do, rest)
			return err
		})
	}
	if b.Query != "" {
		work.Go(func() (err error) {
			checks, err = findChecks(r.with(ctx), &client.ListChecksParams{Query: &b.Query})
			return err
		})
	}
	work.Go(func() (err error) {
		incidents, err = b.incidents(r.with(ctx), verb, rest, readOnly)
		return err
	})
	if err := work.Wait(); err != nil {
		return err
	}
	if !readOnly {
		made, err := b.makes(r, verb, rest)
		if err != nil {
			return err
		}
		actions = append(actions, made...)
	}
	pages, err := b.pages(r)
	b.Items = slices.Concat(actions, checks, incidents, pages)
	return err
}

// with is the request with another context, for what runs beside it.
func (r *request) with(ctx context.Context) *request {
	copied := *r
	copied.Request = r.WithContext(ctx)
	return &copied
}
