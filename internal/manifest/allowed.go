// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// secretDirs are where container platforms mount secrets. /var/run is another name of /run.
func secretDirs() []string { return []string{"/run/secrets", "/var/run/secrets"} }

// allowedFiles are the directories whose files ${file:...} may read.
type allowedFiles struct{ dirs []string }

// newAllowedFiles allows the directories of a project's paths, those of secrets, and more.
func newAllowedFiles(paths, more []string) *allowedFiles {
	all := append(secretDirs(), more...)
	for _, path := range paths {
		if info, err := os.Stat(path); path == Stdin || err != nil || !info.IsDir() {
			path = filepath.Dir(path) // "." of standard input
		}
		all = append(all, path)
	}
	f := &allowedFiles{}
	for _, dir := range all {
		if whole, err := filepath.Abs(dir); err == nil {
			f.dirs = append(f.dirs, whole)
		}
	}
	return f
}

// read reads a regular file, one byte more than it may have at most. A relative path begins at
// the directory of the file that names it. A link must lead to a file of the same directory
// that is allowed.
func (f *allowedFiles) read(from, path string) ([]byte, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(from), path)
	}
	whole, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	for _, dir := range f.dirs {
		if inside, err := filepath.Rel(dir, whole); err == nil && filepath.IsLocal(inside) {
			return readInside(dir, inside)
		}
	}
	return nil, errors.New("it is outside of the project's directory and /run/secrets; --allow-file " + filepath.Dir(path) +
		" of the command line allows a directory")
}

func readInside(dir, inside string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	info, err := root.Stat(inside) // before it is opened: to open a pipe waits
	if err != nil {
		return nil, linkReason(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	file, err := root.Open(inside)
	if err != nil {
		return nil, linkReason(err)
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, maxSecretFile+1))
}

// linkReason says in plain words that a link leads out of a directory.
func linkReason(err error) error {
	if strings.Contains(err.Error(), "escapes") {
		return errors.New("it is a link that leads out of the directory")
	}
	return err
}
