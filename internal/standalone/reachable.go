// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/vigil-monitor/vigil/internal/pgbin"
)

// copies is where programs are copied to for a user who cannot enter their folder.
const copies = "/var/cache/vigil-postgres"

// reachable returns an installation that the account can run. An archive that root unpacked in
// its home directory has the programs where no other user may enter: they are copied, once.
func (a account) reachable(bin pgbin.Installation) (pgbin.Installation, error) {
	root, bundled := bin.BundleRoot()
	if !a.drop || !bundled || a.mayUse(bin.Path("postgres")) {
		return bin, nil
	}
	copied, err := copyBundle(root)
	if err != nil {
		return bin, fmt.Errorf("Postgres runs as the user %s, who may not enter %s, and its programs cannot be copied (%w): "+
			"unpack the archive where every user may enter, such as in /opt", a.name, root, err)
	}
	within, err := filepath.Rel(root, bin.Dir)
	return pgbin.Installation{Dir: filepath.Join(copied, within), Major: bin.Major}, err
}

// mayUse reports whether the account may read and run a file and enter the folders above it.
func (a account) mayUse(path string) bool {
	for ; ; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		if err != nil {
			return false
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return false
		}
		allowed := info.Mode().Perm() & 0o005
		switch {
		case stat.Uid == a.uid:
			allowed = info.Mode().Perm() & 0o500 >> 6
		case stat.Gid == a.gid:
			allowed = info.Mode().Perm() & 0o050 >> 3
		}
		if allowed&1 == 0 || !info.IsDir() && allowed != 5 {
			return false
		}
		if path == filepath.Dir(path) {
			return true
		}
	}
}

// copyBundle returns the copy of a bundle, which is named by the versions of its packages.
func copyBundle(root string) (string, error) {
	versions, err := os.ReadFile(filepath.Join(root, "licenses", "README")) //nolint:gosec // beside this program
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(versions)
	to := filepath.Join(copies, hex.EncodeToString(sum[:6]))
	if _, err := os.Stat(to); err == nil { //nolint:gosec // a name made of a checksum
		return to, nil
	}
	if err := errors.Join(os.MkdirAll(copies, 0o755), os.Chmod(copies, 0o755)); err != nil { //nolint:gosec // programs, for all
		return "", err
	}
	draft, err := os.MkdirTemp(copies, "new")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(draft) }()
	if err := os.CopyFS(draft, os.DirFS(root)); err != nil {
		return "", err
	}
	err = filepath.WalkDir(draft, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if info.IsDir() || info.Mode().Perm()&0o100 != 0 {
			mode = 0o755
		}
		return os.Chmod(path, mode) //nolint:gosec // below a new folder that only root may write
	})
	if err != nil {
		return "", err
	}
	err = os.Rename(draft, to) //nolint:gosec // as above
	if err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, syscall.ENOTEMPTY) {
		return "", err
	}
	return to, nil
}
