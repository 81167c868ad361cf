// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// MaxBytes is how large the files of one project are together, in bytes. The server takes as many.
const MaxBytes = 8 << 20

// maxFiles is how many files a project has.
const maxFiles = 10_000

// Stdin is the path that stands for standard input.
const Stdin = "-"

// source is the text of one file.
type source struct {
	name string
	text []byte
}

// json reports whether a file is JSON by its name.
func (s source) json() bool { return strings.EqualFold(filepath.Ext(s.name), ".json") }

// manifestFile reports whether a file in a directory is read, by its name.
func manifestFile(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".yaml", ".yml", ".json":
		return !strings.HasPrefix(name, ".")
	}
	return false
}

// find returns the files of the paths, sorted within each directory, each once.
func find(paths []string) ([]string, Problems) {
	var files []string
	var problems Problems
	for _, path := range paths {
		found, err := filesOf(path)
		if err != nil {
			problems = append(problems, Problem{Position: Position{File: path}, Message: reason(err)})
		}
		for _, file := range found {
			if !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
	}
	if len(files) > maxFiles {
		return nil, Problems{{Message: fmt.Sprintf("%d files; at most %d are read", len(files), maxFiles)}}
	}
	return files, problems
}

func filesOf(path string) ([]string, error) {
	if path == Stdin {
		return []string{path}, nil
	}
	path = filepath.Clean(path)
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, err
	}
	path += string(filepath.Separator) // so that a link to a directory is followed
	var files []string
	err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		switch hidden := strings.HasPrefix(filepath.Base(name), ".") && name != path; {
		case err != nil:
			return err
		case hidden && entry.IsDir():
			return fs.SkipDir
		case hidden || entry.IsDir() || !manifestFile(entry.Name()):
			return nil
		}
		// A link is followed to a file, as in a mounted ConfigMap, never to a directory, and
		// not to a file elsewhere, which a message could quote.
		if entry.Type()&fs.ModeSymlink != 0 && !leadsInside(path, name) {
			return fmt.Errorf("%s is a link that leads out of the directory", name)
		}
		if info, err := os.Stat(name); err != nil || info.Mode().IsRegular() {
			files = append(files, name)
		}
		return nil
	})
	slices.SortFunc(files, cmp.Compare[string])
	return files, err
}

// leadsInside reports whether a link in a directory leads to something in it, or to nothing.
func leadsInside(dir, link string) bool {
	to, err := filepath.EvalSymlinks(link)
	if err != nil {
		return true
	}
	dir, err = filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	inside, err := filepath.Rel(dir, to)
	return err == nil && filepath.IsLocal(inside)
}

// reason returns an error of the file system without the path, which the caller names.
func reason(err error) string {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err.Error()
	}
	return err.Error()
}

// open reads the files.
func open(files []string, stdin io.Reader) ([]source, Problems) {
	var sources []source
	var problems Problems
	total := 0
	for _, file := range files {
		text, err := readLimited(file, stdin, MaxBytes-total)
		if err != nil {
			problems = append(problems, Problem{Position: Position{File: file}, Message: reason(err)})
			continue
		}
		total += len(text)
		text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) // some editors begin a text with it; no parser here knows it
		sources = append(sources, source{name: file, text: text})
	}
	return sources, problems
}

func readLimited(file string, stdin io.Reader, limit int) ([]byte, error) {
	in := stdin
	if file != Stdin {
		opened, err := os.Open(file) //nolint:gosec // the user names it
		if err != nil {
			return nil, err
		}
		defer func() { _ = opened.Close() }()
		in = opened
	}
	if in == nil {
		return nil, errors.New("there is no standard input")
	}
	text, err := io.ReadAll(io.LimitReader(in, int64(limit)+1))
	if err == nil && len(text) > limit {
		err = fmt.Errorf("the files are larger than %d MiB together", MaxBytes>>20)
	}
	return text, err
}
