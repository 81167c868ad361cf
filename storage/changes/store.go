// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/definitions"
	"github.com/vigil-monitor/vigil/storage/incidents"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
	"github.com/vigil-monitor/vigil/storage/results"
)

// Store changes definitions.
type Store struct {
	db          *pg.DB
	accounts    *accounts.Store
	loops       *loops.Store
	results     *results.Store
	definitions *definitions.Store
	incidents   *incidents.Store
}

// New returns the changes of a database.
func New(
	db *pg.DB, a *accounts.Store, l *loops.Store, r *results.Store, d *definitions.Store, i *incidents.Store,
) *Store {
	return &Store{db, a, l, r, d, i}
}
