// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/drills"
)

// publicPerMinute is how many status pages and badges an address may read in a minute. Many
// people can share an address, and most answers come from memory.
const publicPerMinute = 1200

// KeyStore reads the public keys that receipts are checked with.
type KeyStore interface {
	PublicKeys(ctx context.Context) ([]drills.PublicKey, error)
}

// keysPath is where the public keys are: a JSON Web Key Set (RFC 7517).
const keysPath = "/.well-known/vigil-keys"

// servePublic serves what needs no credential and is no operation: public keys, status pages and
// badges.
//
// It returns what limits how often an address reads that.
func servePublic(routes *resource.Routes, deps Deps) (limited func(http.HandlerFunc) http.HandlerFunc) {
	limit := publicPerMinute
	if deps.Config.AddressRate == 0 {
		limit = 0
	}
	window := rest.NewRateWindow(limit, time.Minute, deps.Now)
	if deps.PrivateTargets != nil {
		window.Unless(deps.PrivateTargets.Open)
	}
	limited = func(serve http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if wait := window.Count(rest.Network(rest.RequestOf(r.Context()).Address)); wait > 0 {
				rest.WriteError(r.Context(), w, rest.ErrTooMany("Too many requests from this address", wait))
				return
			}
			serve(w, r)
		}
	}
	routes.Strict("GET "+keysPath, limited(publicKeys(deps.Stores.Keys)))
	if deps.StatusPages == nil {
		return limited
	}
	for _, pattern := range []string{
		"GET /status/{page}", "GET /status/{page}/{action}", "POST /status/{page}/{action}", "GET /badge/{badge}", "GET /badge/{badge}/{figure}",
	} {
		routes.Lenient(pattern, limited(deps.StatusPages.ServeHTTP))
	}
	return limited
}

// publicKeys answers with the public keys of the platform.
func publicKeys(store KeyStore) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		keys, err := store.PublicKeys(r.Context())
		if err != nil {
			rest.WriteError(r.Context(), w, err)
			return
		}
		w.Header().Set("Content-Type", "application/jwk-set+json")
		w.Header().Set("Cache-Control", "public, max-age=300")
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": keys}) // the client is gone
	}
}
