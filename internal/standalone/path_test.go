// SPDX-License-Identifier: Apache-2.0

package standalone_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/backup"
	"github.com/vigil-monitor/vigil/internal/pgbin"
)

// TestDataDirectoryOfAnyName starts the private Postgres in directories whose names have a
// meaning in connection strings, in shells or in settings, and dumps and loads a database.
func TestDataDirectoryOfAnyName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long/", 100)
	for what, name := range map[string]string{
		"space": "my data", "unicode": "über 日本 🛒", "comma": "a,b", "special": `a+b%20'c"d\n&e=f?g#h:i@j;k$(l)~`,
		"dash": `-D \back`, "slash": "data/", "long": long, "link": "link",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			// A short path, so that the socket is used.
			parent, err := os.MkdirTemp("/tmp", "v") //nolint:usetesting // that of a test is longer than a socket's path may be
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(parent) })
			if err := os.Mkdir(filepath.Join(parent, "where it leads"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("where it leads", filepath.Join(parent, "link")); err != nil {
				t.Fatal(err)
			}
			data := openDir(t, parent+"/"+name)
			pg := startPostgres(t, data)
			exec1(t, pg.DSN("vigil"), `CREATE TABLE kept (n int)`)
			exec1(t, pg.DSN("postgres"), `CREATE DATABASE again`)
			file := filepath.Join(data.Path(), "vigil.dump")
			program, err := pgbin.Tool(t.Context(), nil, "pg_dump", pg.Version())
			if err != nil {
				t.Fatal(err)
			}
			if err := backup.Dump(t.Context(), program, pg.DSN("vigil"), file); err != nil {
				t.Fatalf("pg_dump: %v", err)
			}
			if program, err = pgbin.Tool(t.Context(), nil, "pg_restore", pg.Version()); err != nil {
				t.Fatal(err)
			}
			if err := backup.Load(t.Context(), program, pg.DSN("again"), file); err != nil {
				t.Fatalf("pg_restore: %v", err)
			}
			exec1(t, pg.DSN("again"), `INSERT INTO kept VALUES (1)`)
			stopAndCheck(t, pg)
		})
	}
}
