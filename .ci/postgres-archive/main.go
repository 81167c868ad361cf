// SPDX-License-Identifier: Apache-2.0

// Command postgres-archive writes the programs of Postgres that a release archive carries into a
// directory: those that `vigil up`, `vigil backup` and `vigil restore` run, every library that
// they need, down to the loader and the C library, and the license of each. All are from Debian's
// packages, which it fetches once and compares with their checksums.
//
//	go run ./.ci/postgres-archive -arch arm64 -o lib/postgres
//	go run ./.ci/postgres-archive -renew
package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
)

//go:embed packages
var packageList string

// deb is a line of the list.
type deb struct{ arch, sum, path string }

func main() {
	arch := flag.String("arch", "amd64", "amd64 or arm64")
	out := flag.String("o", "", "the directory to write, which must not exist")
	cache := flag.String("cache", ".bin/debian", "where packages that were fetched are kept")
	renew := flag.Bool("renew", false, "write the newest versions of the packages into the list")
	flag.Parse()
	err := errors.New("give the directory to write with -o")
	switch {
	case *renew:
		err = renewList(".ci/postgres-archive/packages")
	case *out != "":
		err = write(*arch, *out, *cache)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "postgres-archive: "+err.Error())
		os.Exit(1)
	}
}

// packages returns the lines of the list.
func packages() []deb {
	var all []deb
	lines := bufio.NewScanner(strings.NewReader(packageList))
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) == 3 && fields[0] != "#" {
			all = append(all, deb{arch: fields[0], sum: fields[1], path: fields[2]})
		}
	}
	return all
}

// write fetches the packages of an architecture and writes what is taken from them.
func write(arch, out, cache string) error {
	tree, found := newTree(arch), false
	for _, pkg := range packages() {
		if pkg.arch != arch {
			continue
		}
		found = true
		path, err := fetch(pkg, cache)
		if err != nil {
			return err
		}
		content, err := unpack(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := tree.read(pkg, bytes.NewReader(content)); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if !found {
		return fmt.Errorf("there are no packages for %q: amd64 and arm64 are known", arch)
	}
	if err := tree.choose(); err != nil {
		return err
	}
	return tree.write(out)
}
