// SPDX-License-Identifier: Apache-2.0

package pg

import (
	"context"
	"strconv"

	"github.com/vigil-monitor/vigil/storage/migrations"
)

// Server describes the database and the server that it is on.
type Server struct {
	Major    int      // version of the server
	Schema   string   // newest migration that is applied; empty: none
	Name     string   // of the database
	Others   []string // names of all databases of the server
	HasTable bool     // the database has a table
}

// Server reads what a backup says of the database and of its server.
func (d *DB) Server(ctx context.Context) (Server, error) {
	var out Server
	var version string
	err := d.NewRaw(`SELECT current_setting('server_version_num'), current_database(),
			to_regclass('bun_migrations') IS NOT NULL OR EXISTS (SELECT FROM pg_tables WHERE schemaname = current_schema())`).
		Scan(ctx, &version, &out.Name, &out.HasTable)
	if err != nil {
		return out, Wrap("read the version of the server", err)
	}
	number, err := strconv.Atoi(version)
	if err != nil {
		return out, Wrap("read the version of the server", err)
	}
	out.Major = number / 10_000
	if err := d.NewRaw("SELECT datname FROM pg_database ORDER BY datname").Scan(ctx, &out.Others); err != nil {
		return out, Wrap("list the databases", err)
	}
	if !out.HasTable {
		return out, nil
	}
	err = d.NewRaw("SELECT coalesce(max(name), '') FROM bun_migrations").Scan(ctx, &out.Schema)
	return out, Wrap("read the newest migration", err)
}

// NewestSchema returns the name of the newest migration that this version has.
func NewestSchema() (string, error) {
	steps, err := migrations.All()
	if err != nil {
		return "", err
	}
	newest := ""
	for _, step := range steps.Sorted() {
		newest = max(newest, step.Name)
	}
	return newest, nil
}
