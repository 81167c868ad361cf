// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Files beside those of the project.
const (
	reportFile = "IMPORT.md"
	envFile    = ".env"
	ignoreFile = ".gitignore"
)

// ExistsError names files that an import would replace.
type ExistsError struct{ Files []string }

// Error lists the files.
func (e *ExistsError) Error() string {
	return fmt.Sprintf("%s exists already", strings.Join(e.Files, ", "))
}

// Write writes the files into a directory and returns their paths. Without force it
// replaces no file: the error is ExistsError, and nothing is written. A .gitignore that
// exists gets a line more.
func (r *Result) Write(dir string, force bool) ([]string, error) {
	if err := r.Finish(); err != nil {
		return nil, err
	}
	files := append(r.files(), file{reportFile, r.report()})
	if len(r.Secrets)+len(r.Variables) > 0 {
		files = append(files, file{envFile, r.env()})
	}
	stale, err := r.stale(dir, files)
	if err != nil {
		return nil, err
	}
	if existing := append(existingFiles(dir, files), stale...); len(existing) > 0 && !force {
		return nil, &ExistsError{Files: existing}
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}
	for _, path := range stale {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	var written []string
	for _, one := range files {
		path := filepath.Join(dir, one.name)
		mode := fs.FileMode(0o640)
		if one.name == envFile {
			mode = 0o600
		}
		if one.name == envFile {
			if err := ignore(dir); err != nil {
				return written, err
			}
		}
		if err := replace(path, one.text, mode); err != nil {
			return written, err
		}
		written = append(written, path)
	}
	return written, nil
}

// existingFiles returns the paths of files that are there already.
func existingFiles(dir string, files []file) []string {
	var found []string
	for _, one := range files {
		path := filepath.Join(dir, one.name)
		if _, err := os.Lstat(path); err == nil {
			found = append(found, path)
		}
	}
	return found
}

// stale returns the files of an earlier import that this one does not write.
func (r *Result) stale(dir string, files []file) ([]string, error) {
	var found []string
	for _, section := range r.sections() {
		name := section.name + ".yaml"
		if slices.ContainsFunc(files, func(one file) bool { return one.name == name }) {
			continue
		}
		path := filepath.Join(dir, name)
		text, err := os.ReadFile(path) //nolint:gosec // the user names the directory
		switch {
		case err == nil && bytes.HasPrefix(text, []byte(r.head())):
			found = append(found, path)
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	return found, nil
}

// replace writes a file beside its place and renames it, so that it is never half written
// and never has a wider mode.
func replace(path string, text []byte, mode fs.FileMode) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), ".import-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temporary.Name()) }()
	_, err = temporary.Write(text)
	if err := errors.Join(err, temporary.Chmod(mode), temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}

// ignore adds .env to the .gitignore of a directory.
func ignore(dir string) error {
	path := filepath.Join(dir, ignoreFile)
	text, err := os.ReadFile(path) //nolint:gosec // the user names the directory
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for line := range strings.Lines(string(text)) {
		if strings.TrimSpace(line) == envFile {
			return nil
		}
	}
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		text = append(text, '\n')
	}
	return replace(path, append(text, envFile+"\n"...), 0o640)
}

// env is the text of .env, which a shell reads. A variable of the source has no value yet.
func (r *Result) env() []byte {
	var out strings.Builder
	out.WriteString("# Secrets of the files beside this one. Load them with: set -a; . ./.env; set +a\n")
	for _, secret := range r.Secrets {
		fmt.Fprintf(&out, "%s='%s'\n", secret.Name, strings.ReplaceAll(secret.Value, "'", `'\''`))
	}
	if len(r.Variables) > 0 {
		fmt.Fprintf(&out, "\n# From the environment of %s. Fill in those that are not set elsewhere.\n", r.Source.Product)
	}
	for _, name := range r.Variables {
		fmt.Fprintf(&out, "#%s=''\n", name)
	}
	return []byte(out.String())
}
