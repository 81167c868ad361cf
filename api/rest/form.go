// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"mime"
	"net/http"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/vigil-monitor/vigil"
)

// refuse answers instead of the operation.
func refuse(ctx huma.Context, err error) {
	body := ErrorOf(ctx.Context(), err)
	for name, values := range body.header {
		ctx.SetHeader(name, strings.Join(values, ", "))
	}
	ctx.SetHeader("Content-Type", "application/json")
	ctx.SetStatus(body.status)
	_ = encodeJSON(ctx.BodyWriter(), body) // the client may be gone
}

// Guard makes a middleware of a check that may refuse a request.
func Guard(check func(ctx huma.Context) error) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		if err := check(ctx); err != nil {
			refuse(ctx, err)
			return
		}
		next(ctx)
	}
}

// checkForm refuses what Huma would ignore or answer in its own way: parameters that the
// operation does not have, without a value, given twice, or badly encoded, and bodies that are
// not JSON.
func checkForm(ctx huma.Context, next func(huma.Context)) {
	op, address := ctx.Operation(), ctx.URL()
	if address.RawQuery != "" {
		if err := queryProblem(op, address.RawQuery); err != nil {
			refuse(ctx, err)
			return
		}
	}
	if op.RequestBody != nil {
		if err := checkMediaType(ctx); err != nil {
			refuse(ctx, err)
			return
		}
	}
	next(ctx)
}

// checkMediaType refuses a body that is not JSON. A page of another site can send a body
// without a content type, and without asking the API first (the Fetch standard's simple
// requests), so only a program may leave it out.
func checkMediaType(ctx huma.Context) error {
	contentType := ctx.Header("Content-Type")
	switch {
	case !saysJSON(contentType):
		return errMediaType()
	case contentType == "" && crossSite(ctx.Header("Sec-Fetch-Site"), ctx.Header("Origin"), ctx.Host()):
		return vigil.Invalid("Content-Type", "must be application/json in a request of a page of another site")
	}
	return nil
}

// saysJSON reports whether a Content-Type is JSON; an empty one counts as JSON.
func saysJSON(contentType string) bool {
	if contentType == "" {
		return true
	}
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil || kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		return false
	}
	charset := params["charset"]
	return charset == "" || strings.EqualFold(charset, "utf-8")
}

func errMediaType() error {
	return &vigil.Error{
		Code:    vigil.CodeInvalid,
		Message: "Content-Type: must be application/json, in UTF-8",
		Details: map[string]any{"member": "Content-Type"},
	}
}

// Routed hands requests to the operations of a mux. It answers as JSON what the
// mux would answer by itself in plain text or with a redirect.
func (r *Registrar) Routed(mux *http.ServeMux) http.Handler {
	return routed(mux, r.bodyLimit)
}

func routed(mux *http.ServeMux, limit func(path string) int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		if !canonical(r.URL.Path) || strings.ContainsRune(r.URL.Path, 0) || !utf8.ValidString(r.URL.Path) {
			WriteError(ctx, w, errNoRoute())
			return
		}
		if _, pattern := mux.Handler(r); pattern == "" {
			unrouted(mux, w, r)
			return
		}
		if most := limit(r.URL.Path); r.ContentLength > most {
			w.Header().Set("Connection", "close")
			WriteError(ctx, w, ErrTooLarge(most))
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// canonical reports whether a path is one that the mux would not rewrite.
func canonical(p string) bool {
	return strings.HasPrefix(p, "/") && (p == "/" || path.Clean(p) == strings.TrimSuffix(p, "/"))
}

// unrouted answers what no operation serves: 405 with the methods that the path
// has, or 404.
func unrouted(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		other := &http.Request{Method: method, URL: r.URL, Host: r.Host}
		if _, pattern := mux.Handler(other); pattern != "" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		WriteError(r.Context(), w, errNoRoute())
		return
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	WriteError(r.Context(), w, &vigil.Error{
		Code:    vigil.CodeMethod,
		Message: "This path does not support the method; it supports " + strings.Join(allowed, ", ") + ".",
		Details: map[string]any{"allowed": allowed},
	})
}

func errNoRoute() error {
	return vigil.Errorf(vigil.CodeNotFound, "There is nothing at this path; see /docs for what there is.")
}
