// SPDX-License-Identifier: Apache-2.0

package api

import (
	"time"

	"github.com/alexedwards/argon2id"
)

// WatchHashes has watch called before each hash of a password is made or compared. Call it
// before the first request.
func (s *Server) WatchHashes(watch func()) {
	p := s.pages.passwords
	create, compare := p.create, p.compare
	p.create = func(password string, params *argon2id.Params) (string, error) {
		watch()
		return create(password, params)
	}
	p.compare = func(password, hash string) (bool, error) {
		watch()
		return compare(password, hash)
	}
}

// Burst finds out whether many checks are created at once.
type Burst = burst

// Add counts a creation and reports whether it is one of many.
func (b *burst) Add(at time.Time) bool { return b.add(at) }

// Routes returns the patterns of what is no operation: those that ignore query parameters that
// they do not have, and those that refuse them.
func (s *Server) Routes() (ignoring, refusing []string) { return s.routes.ignoring, s.routes.refusing }
