package standalone_test

import (
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// TestPostgresGetsAnAccountOfItsOwn holds that a cluster which an older version gave
// to an account that other services run as is given to postgres.
func TestPostgresGetsAnAccountOfItsOwn(t *testing.T) {
	t.Parallel()
	account, err := user.Lookup("postgres")
	if err != nil || os.Geteuid() != 0 {
		t.Skip("only for root, on a machine with a user postgres")
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Skip("no user nobody")
	}
	data := openDir(t, t.TempDir())
	stopAndCheck(t, startPostgres(t, data))
	cluster := filepath.Join(data.Path(), "postgres")
	uid, _ := strconv.Atoi(nobody.Uid)
	for _, path := range []string{cluster, filepath.Join(cluster, "PG_VERSION"), filepath.Join(cluster, "base")} {
		give(t, path, uid)
	}
	startPostgres(t, data)
	for _, path := range []string{cluster, filepath.Join(cluster, "PG_VERSION"), filepath.Join(cluster, "base")} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if owner := info.Sys().(*syscall.Stat_t).Uid; strconv.Itoa(int(owner)) != account.Uid {
			t.Errorf("%s belongs to %d, want %s", path, owner, account.Uid)
		}
	}
}
