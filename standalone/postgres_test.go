package standalone_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"vigil/standalone"
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
		config, err := pgx.ParseConfig(pg.DSN("vigil"))
		if err != nil {
			t.Fatal(err)
		}
		for _, password := range []string{"", "wrong"} {
			config.Password = password
			if conn, err := pgx.ConnectConfig(t.Context(), config); err == nil {
				_ = conn.Close(t.Context())
				t.Errorf("the password %q was accepted", password)
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

// stopAndCheck stops the server and fails when its process is still there.
func stopAndCheck(t *testing.T, pg *standalone.Postgres) {
	t.Helper()
	pid := pg.PID()
	began := time.Now()
	if err := pg.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("stop %v", time.Since(began))
	if err := syscall.Kill(pid, 0); err == nil {
		t.Errorf("process %d is still there", pid)
	}
}

// runDetached runs a server in the data directory without a parent death signal, such
// as a killed Vigil leaves on a system that has none.
func runDetached(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cluster := filepath.Join(dir, "postgres")
	port, err := os.ReadFile(filepath.Join(dir, "postgres.port"))
	if err != nil {
		t.Fatal(err)
	}
	exe, err := filepath.EvalSymlinks(binaryOnThisMachine(t))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(
		exe,
		"-D",
		cluster,
		"-p",
		strings.TrimSpace(string(port)),
		"-c",
		"unix_socket_directories=",
	) //nolint:noctx // ended by the code under test
	cmd.Dir = cluster
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: ownerOf(t, cluster)}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGQUIT) })
	password, err := os.ReadFile(filepath.Join(dir, "postgres.password"))
	if err != nil {
		t.Fatal(err)
	}
	awaitQuery(t, "postgres://vigil:"+strings.TrimSpace(string(password))+"@127.0.0.1:"+strings.TrimSpace(string(port))+"/vigil", `SELECT 1`)
	return cmd
}

func binaryOnThisMachine(t *testing.T) string {
	t.Helper()
	if path, err := exec.LookPath("postgres"); err == nil {
		return path
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if len(found) == 0 {
		t.Skip("no postgres on PATH or where Debian puts it")
	}
	return found[len(found)-1]
}

func ownerOf(t *testing.T, path string) *syscall.Credential {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatal("no owner")
	}
	return &syscall.Credential{Uid: stat.Uid, Gid: stat.Gid, NoSetGroups: true}
}

// unprivileged returns a directory of an unprivileged user, a copy of this binary that
// it can run, and the attributes to run a process as that user.
func unprivileged(t *testing.T) (dir, binary string, attr *syscall.SysProcAttr) {
	t.Helper()
	account, err := user.Lookup("nobody")
	if err != nil {
		t.Skip("no user nobody")
	}
	uid, _ := strconv.ParseUint(account.Uid, 10, 32)
	gid, _ := strconv.ParseUint(account.Gid, 10, 32)
	dir = openTempDir(t)
	if err := os.Chown(dir, int(uid), int(gid)); err != nil {
		t.Fatal(err)
	}
	binary = filepath.Join(openTempDir(t), "vigil.test")
	copyFile(t, self(t), binary)
	return dir, binary, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}

// openTempDir is a temporary directory that every user can reach; the testing
// package's own keep other users out.
func openTempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "standalone") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

func exec1(t *testing.T, dsn, statement string) {
	t.Helper()
	if err := try(t.Context(), dsn, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func query1(t *testing.T, dsn, statement string, args ...any) (value string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if err := conn.QueryRow(t.Context(), statement, args...).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// awaitQuery tries until the statement succeeds.
func awaitQuery(t *testing.T, dsn, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try(ctx, dsn, statement)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal(err)
		case <-tick.C:
		}
	}
}

func try(ctx context.Context, dsn, statement string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, statement)
	return err
}
