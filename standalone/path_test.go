package standalone_test

import (
	"os"
	"path/filepath"
	"testing"

	"vigil/backup"
	"vigil/pgbin"
)

// TestDataDirectoryOfAnyName starts the private Postgres in directories whose names have a
// meaning in connection strings, in shells or in settings, and dumps and loads a database.
func TestDataDirectoryOfAnyName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"my data", "über 日本 🛒", "a,b", `a+b%20'c"d\n&e=f?g#h:i@j;k$(l)~`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// A short path, so that the socket is used.
			parent, err := os.MkdirTemp("/tmp", "v") //nolint:usetesting // that of a test is longer than a socket's path may be
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(parent) })
			data := openDir(t, filepath.Join(parent, name))
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
