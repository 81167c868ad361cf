// SPDX-License-Identifier: Apache-2.0

package api

import (
	"net/http"

	"github.com/vigil-monitor/vigil/api/rest"
)

// routes serves what is no operation. Whether query parameters that a route does not have are
// refused is decided where it is registered, and the OpenAPI document says so.
type routes struct {
	mux                *http.ServeMux
	ignoring, refusing []string // patterns, by what becomes of such parameters
}

// lenient registers what ignores query parameters that it does not have: pages for people and what
// other sites embed, to which links, mail scanners and image proxies add their own, and the codec
// endpoint, whose protocol is Temporal's.
func (r *routes) lenient(pattern string, handler http.HandlerFunc) {
	r.ignoring = append(r.ignoring, pattern)
	r.mux.HandleFunc(pattern, handler)
}

// strict registers what has no query parameters and refuses all, as an operation refuses those that
// it does not have.
func (r *routes) strict(pattern string, handler http.HandlerFunc) {
	r.refusing = append(r.refusing, pattern)
	r.mux.Handle(pattern, rest.WithoutParameters(handler))
}
