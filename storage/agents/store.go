// SPDX-License-Identifier: Apache-2.0

package agents

import "github.com/vigil-monitor/vigil/storage/pg"

// Store keeps locations and their agents.
type Store struct{ db *pg.DB }

// New returns the locations and agents of a database.
func New(db *pg.DB) *Store { return &Store{db} }
