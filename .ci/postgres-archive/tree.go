// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// programs are what Vigil runs.
var programs = []string{"initdb", "pg_ctl", "pg_dump", "pg_restore", "postgres"}

const (
	binDir   = "usr/lib/postgresql/15/bin/"
	libDir   = "usr/lib/postgresql/15/lib/"
	shareDir = "usr/share/postgresql/15/"
)

// tree holds the files of the packages and what is chosen of them.
type tree struct {
	arch   string
	loader string            // name of the dynamic loader
	files  map[string][]byte // by path in the packages
	links  map[string]string
	from   map[string]deb    // the package of a file
	chosen map[string][]byte // by path in the result
	taken  map[string]bool   // the packages, by path, that something was chosen from
}

func newTree(arch string) *tree {
	loader := map[string]string{"amd64": "ld-linux-x86-64.so.2", "arm64": "ld-linux-aarch64.so.1"}[arch]
	return &tree{
		arch: arch, loader: loader, files: map[string][]byte{}, links: map[string]string{}, from: map[string]deb{},
		chosen: map[string][]byte{}, taken: map[string]bool{},
	}
}

// read takes the files of a package in.
func (t *tree) read(pkg deb, data io.Reader) error {
	for reader := tar.NewReader(data); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		name := strings.TrimPrefix(path.Clean(header.Name), "./")
		if !strings.HasPrefix(name, "usr/") {
			name = "usr/" + name // /lib is /usr/lib
		}
		switch header.Typeflag {
		case tar.TypeReg:
			if t.files[name], err = io.ReadAll(reader); err != nil {
				return err
			}
			t.from[name] = pkg
		case tar.TypeSymlink:
			target := header.Linkname
			if strings.HasPrefix(target, "/") {
				target = strings.TrimPrefix(path.Clean(target), "/")
			} else {
				target = path.Join(path.Dir(name), target)
			}
			if !strings.HasPrefix(target, "usr/") {
				target = "usr/" + target
			}
			t.links[name] = target
		}
	}
}

// resolve returns the path of the file that a path leads to, by links of it and of its folders.
func (t *tree) resolve(name string) (string, bool) {
	for range 20 {
		if _, ok := t.files[name]; ok {
			return name, true
		}
		followed := false
		for dir := name; dir != "." && !followed; dir = path.Dir(dir) {
			if target, ok := t.links[dir]; ok {
				name, followed = path.Join(target, strings.TrimPrefix(name, dir)), true
			}
		}
		if !followed {
			return "", false
		}
	}
	return "", false
}

// choose picks the programs, what they load, and the licenses of all.
//
// Postgres finds its libraries and its shared files relative to its programs as long as they lie
// as they were configured, so that the folders below usr keep their names. The programs are in
// libexec; what lies in their place is a script that runs the program by the loader beside it:
// no library of the machine is used, of any distribution and age.
func (t *tree) choose() error {
	for _, name := range programs {
		if err := t.take(binDir+name, "lib/postgresql/15/libexec/"+name); err != nil {
			return err
		}
		t.chosen["lib/postgresql/15/bin/"+name] = []byte(launcher(t.loader, name))
	}
	for _, name := range slices.Sorted(maps.Keys(t.files)) {
		var err error
		switch {
		case strings.HasPrefix(name, libDir) && path.Ext(name) == ".so" && !strings.HasPrefix(path.Base(name), "llvmjit"):
			err = t.take(name, strings.TrimPrefix(name, "usr/"))
		case strings.HasPrefix(name, shareDir) && !strings.HasPrefix(name, shareDir+"man/"):
			err = t.take(name, strings.TrimPrefix(name, "usr/"))
		}
		if err != nil {
			return err
		}
	}
	if err := t.takeLibrary(t.loader); err != nil {
		return err
	}
	if err := t.license(); err != nil {
		return err
	}
	return nil
}

// take chooses a file, and the libraries that it needs.
func (t *tree) take(name, as string) error {
	real, ok := t.resolve(name)
	if !ok {
		return fmt.Errorf("no package has %s", name)
	}
	content := t.files[real]
	t.chosen[as] = content
	t.taken[t.from[real].path] = true
	if !bytes.HasPrefix(content, []byte(elf.ELFMAG)) {
		return nil
	}
	file, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	needed, err := file.ImportedLibraries()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, library := range needed {
		err := t.takeLibrary(library)
		if err != nil && strings.HasPrefix(as, "lib/postgresql/15/lib/") {
			delete(t.chosen, as) // an extension that Vigil does not use
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s needs %s: %w", name, library, err)
		}
	}
	return nil
}

// takeLibrary chooses a library of the system by its name.
func (t *tree) takeLibrary(library string) error {
	if _, done := t.chosen["lib/"+library]; done {
		return nil
	}
	multiarch := map[string]string{"amd64": "x86_64-linux-gnu/", "arm64": "aarch64-linux-gnu/"}[t.arch]
	return t.take("usr/lib/"+multiarch+library, "lib/"+library)
}

// license chooses the copyright file of each package that something is of, and writes where its
// source is.
func (t *tree) license() error {
	var sources strings.Builder
	sources.WriteString("The programs in this folder and their libraries are unchanged, from these packages of Debian 12\n" +
		"(bookworm). The source of each is at https://snapshot.debian.org and https://sources.debian.org\n" +
		"under the name and the version of the package; its license is beside this file.\n\n")
	for _, taken := range slices.Sorted(maps.Keys(t.taken)) {
		name, _, _ := strings.Cut(path.Base(taken), "_")
		real, ok := t.resolve("usr/share/doc/" + name + "/copyright")
		if !ok {
			return fmt.Errorf("%s has no copyright file", taken)
		}
		t.chosen["licenses/"+name] = t.files[real]
		fmt.Fprintln(&sources, path.Base(taken))
	}
	t.chosen["licenses/README"] = []byte(sources.String())
	return nil
}

// write writes what was chosen.
func (t *tree) write(out string) error {
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(out, 0o755); err != nil {
		return err
	}
	for name, content := range t.chosen {
		mode := os.FileMode(0o644)
		if strings.Contains(name, "/bin/") || strings.Contains(name, "/libexec/") || path.Base(name) == t.loader {
			mode = 0o755
		}
		file := filepath.Join(out, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, content, mode)); err != nil {
			return err
		}
	}
	return nil
}

// launcher runs a program by the loader that is beside it. The program gets the path of the script
// as its own, by which it finds the others.
func launcher(loader, name string) string {
	return "#!/bin/sh\n" +
		"# Runs " + name + " with the libraries of this folder.\n" +
		"bin=${0%/*}\n" +
		"exec \"$bin/../../../" + loader + "\" --argv0 \"$0\" --library-path \"$bin/../../..\" \"$bin/../libexec/" + name + "\" \"$@\"\n"
}
