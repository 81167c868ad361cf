// SPDX-License-Identifier: Apache-2.0

package definitions

import (
	"github.com/vigil-monitor/vigil/internal/secret"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// Store reads definitions.
type Store struct {
	db *pg.DB
	// Keyring seals the secrets of configs. Without it no config can be read or written.
	Keyring *secret.Keyring
	// Secrets lists the members of configs that are sealed.
	Secrets secret.Configs
}

// New returns the definitions of a database.
func New(db *pg.DB, keys *secret.Keyring, secrets secret.Configs) *Store {
	return &Store{db, keys, secrets}
}
