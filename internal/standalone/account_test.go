// SPDX-License-Identifier: Apache-2.0

package standalone_test

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/standalone"
)

// TestPostgresNeedsAnAccountUnderRoot holds that without a user of its own Postgres does not
// run as one that other services run as.
func TestPostgresNeedsAnAccountUnderRoot(t *testing.T) {
	t.Parallel()
	as := func(id string) func(string) (*user.User, error) {
		return func(name string) (*user.User, error) { return &user.User{Username: name, Uid: id, Gid: id}, nil }
	}
	none := func(name string) (*user.User, error) { return nil, user.UnknownUserError(name) }
	of := func(name string) string { // a cluster that a user owns
		dir := filepath.Join(t.TempDir(), "postgres")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		owner, err := user.Lookup(name)
		if err != nil || os.Geteuid() != 0 {
			return filepath.Join(dir, "missing")
		}
		uid, _ := strconv.Atoi(owner.Uid)
		give(t, dir, uid)
		return dir
	}
	for name, tt := range map[string]struct {
		cluster string
		lookup  func(string) (*user.User, error)
		wrong   string // empty: it runs as postgres
	}{
		"no user postgres":                     {of("root"), none, "no user postgres"},
		"nobody's cluster":                     {of("nobody"), as("77"), "belongs to nobody"},
		"a new cluster, no user postgres":      {filepath.Join(t.TempDir(), "missing"), none, "no user postgres"},
		"the user postgres is root":            {filepath.Join(t.TempDir(), "missing"), as("0"), "cannot run Postgres"},
		"the user postgres has no numeric ids": {filepath.Join(t.TempDir(), "missing"), as("S-1-5"), "cannot run Postgres"},
		"a user postgres":                      {filepath.Join(t.TempDir(), "missing"), as("77"), ""},
	} {
		got, err := standalone.AccountUnderRoot(tt.cluster, tt.lookup, func(string) error { return errors.New("no program makes users") })
		if tt.wrong == "" {
			if got != "postgres" || err != nil {
				t.Errorf("%s: %q, %v", name, got, err)
			}
			continue
		}
		if got != "" || err == nil || !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: runs as %q, %v", name, got, err)
		}
	}
}

// TestPostgresGetsAUserOfItsOwn holds that one is made where there is no user postgres, once.
func TestPostgresGetsAUserOfItsOwn(t *testing.T) {
	t.Parallel()
	users, made := map[string]bool{}, 0
	lookup := func(name string) (*user.User, error) {
		if !users[name] {
			return nil, user.UnknownUserError(name)
		}
		return &user.User{Username: name, Uid: "77", Gid: "77"}, nil
	}
	add := func(name string) error {
		users[name], made = true, made+1
		return nil
	}
	for range 2 {
		got, err := standalone.AccountUnderRoot(filepath.Join(t.TempDir(), "missing"), lookup, add)
		if got != "vigil-postgres" || err != nil || made != 1 {
			t.Errorf("runs as %q, %d users made, %v", got, made, err)
		}
	}
}

// TestReachable holds that what lies below a folder of root is of no use to another user.
func TestReachable(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("gives folders to other users")
	}
	dir, err := os.MkdirTemp("/var/tmp", "reachable") //nolint:usetesting // the folders above are open to all
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if standalone.Reachable(program, 77, 77) {
		t.Error("a user reaches a program below a folder that only root may enter")
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if !standalone.Reachable(program, 77, 77) {
		t.Error("a user does not reach a program that all may run")
	}
}
