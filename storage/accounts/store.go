// SPDX-License-Identifier: Apache-2.0

package accounts

import "github.com/vigil-monitor/vigil/storage/pg"

// Store reads and writes accounts.
type Store struct{ db *pg.DB }

// New returns the accounts of a database.
func New(db *pg.DB) *Store { return &Store{db} }
