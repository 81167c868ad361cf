// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"log/slog"
	"net/http"
	"time"
)

// TemporalOptions configure StartTemporal.
type TemporalOptions struct {
	// DSN is the connection string of the platform's own database. The server
	// keeps its data in the two databases that EnsureDatabases creates beside it.
	DSN string
	// Listen and UIListen are host:port; an empty host is every address, and port
	// 0 takes a free one.
	Listen, UIListen string
	// UIHosts are names under which the UI is served besides those of this machine, in
	// lower case and without ports.
	UIHosts []string
	// Namespace is created at the first start, and updated to Retention and
	// SearchAttributes at every later one.
	Namespace string
	// Retention is how long the history of a closed workflow is kept: one hour or
	// more, and at least a day is recommended.
	Retention time.Duration
	// SearchAttributes are names, all of type Keyword, ten at most.
	SearchAttributes []string
	// Small is for a machine with little memory: fewer connections and goroutines, and smaller caches.
	Small bool
	// CachedWorkflows is how many workflows all workers of this process keep in memory together:
	// the server's own are the first of them. 0 leaves the SDK's default.
	CachedWorkflows int
	// CachedStates is how many entries the server's cache of workflows has, two for each: one of its run
	// and one of its ID, together about 19 KB. 0 leaves room for all, as a cluster has.
	CachedStates int
	// Processors are those that this process may use, by which each service has connections to the store.
	Processors int
	// CodecEndpoint is the URL of the codec server that the web interface decodes payloads
	// with, and a page to sign in at; empty: none.
	CodecEndpoint string
	// Credentials make the server refuse clients without a certificate of theirs; nil: it
	// takes all.
	Credentials *Credentials
	// UIAccess wraps the web interface, to serve it to who has signed in only; nil: to all.
	UIAccess func(http.Handler) http.Handler
	// Log receives warnings and errors of the server; nil discards them.
	Log *slog.Logger
}
