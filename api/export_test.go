// SPDX-License-Identifier: Apache-2.0

package api

// WatchHashes has watch called before each hash of a password is made or compared. Call it
// before the first request.
func (s *Server) WatchHashes(watch func()) {
	s.accounts.WatchHashes(watch)
}

// Routes returns the patterns of what is no operation: those that ignore query parameters that
// they do not have, and those that refuse them.
func (s *Server) Routes() (ignoring, refusing []string) { return s.routes.Ignoring, s.routes.Refusing }
