package standalone

import (
	"log/slog"
	"time"
)

// TemporalOptions are the choices of StartTemporal.
type TemporalOptions struct {
	// DSN is the connection string of the platform's own database. The server
	// keeps its data beside it, in those that EnsureDatabases makes.
	DSN string
	// Listen and UIListen are host:port; an empty host is every address, and port
	// 0 takes a free one.
	Listen, UIListen string
	// Namespace is made at the first start and kept in line with Retention and
	// SearchAttributes at every later one.
	Namespace string
	// Retention is how long the history of a closed workflow is kept; at least a
	// day is sensible, an hour is the least that Temporal takes.
	Retention time.Duration
	// SearchAttributes are names, all of type Keyword, ten at most.
	SearchAttributes []string
	// Loops is how many long-lived workflows to expect; the caches are sized by it.
	Loops int
	// Log hears warnings and errors of the server; nil is silent.
	Log *slog.Logger
}
