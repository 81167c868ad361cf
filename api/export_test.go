package api

import "github.com/alexedwards/argon2id"

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
