// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/definitions"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
	"github.com/vigil-monitor/vigil/storage/results"
)

// Store reads and writes incidents and deliveries.
type Store struct {
	db          *pg.DB
	accounts    *accounts.Store
	loops       *loops.Store
	results     *results.Store
	definitions *definitions.Store
	policies    vigil.DeliveryPolicies
	places      orgGates // of changes to delivery_places
}

// New returns the incidents of a database. policies are the delivery policies of the channel
// types; without them no incident can be opened and no message delivered.
func New(
	db *pg.DB, a *accounts.Store, l *loops.Store, r *results.Store, d *definitions.Store, policies vigil.DeliveryPolicies,
) *Store {
	return &Store{db: db, accounts: a, loops: l, results: r, definitions: d, policies: policies}
}
