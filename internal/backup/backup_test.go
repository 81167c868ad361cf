// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/backup"
	"github.com/vigil-monitor/vigil/internal/pgbin/programtest"
)

// files fills a directory with the files of a backup.
func files(t *testing.T) (dir string, manifest backup.Manifest) {
	t.Helper()
	dir = t.TempDir()
	manifest = backup.Manifest{
		Version: "1.2", Time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Postgres: 15, Schema: "0041",
		Databases: []backup.Database{{Role: backup.Temporal, Name: "vigil_temporal"}, {Role: backup.Platform, Name: "vigil"}},
	}
	for name, content := range map[string]string{
		backup.KeyFile: "key\n", backup.Platform.File(): strings.Repeat("rows ", 1000), backup.Temporal.File(): "workflows",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, manifest
}

func written(t *testing.T) []byte {
	t.Helper()
	dir, manifest := files(t)
	var file bytes.Buffer
	if err := backup.Write(&file, manifest, dir); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// sameFiles reports whether two directories have the same dumps and key.
func sameFiles(t *testing.T, a, b string) bool {
	t.Helper()
	for _, name := range []string{backup.KeyFile, backup.Platform.File(), backup.Temporal.File()} {
		before, err := os.ReadFile(filepath.Join(a, name))
		if err != nil {
			t.Fatal(err)
		}
		after, err := os.ReadFile(filepath.Join(b, name))
		if err != nil || !bytes.Equal(before, after) {
			return false
		}
	}
	return true
}

// TestPlantedPartialFile pins that a backup is a new file of its owner, also where another
// user has put something beside it.
func TestPlantedPartialFile(t *testing.T) {
	t.Parallel()
	from, manifest := files(t)
	for name, plant := range map[string]func(t *testing.T, path, elsewhere string) error{
		"AFile":           func(_ *testing.T, path, _ string) error { return os.WriteFile(path, []byte("mine"), 0o666) },
		"ALink":           func(_ *testing.T, path, elsewhere string) error { return os.Symlink(elsewhere, path) },
		"ALinkToNothing":  func(_ *testing.T, path, elsewhere string) error { return os.Symlink(elsewhere+".new", path) },
		"ADirectory":      func(_ *testing.T, path, _ string) error { return os.Mkdir(path, 0o777) },
		"ALinkToAnotherD": func(t *testing.T, path, _ string) error { t.Helper(); return os.Symlink(t.TempDir(), path) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "elsewhere")
			planted := plant(t, filepath.Join(dir, "file.partial"), elsewhere)
			if err := errors.Join(os.WriteFile(elsewhere, []byte("theirs"), 0o600), planted); err != nil {
				t.Fatal(err)
			}
			if err := backup.Create(filepath.Join(dir, "file"), manifest, from); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Lstat(filepath.Join(dir, "file")); err != nil || info.Mode() != 0o600 {
				t.Errorf("the backup is %v, %v", info, err)
			}
			if text, err := os.ReadFile(elsewhere); err != nil || string(text) != "theirs" {
				t.Errorf("the file elsewhere has %q, %v", text, err)
			}
			if _, err := os.Lstat(elsewhere + ".new"); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a file was made elsewhere: %v", err)
			}
			if left, err := filepath.Glob(filepath.Join(dir, ".file.*")); err != nil || len(left) > 0 {
				t.Errorf("it leaves %v, %v", left, err)
			}
		})
	}
}

