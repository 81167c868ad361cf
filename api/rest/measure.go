package rest

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"
)

// Measure reports every answer: the route as its pattern, such as
// /v1/checks/{id}, and "none" for what has no route, so that no path or method
// that a caller made up becomes a label. A nil report measures nothing.
func Measure(
	next http.Handler, now func() time.Time, report func(ctx context.Context, method, route string, status int, took time.Duration),
) http.Handler {
	if report == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := &answer{ResponseWriter: w}
		began := now()
		defer func() { // also when next panics, which leaves no status
			method, route, ok := strings.Cut(r.Pattern, " ") // the mux sets it
			if !ok {
				method, route = "none", "none"
			}
			report(r.Context(), method, route, cmp.Or(a.status, http.StatusInternalServerError), now().Sub(began))
		}()
		next.ServeHTTP(a, r)
		if a.status == 0 {
			a.status = http.StatusOK // nothing was written, which means the same
		}
	})
}
