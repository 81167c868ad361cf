// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"errors"
	"fmt"
	"time"
)

// format is the version of the file's format; a file of a newer one is refused.
const format = 1

// Names of the entries that are not dumps.
const (
	manifestFile = "manifest.json"
	sumsFile     = "SHA256SUMS"
	// KeyFile holds the secret keys in hexadecimal, separated by commas, the first of
	// which seals.
	KeyFile = "secret.key"
)

// Manifest describes a backup.
type Manifest struct {
	Format int `json:"format"`
	// Version of the program that made the backup.
	Version string    `json:"version"`
	Time    time.Time `json:"time"`
	// Postgres is the major version of the server that was dumped.
	Postgres int `json:"postgres"`
	// Schema is the newest migration of the platform's database.
	Schema string `json:"schema"`
	// Databases in the order of their dumps.
	Databases []Database `json:"databases"`
}

// Database is a database in a backup.
type Database struct {
	// Role is what the platform uses it for.
	Role Role `json:"role"`
	// Name that it had when it was dumped.
	Name string `json:"name"`
}

// Role is what the platform uses a database for.
type Role string

// The roles of databases.
const (
	Platform   Role = "vigil"               // checks, results, incidents
	Temporal   Role = "temporal"            // workflows
	Visibility Role = "temporal_visibility" // the list of workflows
)

// File returns the name of the dump in the archive, in the custom format of pg_dump.
func (r Role) File() string { return string(r) + ".dump" }

// Has reports whether the backup has a database of the role.
func (m *Manifest) Has(role Role) bool {
	for _, database := range m.Databases {
		if database.Role == role {
			return true
		}
	}
	return false
}

// ErrDamaged is in the error of a file that is truncated, altered or no backup.
var ErrDamaged = errors.New("the backup is damaged or incomplete")

func damaged(why string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(why, args...))
}