func TestExtract(t *testing.T) {
	t.Parallel()

	t.Run("GivesBackWhatWasWritten", func(t *testing.T) {
		t.Parallel()
		from, want := files(t)
		file := filepath.Join(t.TempDir(), "file")
		if err := backup.Create(file, want, from); err != nil {
			t.Fatal(err)
		}
		in, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = in.Close() }()
		to := t.TempDir()
		got, err := backup.Extract(in, to)
		if err != nil {
			t.Fatal(err)
		}
		if !got.Time.Equal(want.Time) || got.Schema != want.Schema || !slices.Equal(got.Databases, want.Databases) ||
			!got.Has(backup.Platform) || got.Has(backup.Visibility) {
			t.Errorf("manifest %+v, want %+v", got, want)
		}
		if !sameFiles(t, from, to) {
			t.Error("the files differ")
		}
	})

	t.Run("RefusesEveryTruncation", func(t *testing.T) {
		t.Parallel()
		whole := written(t)
		end := len(bytes.TrimRight(whole, "\x00"))
		for n := range end {
			if _, err := backup.Verify(bytes.NewReader(whole[:n])); !errors.Is(err, backup.ErrDamaged) {
				t.Fatalf("%d of %d bytes: %v, want it to be damaged", n, len(whole), err)
			}
		}
	})

	t.Run("RefusesEveryAlteredByteOfItsFiles", func(t *testing.T) {
		t.Parallel()
		dir, manifest := files(t)
		var file bytes.Buffer
		if err := backup.Write(&file, manifest, dir); err != nil {
			t.Fatal(err)
		}
		whole := file.Bytes()
		for at := range whole {
			altered := bytes.Clone(whole)
			altered[at] ^= 4
			if _, err := backup.Verify(bytes.NewReader(altered)); err != nil {
				continue
			}
			to := t.TempDir() // it is padding, or of a header without a meaning
			if _, err := backup.Extract(bytes.NewReader(altered), to); err != nil || !sameFiles(t, dir, to) {
				t.Fatalf("byte %d of %d, %q: it is accepted (%v)", at, len(whole), whole[at], err)
			}
		}
	})

	t.Run("RefusesANewerFormat", func(t *testing.T) {
		t.Parallel()
		whole := bytes.Replace(written(t), []byte(`"format": 1`), []byte(`"format": 2`), 1)
		if _, err := backup.Verify(bytes.NewReader(whole)); err == nil || !strings.Contains(err.Error(), "newer version") {
			t.Errorf("%v, want a newer version to be asked for", err)
		}
	})
}

func TestCreate(t *testing.T) {
	t.Parallel()

	t.Run("ReplacesNoFile", func(t *testing.T) {
		t.Parallel()
		dir, manifest := files(t)
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := backup.Create(file, manifest, dir); err == nil || !strings.Contains(err.Error(), "exists already") {
			t.Errorf("%v, want it refused", err)
		}
		if content, err := os.ReadFile(file); err != nil || string(content) != "mine" {
			t.Errorf("the file holds %q (%v)", content, err)
		}
	})

	t.Run("LeavesNothingAfterAFailure", func(t *testing.T) {
		t.Parallel()
		_, manifest := files(t)
		dir := t.TempDir()
		if err := backup.Create(filepath.Join(dir, "file"), manifest, t.TempDir()); err == nil {
			t.Error("a backup without its dumps was written")
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("it left %v (%v)", left, err)
		}
	})

	t.Run("IsReadByItsOwnerOnly", func(t *testing.T) {
		t.Parallel()
		dir, manifest := files(t)
		file := filepath.Join(t.TempDir(), "file")
		if err := backup.Create(file, manifest, dir); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v (%v), want 0600", info.Mode(), err)
		}
	})
}

func TestDump(t *testing.T) {
	t.Parallel()

	// A program that fails and prints what it was given.
	program := filepath.Join(t.TempDir(), "pg_dump")
	const script = "#!/bin/sh\necho \"$@\" with $PGPASSWORD\nexit 1\n"
	programtest.Write(t, program, []byte(script))
	for name, test := range map[string]struct{ dsn, want string }{
		"URL": {
			"postgres://ann:hunter2@db.example:5433/vigil?sslmode=disable&pool_max_conns=4",
			"--dbname=postgres://ann@db.example:5433/vigil?sslmode=disable",
		},
		"Query": {"postgresql:///vigil?host=/run&password=hunter2&user=ann", "--dbname=postgresql:///vigil?host=%2Frun&user=ann"},
		"Path": {
			"postgres://vigil:hunter2@:5432/vigil?host=%2Fhome%2Fmy%20data%2F100%25%2Ba%2Bb%27s+c&sslmode=disable",
			"--dbname=postgres://vigil@:5432/vigil?host=%2Fhome%2Fmy%20data%2F100%25%2Ba%2Bb%27s%2Bc&sslmode=disable",
		},
		"Keywords": {"host=db.example user=ann password='hunter2' dbname=vigil", "--dbname=host=db.example user=ann dbname=vigil"},
	} {
		t.Run(name+"KeepsThePasswordOutOfArgumentsAndErrors", func(t *testing.T) {
			t.Parallel()
			err := backup.Dump(t.Context(), program, test.dsn, "/file")
			if err == nil || !strings.Contains(err.Error(), test.want+" ") || !strings.HasSuffix(err.Error(), "with ***") {
				t.Errorf("%v, want %s and a hidden password", err, test.want)
			}
		})
	}
}
