// SPDX-License-Identifier: Apache-2.0

package results

import (
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// Store reads results and what is summed from them.
type Store struct {
	db    *pg.DB // of the definitions, loops and gaps
	loops *loops.Store
	homes *Homes
}

// New returns the results of a platform whose definitions are in a database, and which it closes with Close.
func New(db *pg.DB, l *loops.Store, homes *Homes) *Store { return &Store{db, l, homes} }

// HomeDBs returns the handles of the databases that keep results, that of the definitions first.
func (s *Store) HomeDBs() []*bun.DB {
	var list []*bun.DB
	for _, h := range s.homes.all {
		list = append(list, h.DB.DB)
	}
	return list
}

// CloseHomes closes the databases that keep results alone.
func (s *Store) CloseHomes() error { return s.homes.close() }
