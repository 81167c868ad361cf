// SPDX-License-Identifier: Apache-2.0

package api

import (
	"net/http"
	"time"

	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
)

// publicPerMinute is how many status pages and badges an address may read in a minute. Many
// people can share an address, and most answers come from memory.
const publicPerMinute = 1200

// servePublic serves what needs no credential and is no operation: status pages and badges.
func servePublic(routes *resource.Routes, deps Deps) {
	if deps.StatusPages == nil {
		return
	}
	limit := publicPerMinute
	if deps.Config.AddressRate == 0 {
		limit = 0
	}
	window := rest.NewRateWindow(limit, time.Minute, deps.Now)
	if deps.PrivateTargets != nil {
		window.Unless(deps.PrivateTargets.Open)
	}
	limited := func(w http.ResponseWriter, r *http.Request) {
		if wait := window.Count(rest.Network(rest.RequestOf(r.Context()).Address)); wait > 0 {
			rest.WriteError(r.Context(), w, rest.ErrTooMany("Too many requests from this address", wait))
			return
		}
		deps.StatusPages.ServeHTTP(w, r)
	}
	routes.Lenient("GET /status/{page}", limited)
	routes.Lenient("GET /badge/{badge}", limited)
}
