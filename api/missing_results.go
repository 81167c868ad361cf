// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"
	"strings"
)

// missingHeader says of which regions an answer may lack results, because the database that keeps them is away: their keys, with
// commas. "*" stands for all regions that have no database of their own.
const missingHeader = "Vigil-Missing-Results"

// notesMissing has answers say which results they lack. watch returns a context whose reads note that, and what they have noted; nil:
// all results are in one database with everything else.
func notesMissing(next http.Handler, watch func(context.Context) (context.Context, func() []string)) http.Handler {
	if watch == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, missing := watch(r.Context())
		next.ServeHTTP(&missingWriter{ResponseWriter: w, missing: missing}, r.WithContext(ctx))
	})
}

// missingWriter adds the header to an answer when it begins. What is read later, as the rows of a file, is not in it.
type missingWriter struct {
	http.ResponseWriter

	missing func() []string
	begun   bool
}

// Unwrap returns the writer that this one adds to.
func (w *missingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader begins the answer.
func (w *missingWriter) WriteHeader(status int) {
	if !w.begun {
		if w.begun = status >= http.StatusOK; w.begun {
			if regions := w.missing(); len(regions) > 0 {
				w.Header().Set(missingHeader, strings.Join(regions, ", "))
			}
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write writes a part of the body.
func (w *missingWriter) Write(body []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(body)
}
