// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Create writes a backup to a new file that only its owner can read. The file appears
// under its name when it is complete and on disk. One that exists is not replaced.
// dir holds the dumps and the key under their names in the archive.
func Create(path string, manifest Manifest, dir string) (err error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s exists already: choose another name", path)
	}
	// A name that no one can foresee, of a file that is new: in a directory of others, a known
	// one could be a link, or a file of theirs.
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.partial") // 0600
	if err != nil {
		return fmt.Errorf("create the backup: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	if err := errors.Join(Write(file, manifest, dir), file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Link(file.Name(), path); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already: choose another name", path)
	} else if err != nil { // a file system without hard links
		return errors.Join(os.Rename(file.Name(), path), syncDir(filepath.Dir(path)))
	}
	return errors.Join(os.Remove(file.Name()), syncDir(filepath.Dir(path)))
}

// syncDir puts the names in a directory on disk.
func syncDir(path string) error {
	dir, err := os.Open(path) //nolint:gosec // of a file that the operator names
	if err != nil {
		return fmt.Errorf("open the directory of the backup: %w", err)
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Write writes a backup. See Create for dir.
func Write(w io.Writer, manifest Manifest, dir string) error {
	manifest.Format = format
	text, err := json.MarshalIndent(manifest, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the manifest: %w", err)
	}
	a := &archive{tar: tar.NewWriter(w), manifest: manifest}
	if err := a.addText(manifestFile, append(text, '\n')); err != nil {
		return err
	}
	for _, name := range a.files() {
		if err := a.addFile(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if err := a.addText(sumsFile, a.sums); err != nil {
		return err
	}
	if err := a.tar.Close(); err != nil {
		return fmt.Errorf("finish the backup: %w", err)
	}
	return nil
}

// archive is a backup that is being written.
type archive struct {
	tar      *tar.Writer
	manifest Manifest
	sums     []byte // in the format of sha256sum
}

// files returns the entries after the manifest, in their order.
func (a *archive) files() []string {
	names := []string{KeyFile}
	for _, database := range a.manifest.Databases {
		names = append(names, database.Role.File())
	}
	return names
}

func (a *archive) addText(name string, text []byte) error {
	if err := a.tar.WriteHeader(a.header(name, int64(len(text)))); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if _, err := a.tar.Write(text); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	sum := sha256.Sum256(text)
	a.addSum(name, sum[:])
	return nil
}

func (a *archive) addFile(path string) error {
	name := filepath.Base(path)
	file, err := os.Open(path) //nolint:gosec // a dump that was just made
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if err := a.tar.WriteHeader(a.header(name, info.Size())); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(a.tar, sum), file); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	a.addSum(name, sum.Sum(nil))
	return nil
}

func (a *archive) header(name string, size int64) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: a.manifest.Time}
}

func (a *archive) addSum(name string, sum []byte) {
	a.sums = fmt.Appendf(a.sums, "%s  %s\n", hex.EncodeToString(sum), name)
}
