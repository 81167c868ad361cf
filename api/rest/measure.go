// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"
)

// Report receives the route, status and duration of an answer.
type Report = func(ctx context.Context, method, route string, status int, took time.Duration)

// Measure reports every answer: the route as its pattern, such as
// /v1/checks/{id}, and "none" for what has no route, so that no path or method
// that a caller made up becomes a label. A nil report measures nothing.
func Measure(next http.Handler, now func() time.Time, report Report) http.Handler {
	if report == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := &answer{ResponseWriter: w}
		defer reportAnswer(r, a, now(), now, report)
		next.ServeHTTP(a, r)
		if a.status == 0 {
			a.status = http.StatusOK // nothing was written, which means the same
		}
	})
}

// reportAnswer reports an answer to a request whose pattern the mux has set. An
// answer without a status is that of a panic.
func reportAnswer(r *http.Request, a *answer, began time.Time, now func() time.Time, report Report) {
	method, route, ok := strings.Cut(r.Pattern, " ")
	if !ok {
		method, route = "none", "none"
	}
	report(r.Context(), method, route, cmp.Or(a.status, http.StatusInternalServerError), now().Sub(began))
}
