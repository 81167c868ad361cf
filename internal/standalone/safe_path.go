// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// As root, every directory on the way to the data directory decides who can exchange it
// and what is in it: keys, the password of the database, files that root writes.

// maxLinks bounds the symbolic links on the way to a directory.
const maxLinks = 40

// checkPath reports what lets another user than root exchange a part of the path. Each
// directory must belong to root or to the user (euid), and only they may write to it,
// unless its sticky bit keeps them from exchanging what belongs to others, as in /tmp. A
// symbolic link counts by its target, if root made it. Parts that do not exist yet are
// made by this process.
func checkPath(path string, euid uint32) error {
	links := 0
	dir := "/"
	rest := strings.Split(strings.Trim(filepath.Clean(path), "/"), "/")
	for {
		info, err := os.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return unusable(dir, "opened", err)
		}
		owner, known := uidOf(info)
		switch {
		case known && owner != 0 && owner != euid:
			return unsafePath(path, dir, "belongs to another user")
		case info.Mode()&fs.ModeSymlink != 0:
			if links++; links > maxLinks {
				return unsafePath(path, dir, "leads through too many symbolic links")
			}
			target, err := os.Readlink(dir)
			if err != nil {
				return unusable(dir, "opened", err)
			}
			if !filepath.IsAbs(target) {
				target = filepath.Join(filepath.Dir(dir), target)
			}
			rest = append(strings.Split(strings.Trim(filepath.Clean(target), "/"), "/"), rest...)
			dir = "/"
			continue
		case !info.IsDir():
			return nil // opening it reports that
		case info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0:
			return unsafePath(path, dir, "can be written to by other users")
		}
		for len(rest) > 0 && rest[0] == "" {
			rest = rest[1:]
		}
		if len(rest) == 0 {
			return nil
		}
		dir, rest = filepath.Join(dir, rest[0]), rest[1:]
	}
}

// checkDataDir checks the data directory itself, which must not be shared with anyone. path has no
// symbolic links: those on the way to it are checked by checkPath.
func checkDataDir(path string, euid uint32) error {
	info, err := os.Lstat(path)
	if err != nil {
		return unusable(path, "opened", err)
	}
	owner, known := uidOf(info)
	switch {
	case !info.IsDir():
		return unsafePath(path, path, "is not a directory")
	case known && owner != euid:
		return unsafePath(path, path, "belongs to another user")
	case info.Mode().Perm()&0o022 != 0:
		return unsafePath(path, path, "can be written to by other users")
	}
	return nil
}

func unsafePath(path, part, why string) error {
	return fmt.Errorf("the data directory %s is not safe for root: %s %s; choose a directory that only root can change with VIGIL_DATA_DIR, "+
		"such as /var/lib/vigil, or run vigil as an ordinary user", path, part, why)
}

func uidOf(info fs.FileInfo) (uid uint32, known bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return stat.Uid, true
}

// readPrivate reads a file that only this user can have written: a regular one, not
// reached through a symbolic link, of this user or of root, that no other can write to.
func readPrivate(path string) ([]byte, error) {
	const flags = os.O_RDONLY | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	file, err := os.OpenFile(path, flags, 0) //nolint:gosec // a fixed name inside our own directory
	if errors.Is(err, syscall.ELOOP) {
		return nil, planted(path, "is a symbolic link")
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	owner, known := uidOf(info)
	switch {
	case !info.Mode().IsRegular():
		return nil, planted(path, "is not a regular file")
	case known && owner != 0 && int(owner) != os.Geteuid():
		return nil, planted(path, "belongs to another user")
	case info.Mode().Perm()&0o022 != 0:
		return nil, planted(path, "can be written to by other users")
	}
	return io.ReadAll(io.LimitReader(file, 1<<20))
}

func planted(path, why string) error {
	return fmt.Errorf("the file %s %s, so another user may have made it: remove it, or make this user its owner with mode 0600", path, why)
}

// WritePrivate writes a file for this user alone, never through a symbolic link.
func WritePrivate(path, content string) error {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC | syscall.O_NOFOLLOW
	file, err := os.OpenFile(path, flags, 0o600) //nolint:gosec // a fixed name inside our own directory
	if err != nil {
		return err
	}
	_, err = file.WriteString(content)
	return errors.Join(err, file.Close())
}
