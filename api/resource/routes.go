// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"net/http"

	"github.com/vigil-monitor/vigil/api/rest"
)

// Routes serves what is no operation. Whether query parameters that a route does not have are
// refused is decided where it is registered, and the OpenAPI document says so.
type Routes struct {
	Mux                *http.ServeMux
	Ignoring, Refusing []string // patterns, by what becomes of such parameters
}

// Lenient registers what ignores query parameters that it does not have: pages for people and what
// other sites embed, to which links, mail scanners and image proxies add their own, and the codec
// endpoint, whose protocol is Temporal's.
func (r *Routes) Lenient(pattern string, handler http.HandlerFunc) {
	r.Ignoring = append(r.Ignoring, pattern)
	r.Mux.HandleFunc(pattern, handler)
}

// Strict registers what has no query parameters and refuses all, as an operation refuses those that
// it does not have.
func (r *Routes) Strict(pattern string, handler http.HandlerFunc) {
	r.Refusing = append(r.Refusing, pattern)
	r.Mux.Handle(pattern, rest.WithoutParameters(handler))
}
