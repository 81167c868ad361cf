// SPDX-License-Identifier: Apache-2.0

package pgbin

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// Tool returns the path of a client program, such as pg_dump, of this major version or a
// newer one: a program works with older servers, and not with newer ones. The same
// version is preferred, then the oldest. Nil dirs are those of Dirs, and PATH.
func Tool(ctx context.Context, dirs []string, name string, major int) (string, error) {
	var paths []string
	if dirs == nil {
		dirs = Dirs()
		if onPath, err := exec.LookPath(name); err == nil {
			paths = append(paths, onPath)
		}
	}
	for _, dir := range dirs {
		paths = append(paths, filepath.Join(dir, name))
	}
	best, found := "", 0
	for _, path := range paths {
		out, err := exec.CommandContext(ctx, path, "--version").Output() //nolint:gosec // one of the directories above
		if err != nil {
			continue
		}
		version, err := strconv.Atoi(regexp.MustCompile(`\d+`).FindString(string(out)))
		if err == nil && version >= major && (best == "" || version < found) {
			best, found = path, version
		}
	}
	if best == "" {
		return "", fmt.Errorf("%s of Postgres %d or newer was not found: install it (Debian and Ubuntu: apt-get install postgresql-client-%d)",
			name, major, major)
	}
	return best, nil
}
