// SPDX-License-Identifier: Apache-2.0

package pgbin

import (
	"os"
	"path/filepath"
)

// Bundled lists the folders of the Postgres programs that came with this program, in a release
// archive or in a package; it is empty for one that was built from source.
func Bundled() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return nil
	}
	return BundledBeside(filepath.Dir(self))
}

// BundledBeside is Bundled for a program in dir: an archive has the programs in lib/postgres
// beside it, a package for /usr/bin in /usr/lib/vigil/postgres.
func BundledBeside(dir string) []string {
	var dirs []string
	for _, root := range []string{filepath.Join(dir, "lib", "postgres"), filepath.Join(filepath.Dir(dir), "lib", "vigil", "postgres")} {
		matches, _ := filepath.Glob(filepath.Join(root, "lib", "postgresql", "*", "bin"))
		dirs = append(dirs, matches...)
	}
	return dirs
}

// BundleRoot returns the folder that a bundle is in, of which its programs use other folders too;
// ok is false for an installation that is none.
func (i Installation) BundleRoot() (root string, ok bool) {
	root = filepath.Dir(filepath.Dir(filepath.Dir(filepath.Dir(i.Dir))))
	_, err := os.Stat(filepath.Join(filepath.Dir(i.Dir), "libexec", "postgres"))
	return root, err == nil
}
