package standalone

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
)

const oldestPostgres = 15

// binaries is one installation of Postgres.
type binaries struct {
	dir   string
	major int
}

func (b binaries) path(name string) string { return filepath.Join(b.dir, name) }

// findBinaries looks through the directories, in order, for an installation that
// is not too old. When major is not zero only that major version will do,
// because a cluster can be opened by no other.
func findBinaries(ctx context.Context, dirs []string, major int) (binaries, error) {
	var tooOld, other int
	for _, dir := range dirs {
		found, ok := inspect(ctx, dir)
		switch {
		case !ok:
		case found.major < oldestPostgres:
			tooOld = max(tooOld, found.major)
		case major != 0 && found.major != major:
			other = max(other, found.major)
		default:
			return found, nil
		}
	}
	switch {
	case other != 0:
		return binaries{}, fmt.Errorf("the data directory was made by Postgres %d and only Postgres %d was found: install Postgres %d, or choose another directory with VIGIL_DATA_DIR", major, other, major)
	case tooOld != 0:
		return binaries{}, fmt.Errorf("only Postgres %d was found and %d or newer is needed: %s, or set DATABASE_URL", tooOld, oldestPostgres, installHint())
	default:
		return binaries{}, fmt.Errorf("no Postgres was found on this machine: %s, or set DATABASE_URL", installHint())
	}
}

func installHint() string {
	if runtime.GOOS == "darwin" {
		return "install it (brew install postgresql)"
	}
	return "install it (Debian and Ubuntu: apt-get install postgresql)"
}

// binaryDirs lists where Postgres is usually installed: what PATH names, with
// links resolved because initdb must lie beside postgres, then the packages of
// Debian, Red Hat, Homebrew and Postgres.app, newest first.
func binaryDirs() []string {
	var dirs []string
	if onPath, err := exec.LookPath("postgres"); err == nil || errors.Is(err, exec.ErrDot) {
		if real, err := filepath.EvalSymlinks(onPath); err == nil {
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/pgsql-*/bin",
		"/opt/homebrew/opt/postgresql@*/bin",
		"/opt/homebrew/opt/postgresql/bin",
		"/usr/local/opt/postgresql@*/bin",
		"/usr/local/opt/postgresql/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	} {
		matches, _ := filepath.Glob(pattern)
		slices.SortFunc(matches, func(a, b string) int { return numberIn(b) - numberIn(a) })
		dirs = append(dirs, matches...)
	}
	return dirs
}

// numberIn returns the last number in a path: the version of an installation.
func numberIn(path string) int {
	found := regexp.MustCompile(`\d+`).FindAllString(path, -1)
	if len(found) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(found[len(found)-1])
	return n
}

// inspect asks the installation in dir for its version; what cannot answer is
// not an installation.
func inspect(ctx context.Context, dir string) (binaries, bool) {
	for _, name := range []string{"postgres", "initdb"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return binaries{}, false
		}
	}
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output() //nolint:gosec // one of the directories above
	if err != nil {
		return binaries{}, false
	}
	found := regexp.MustCompile(`\d+`).FindString(string(out))
	major, err := strconv.Atoi(found)
	return binaries{dir: dir, major: major}, err == nil
}
