// SPDX-License-Identifier: Apache-2.0

package standalone_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil/internal/standalone"
)

func TestPostgres(t *testing.T) {
	t.Parallel()

	t.Run("StartsFirstAndAgainWithItsData", func(t *testing.T) {
		t.Parallel()
		data := openDir(t, t.TempDir())
		began := time.Now()
		pg, err := standalone.StartPostgres(t.Context(), data, standalone.PostgresOptions{Databases: []string{"vigil"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("first start %v", time.Since(began))
		exec1(t, pg.DSN("vigil"), `CREATE TABLE kept (n int)`)
		stopAndCheck(t, pg)
		began = time.Now()
		again := startPostgres(t, data)
		t.Logf("second start %v", time.Since(began))
		if again.Address() != pg.Address() {
			t.Errorf("address %s after a restart, want %s", again.Address(), pg.Address())
		}
		exec1(t, again.DSN("vigil"), `INSERT INTO kept VALUES (1)`)
	})

	t.Run("AsksForAPasswordAndKeepsItPrivate", func(t *testing.T) {
		t.Parallel()
		data := openDir(t, t.TempDir())
		pg := startPostgres(t, data)
		for _, dsn := range []string{pg.DSN("vigil"), "postgres://vigil@" + pg.Address() + "/vigil?sslmode=disable"} {
			config, err := pgx.ParseConfig(dsn)
			if err != nil {
				t.Fatal(err)
			}
			for _, password := range []string{"", "wrong"} {
				config.Password = password
				if conn, err := pgx.ConnectConfig(t.Context(), config); err == nil {
					_ = conn.Close(t.Context())
					t.Errorf("%s accepts the password %q", config.Host, password)
				}
			}
		}
		if mode := modeOf(t, data.Path(), "postgres.password"); mode != 0o600 {
			t.Errorf("the password's file has mode %v, want 0600", mode)
		}
		if _, err := os.Stat(filepath.Join(data.Path(), "postgres.pw")); err == nil {
			t.Error("the copy of the password for initdb was left behind")
		}
	})

	t.Run("IsDurable", func(t *testing.T) {
		t.Parallel()
		pg := startPostgres(t, openDir(t, t.TempDir()))
		for _, setting := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
			if got := query1(t, pg.DSN("vigil"), `SELECT current_setting($1)`, setting); got != "on" {
				t.Errorf("%s is %s, want on", setting, got)
			}
		}
	})

	t.Run("RestartsWhenItsProcessIsKilled", func(t *testing.T) {
		t.Parallel()
		pg := startPostgres(t, openDir(t, t.TempDir()))
		exec1(t, pg.DSN("vigil"), `CREATE TABLE kept (n int)`)
		before := pg.PID()
		if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		awaitQuery(t, pg.DSN("vigil"), `INSERT INTO kept VALUES (1)`)
		if pg.PID() == before {
			t.Error("the same process still runs")
		}
	})

	t.Run("IsReachedOverItsSocket", func(t *testing.T) {
		t.Parallel()
		data := openDir(t, t.TempDir())
		pg := startPostgres(t, data)
		if overTCP := query1(t, pg.DSN("vigil"), `SELECT (inet_client_addr() IS NOT NULL)::text`); overTCP != "false" {
			t.Error("the connection string leads over the network")
		}
		stopAndCheck(t, pg)
		// A killed server leaves these, and the id of its process may be that of any other by now.
		name := filepath.Join(data.Path(), "postgres", ".s.PGSQL."+pg.Address()[strings.LastIndex(pg.Address(), ":")+1:])
		for path, text := range map[string]string{name: "", name + ".lock": strconv.Itoa(os.Getpid()) + "\n"} {
			if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		exec1(t, startPostgres(t, data).DSN("vigil"), `SELECT 1`)
	})

	t.Run("IsReachedOverTCPWhereThePathOfTheSocketIsTooLong", func(t *testing.T) {
		t.Parallel()
		pg := startPostgres(t, openDir(t, filepath.Join(t.TempDir(), strings.Repeat("long", 20))))
		if overTCP := query1(t, pg.DSN("vigil"), `SELECT (inet_client_addr() IS NOT NULL)::text`); overTCP != "true" {
			t.Error("the connection string leads over a socket")
		}
	})

	t.Run("RunsForAnOrdinaryUser", func(t *testing.T) {
		t.Parallel()
		if os.Geteuid() != 0 {
			t.Skip("the other tests run as an ordinary user already")
		}
		dir, binary, attr := unprivileged(t)
		h := startHolder(t, binary, dir, attr)
		if got := query1(t, h.dsn, `SELECT current_database()`); got != "vigil" {
			t.Errorf("database %s, want vigil", got)
		}
		_ = h.stdin.Close()
		if err := h.cmd.Wait(); err != nil {
			t.Errorf("the other process ended with %v", err)
		}
	})
}

func TestPostgresBinaries(t *testing.T) {
	t.Parallel()

	t.Run("NoneFoundNamesTheRemedy", func(t *testing.T) {
		t.Parallel()
		_, err := standalone.StartPostgres(t.Context(), openDir(t, t.TempDir()),
			standalone.PostgresOptions{BinDirs: []string{t.TempDir()}})
		wantSentence(t, err, "no Postgres was found", "install", "DATABASE_URL")
	})

	t.Run("ClusterOfAnotherVersionIsLeftAlone", func(t *testing.T) {
		t.Parallel()
		data := openDir(t, t.TempDir())
		cluster := filepath.Join(data.Path(), "postgres")
		if err := os.Mkdir(cluster, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(cluster, "PG_VERSION"), []byte("99\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := standalone.StartPostgres(t.Context(), data, standalone.PostgresOptions{})
		wantSentence(t, err, "made by Postgres 99", "VIGIL_DATA_DIR")
	})
}

func TestLeftoverPostgres(t *testing.T) {
	t.Parallel()

	t.Run("OfAKilledParentDoesNotBlockTheStart", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		h := startHolder(t, self(t), dir, nil)
		exec1(t, h.dsn, `CREATE TABLE kept (n int)`)
		if err := h.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = h.cmd.Wait()
		pg := startPostgres(t, openDir(t, dir)) // the lock ended with its holder
		exec1(t, pg.DSN("vigil"), `INSERT INTO kept VALUES (1)`)
		if pg.PID() == h.pid {
			t.Error("the dead parent's server was kept")
		}
	})

	t.Run("ThatStillRunsIsStoppedFirst", func(t *testing.T) {
		t.Parallel()
		data := openDir(t, openTempDir(t))
		stopAndCheck(t, startPostgres(t, data))
		left := runDetached(t, data.Path())
		pg := startPostgres(t, data)
		if err := left.Wait(); err != nil {
			t.Errorf("the leftover ended with %v, want a clean stop", err)
		}
		exec1(t, pg.DSN("vigil"), `SELECT 1`)
	})

	t.Run("WhosePIDWasReusedDoesNotBlockTheStart", func(t *testing.T) {
		t.Parallel()
		data := openDir(t, t.TempDir())
		stopAndCheck(t, startPostgres(t, data))
		cluster := filepath.Join(data.Path(), "postgres")
		other := exec.Command("sleep", "60") //nolint:noctx // ended below
		other.SysProcAttr = &syscall.SysProcAttr{Credential: ownerOf(t, cluster)}
		if err := other.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = other.Process.Kill(); _ = other.Wait() })
		pidFile := filepath.Join(cluster, "postmaster.pid")
		text := strconv.Itoa(other.Process.Pid) + "\n" + cluster + "\n1\n5432\n\n127.0.0.1\n"
		if err := os.WriteFile(pidFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(pidFile, int(other.SysProcAttr.Credential.Uid), int(other.SysProcAttr.Credential.Gid)); err != nil {
			t.Fatal(err)
		}
		startPostgres(t, data)
		if err := other.Process.Signal(syscall.Signal(0)); err != nil {
			t.Errorf("the other program was ended: %v", err)
		}
	})
}

func TestEnsureDatabases(t *testing.T) {
	t.Parallel()
	pg := startPostgres(t, openDir(t, t.TempDir()))

	t.Run("CreatesThemOnce", func(t *testing.T) {
		t.Parallel()
		for range 2 {
			if err := standalone.EnsureDatabases(t.Context(), pg.DSN("vigil")); err != nil {
				t.Fatal(err)
			}
		}
		store, visibility := standalone.TemporalDatabases("vigil")
		exec1(t, pg.DSN(store), `SELECT 1`)
		exec1(t, pg.DSN(visibility), `SELECT 1`)
	})

	t.Run("NamesTheRightThatIsMissing", func(t *testing.T) {
		t.Parallel()
		exec1(t, pg.DSN("vigil"), `CREATE ROLE guest LOGIN PASSWORD 'guest'`)
		exec1(t, pg.DSN("vigil"), `CREATE DATABASE theirs OWNER guest`)
		dsn := "postgres://guest:guest@" + pg.Address() + "/theirs"
		wantSentence(t, standalone.EnsureDatabases(t.Context(), dsn), `"guest"`, "CREATEDB", "CREATE DATABASE")
	})

	for name, test := range map[string]struct {
		dsn  string
		want string
	}{
		"WrongPassword":   {"postgres://vigil:s3cr3t@" + pg.Address() + "/vigil", "password"},
		"UnknownDatabase": {strings.Replace(pg.DSN("gone"), "/gone", "/gone", 1), `no database "gone"`},
		"NotListening":    {"postgres://vigil:s3cr3t@127.0.0.1:1/vigil", "127.0.0.1:1"},
		"NotADSN":         {"postgres://vigil:s3cr3t@[oops/vigil", "postgres://user"},
		"NameTooLong":     {pg.DSN(strings.Repeat("n", 60)), "too long"},
	} {
		t.Run(name+"IsOneSentenceWithoutThePassword", func(t *testing.T) {
			t.Parallel()
			err := standalone.EnsureDatabases(t.Context(), test.dsn)
			wantSentence(t, err, "DATABASE_URL", test.want)
			if err != nil && strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("error %q holds the password", err)
			}
		})
	}
}
