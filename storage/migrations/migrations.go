// SPDX-License-Identifier: Apache-2.0

// Package migrations holds the steps that lead an empty Postgres to the schema
// that storage works on, and back.
//
// The files 1001 to 1012 are the baseline: the whole schema, a file for each noun, and the
// first that a database can have. They do not change any more. A later version adds files with
// higher numbers, which change what these create.
//
// The files in results are the steps of a database that keeps results alone.
//
// Each step is a pair of SQL files, run in a transaction. A step may be run
// again after a crash between its commit and its note, so it creates and drops
// only what is missing or there.
package migrations

import (
	"embed"
	"fmt"
	"io/fs"

	"github.com/uptrace/bun/migrate"
)

//go:embed *.sql
var files embed.FS

//go:embed results/*.sql
var resultFiles embed.FS

// All returns the steps in their order.
func All() (*migrate.Migrations, error) { return discover(files) }

// Results returns the steps of a database that keeps results alone.
func Results() (*migrate.Migrations, error) { return discover(resultFiles) }

func discover(from fs.FS) (*migrate.Migrations, error) {
	steps := migrate.NewMigrations()
	if err := steps.Discover(from); err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	return steps, nil
}

// Digest changes whenever a step does; tests name their template by it.
func Digest() (string, error) { return digest(files, "*.sql") }

// ResultsDigest is that of the steps of Results.
func ResultsDigest() (string, error) { return digest(resultFiles, "results/*.sql") }
