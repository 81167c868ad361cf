// SPDX-License-Identifier: Apache-2.0

package results

import (
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// Store reads results and what is summed from them.
type Store struct {
	db    *pg.DB
	loops *loops.Store
}

// New returns the results of a database.
func New(db *pg.DB, l *loops.Store) *Store { return &Store{db, l} }
