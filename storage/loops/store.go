// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"time"

	"github.com/vigil-monitor/vigil/storage/pg"
)

// Store reads and writes loops.
type Store struct {
	db    *pg.DB
	edges func() time.Time // nil: the clock of the database
}

// New returns the loops of a database. maintenance is the clock by which maintenance begins
// and ends, for tests; nil means the clock of the database.
func New(db *pg.DB, maintenance func() time.Time) *Store { return &Store{db, maintenance} }
