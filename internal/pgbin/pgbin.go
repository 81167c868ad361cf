// SPDX-License-Identifier: Apache-2.0

package pgbin

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

// OldestMajor is the oldest major version of Postgres that Vigil runs on.
const OldestMajor = 15

// Installation is one installation of Postgres.
type Installation struct {
	Dir   string // holds postgres, initdb and pg_ctl
	Major int    // version
}

// Path is that of one of its programs.
func (i Installation) Path(program string) string { return filepath.Join(i.Dir, program) }

// VersionError says that only installations of another version were found.
type VersionError struct {
	Found, Want int // major versions; Want 0: OldestMajor or newer
}

// Error names the version that was found and how to install the right one.
func (e VersionError) Error() string {
	if e.Want != 0 {
		return fmt.Sprintf("Postgres %d is needed and only Postgres %d was found: %s", e.Want, e.Found, installHint())
	}
	return fmt.Sprintf("only Postgres %d was found and %d or newer is needed: %s", e.Found, OldestMajor, installHint())
}

// Find returns the first installation in the directories, in order, that is not too
// old. When major is not zero it must have that major version, because a cluster
// opens with no other. Nil dirs are those of Dirs. The error is a VersionError when
// only other versions were found.
func Find(ctx context.Context, dirs []string, major int) (Installation, error) {
	if dirs == nil {
		dirs = Dirs()
	}
	var tooOld, other int
	for _, dir := range dirs {
		found, ok := inspect(ctx, dir)
		switch {
		case !ok:
		case found.Major < OldestMajor:
			tooOld = max(tooOld, found.Major)
		case major != 0 && found.Major != major:
			other = max(other, found.Major)
		default:
			return found, nil
		}
	}
	switch {
	case other != 0:
		return Installation{}, VersionError{Found: other, Want: major}
	case tooOld != 0:
		return Installation{}, VersionError{Found: tooOld}
	default:
		return Installation{}, fmt.Errorf("no Postgres was found on this machine: %s", installHint())
	}
}

func installHint() string {
	if runtime.GOOS == "darwin" {
		return "install it (brew install postgresql@17)"
	}
	return "install it (Debian and Ubuntu: apt-get install postgresql)"
}

// Dirs lists where Postgres is usually installed: the directory in PATH, with links
// resolved because initdb must lie beside postgres, then the packages of Debian, Red
// Hat, Homebrew and Postgres.app, newest first, and at last those that came with Vigil.
func Dirs() []string {
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
		slices.SortFunc(matches, func(a, b string) int { return lastNumber(b) - lastNumber(a) })
		dirs = append(dirs, matches...)
	}
	return append(dirs, Bundled()...)
}

// lastNumber returns the last number in a path: the version of an installation.
func lastNumber(path string) int {
	found := regexp.MustCompile(`\d+`).FindAllString(path, -1)
	if len(found) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(found[len(found)-1])
	return n
}

// inspect reads the version of the installation in dir; ok is false when there is
// none that runs.
func inspect(ctx context.Context, dir string) (found Installation, ok bool) {
	for _, name := range []string{"postgres", "initdb"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return Installation{}, false
		}
	}
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output() //nolint:gosec // one of the directories above
	if err != nil {
		return Installation{}, false
	}
	major, err := strconv.Atoi(regexp.MustCompile(`\d+`).FindString(string(out)))
	return Installation{Dir: dir, Major: major}, err == nil
}
