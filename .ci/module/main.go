// SPDX-License-Identifier: Apache-2.0

// Command module gives the module another path, for the one who publishes a copy: in imports,
// go.mod files, the rules of the linter, the scripts and the documents, and in the address of the
// Terraform provider, whose namespace is the element before the last. It reads the files that git
// tracks, and changes nothing when the path is not one that `go get` could fetch.
//
// Usage: go run ./.ci/module PATH
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: make module PATH=github.com/you/vigil")
		os.Exit(2)
	}
	changed, err := move(".", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "module:", err)
		os.Exit(1)
	}
	fmt.Printf("module: %d files name %s now\n", changed, os.Args[1])
}

// modulePath is a host with a dot, an owner and a name: what `go get` can fetch (Go Modules
// Reference, "Module paths"), less upper case, which registries of providers refuse.
var modulePath = regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)+(/[a-z0-9][a-z0-9._-]*)*/([a-z0-9][a-z0-9-]*)/vigil$`)

// move changes the path of the module in dir, a git work tree, and returns how many files changed.
func move(dir, to string) (changed int, err error) {
	owner := modulePath.FindStringSubmatch(to)
	if owner == nil {
		return 0, fmt.Errorf("%q is not host/owner/vigil, such as github.com/you/vigil", to)
	}
	from, err := current(dir)
	if err != nil || from == to {
		return 0, err
	}
	parts := strings.Split(from, "/")
	// The path first: what is left of "owner/vigil" is the address of the provider.
	replaced := strings.NewReplacer(from, to, strings.Join(parts[len(parts)-2:], "/"), owner[3]+"/vigil")
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = dir
	names, err := list.Output()
	if err != nil {
		return 0, fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		ok, err := rewrite(filepath.Join(dir, name), replaced)
		if err != nil {
			return changed, err
		}
		if ok {
			changed++
		}
	}
	return changed, nil
}

// rewrite reports whether a file changed. Links and binary files stay as they are.
func rewrite(name string, replaced *strings.Replacer) (bool, error) {
	info, err := os.Lstat(name)
	if errors.Is(err, os.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return false, nil // removed, and not yet committed
	}
	if err != nil {
		return false, err
	}
	text, err := os.ReadFile(name)
	if err != nil || bytes.IndexByte(text, 0) >= 0 {
		return false, err
	}
	after := replaced.Replace(string(text))
	if after == string(text) {
		return false, nil
	}
	return true, os.WriteFile(name, []byte(after), info.Mode().Perm())
}

// current is the path in go.mod.
func current(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	path, ok := strings.CutPrefix(line, "module ")
	if !ok || strings.Count(path, "/") < 2 {
		return "", fmt.Errorf("go.mod begins with %q, not with a module of host/owner/name", line)
	}
	return path, nil
}
