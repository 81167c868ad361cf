// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxText bounds the entries that are read into memory, in bytes.
const maxText = 1 << 20

// Verify reads a backup to its end and returns its manifest. A file that is truncated,
// altered or no backup is an ErrDamaged.
func Verify(r io.Reader) (Manifest, error) { return Extract(r, "") }

// Extract is Verify, and writes the dumps and the key into a directory, readable by
// their owner only. After an error the directory holds nothing to be used.
func Extract(r io.Reader, dir string) (Manifest, error) {
	e := &extraction{tar: tar.NewReader(r), dir: dir, sums: map[string]string{}}
	if err := e.readAll(); err != nil {
		return Manifest{}, err
	}
	return e.manifest, e.complete()
}

// extraction is a backup that is being read.
type extraction struct {
	tar      *tar.Reader
	dir      string // empty: nothing is written
	manifest Manifest
	name     string            // of the present entry
	sums     map[string]string // of the entries that were read
	stated   map[string]string // by SHA256SUMS, which is the last entry
}

func (e *extraction) readAll() error {
	for {
		header, err := e.tar.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return damaged("%v", err)
		case e.stated != nil || header.Typeflag != tar.TypeReg || header.Name != filepath.Base(header.Name):
			return damaged("it has the entry %q, which does not belong there", header.Name)
		case e.sums[header.Name] != "":
			return damaged("it has the entry %s twice", header.Name)
		}
		e.name = header.Name
		if err := e.read(header); err != nil {
			return err
		}
	}
}

func (e *extraction) read(header *tar.Header) error {
	switch header.Name {
	case manifestFile:
		text, err := e.text()
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, &e.manifest); err != nil {
			return damaged("its manifest cannot be read: %v", err)
		}
		if e.manifest.Format > format {
			return fmt.Errorf("the backup has the format %d and this version of vigil reads up to %d: use a newer version",
				e.manifest.Format, format)
		}
		return nil
	case sumsFile:
		text, err := e.text()
		if err != nil {
			return err
		}
		e.stated = map[string]string{}
		for line := range strings.Lines(string(text)) {
			sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
			e.stated[name] = sum
		}
		return nil
	}
	return e.file(header.Name)
}

// text reads a small entry.
func (e *extraction) text() ([]byte, error) {
	var text bytes.Buffer
	if err := e.copy(&text, io.LimitReader(e.tar, maxText)); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// file reads a dump or the key.
func (e *extraction) file(name string) error {
	if e.dir == "" {
		return e.copy(io.Discard, e.tar)
	}
	file, err := os.OpenFile(filepath.Join(e.dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // the name has no directory
	if err != nil {
		return fmt.Errorf("extract %s: %w", name, err)
	}
	return errors.Join(e.copy(file, e.tar), file.Close())
}

// writeError is an error of the writer of a copy.
type writeError struct{ error }

func (w writeError) Unwrap() error { return w.error }

// guarded marks the errors of a writer.
type guarded struct{ io.Writer }

func (g guarded) Write(p []byte) (int, error) {
	n, err := g.Writer.Write(p)
	if err != nil {
		err = writeError{err}
	}
	return n, err
}

// copy reads the present entry and notes its checksum.
func (e *extraction) copy(w io.Writer, r io.Reader) error {
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(sum, guarded{w}), r); err != nil {
		if failed, ok := errors.AsType[writeError](err); ok {
			return fmt.Errorf("extract the backup: %w", failed.error)
		}
		return damaged("%v", err)
	}
	e.sums[e.name] = hex.EncodeToString(sum.Sum(nil))
	return nil
}

// complete compares what was read with the checksums and the manifest.
func (e *extraction) complete() error {
	if e.stated == nil {
		return damaged("it ends before its checksums")
	}
	delete(e.sums, sumsFile)
	for name, sum := range e.sums {
		if e.stated[name] != sum {
			return damaged("the checksum of %s is wrong", name)
		}
	}
	wanted := []string{manifestFile, KeyFile}
	for _, database := range e.manifest.Databases {
		wanted = append(wanted, database.Role.File())
	}
	for name := range e.sums {
		if !slices.Contains(wanted, name) {
			return damaged("its manifest does not name %s", name)
		}
	}
	for _, name := range wanted {
		if e.sums[name] == "" {
			return damaged("it has no %s", name)
		}
	}
	return nil
}
