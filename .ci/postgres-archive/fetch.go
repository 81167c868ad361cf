// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const mirror = "http://deb.debian.org/"

// fetch returns the path of a package in the cache; its content is compared with its checksum
// each time. A proxy of the environment is used.
func fetch(pkg deb, cache string) (string, error) {
	file := filepath.Join(cache, pkg.sum[:12]+"_"+path.Base(pkg.path))
	if content, err := os.ReadFile(file); err == nil && sumOf(content) == pkg.sum {
		return file, nil
	}
	content, err := get(mirror + pkg.path)
	if err == nil && sumOf(content) != pkg.sum {
		err = fmt.Errorf("it has the checksum %s, and the list has %s", sumOf(content), pkg.sum)
	}
	if err != nil {
		return "", fmt.Errorf("%s%s: %w (an older version is at https://snapshot.debian.org: put it into %s; "+
			"for the newest versions: go run ./.ci/postgres-archive -renew)", mirror, pkg.path, err, file)
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	draft := fmt.Sprintf("%s.%d", file, os.Getpid())
	return file, errors.Join(os.WriteFile(draft, content, 0o644), os.Rename(draft, file))
}

func get(address string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, errors.New(resp.Status)
	}
	return io.ReadAll(resp.Body)
}

func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// unpack returns the tar archive of a package's files. A package is an ar archive (deb(5)).
func unpack(file string) ([]byte, error) {
	rest, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	const magic, header = "!<arch>\n", 60
	if !bytes.HasPrefix(rest, []byte(magic)) {
		return nil, errors.New("not a Debian package")
	}
	for rest = rest[len(magic):]; len(rest) >= header; {
		name := strings.TrimRight(string(rest[:16]), " /")
		size, err := strconv.Atoi(strings.TrimSpace(string(rest[48:58])))
		if err != nil || size < 0 || header+size > len(rest) {
			return nil, errors.New("a damaged Debian package")
		}
		member := rest[header : header+size]
		rest = rest[min(header+size+size%2, len(rest)):]
		if name != "data.tar.xz" {
			continue
		}
		cmd := exec.Command("xz", "-dc")
		cmd.Stdin = bytes.NewReader(member)
		content, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("xz: %w", err)
		}
		return content, nil
	}
	return nil, errors.New("has no data.tar.xz")
}

// renewList writes the newest versions that the mirror has of the packages in the list.
func renewList(file string) error {
	newest := map[string]deb{} // by architecture and name; later suites have newer versions
	for _, suite := range []string{"debian/dists/bookworm", "debian/dists/bookworm-updates", "debian-security/dists/bookworm-security"} {
		for _, arch := range []string{"amd64", "arm64"} {
			packed, err := get(mirror + suite + "/main/binary-" + arch + "/Packages.xz")
			if err != nil {
				return fmt.Errorf("%s: %w", suite, err)
			}
			cmd := exec.Command("xz", "-dc")
			cmd.Stdin = bytes.NewReader(packed)
			index, err := cmd.Output()
			if err != nil {
				return fmt.Errorf("xz: %w", err)
			}
			for paragraph := range strings.SplitSeq(string(index), "\n\n") {
				found := deb{arch: arch, sum: member(paragraph, "SHA256"), path: suite[:strings.Index(suite, "/")] + "/" + member(paragraph, "Filename")}
				key := arch + " " + member(paragraph, "Package")
				if old, known := newest[key]; !known || newer(found, old) {
					newest[key] = found
				}
			}
		}
	}
	var text strings.Builder
	for line := range strings.Lines(packageList) {
		if strings.HasPrefix(line, "#") {
			text.WriteString(line)
		}
	}
	for _, pkg := range packages() {
		name, _, _ := strings.Cut(path.Base(pkg.path), "_")
		found, ok := newest[pkg.arch+" "+name]
		if !ok {
			return fmt.Errorf("the mirror has no package %s for %s", name, pkg.arch)
		}
		fmt.Fprintln(&text, found.arch, found.sum, found.path)
	}
	return os.WriteFile(file, []byte(text.String()), 0o644)
}

// newer compares the versions of two files of one package as dpkg does.
func newer(a, b deb) bool {
	version := func(pkg deb) string { return strings.Split(path.Base(pkg.path)+"__", "_")[1] }
	return exec.Command("dpkg", "--compare-versions", version(a), "gt", version(b)).Run() == nil
}

func member(paragraph, name string) string {
	found := regexp.MustCompile(`(?m)^` + name + `: (.*)$`).FindStringSubmatch(paragraph)
	if found == nil {
		return ""
	}
	return found[1]
}
