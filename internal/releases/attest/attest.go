// SPDX-License-Identifier: Apache-2.0

// Package attest writes what says how a release was made and what is in it: a bill of materials
// (CycloneDX 1.6) for each archive, a provenance statement (in-toto, SLSA) of all files, and
// latest.json. The same files make the same bytes. It is used by .ci/release; no part of the platform
// imports it.
package attest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil/internal/releases"
)

// Module is the path of the source.
const Module = "github.com/vigil-monitor/vigil"

// Names of what is written, besides a bill of materials beside each archive.
const (
	ProvenanceFile = "provenance.intoto.json"
	LatestFile     = "latest.json"
	SBOMSuffix     = ".cdx.json"
)

// Release is what is known of a release beside its files.
type Release struct {
	Dir        string // with the files, and nothing else
	Version    string
	Commit     string
	Builder    string // identifies who runs the build, as a URI
	At         time.Time
	ModCache   string // where the licences of modules are, "" for unknown
	Changelog  string
	Parameters map[string]string // of the build, such as PLATFORMS
	GoVersion  string            // such as go1.26.8
}

// Write adds the bills of materials, the provenance and latest.json to the directory.
func Write(r *Release) error {
	entries, err := os.ReadDir(r.Dir)
	if err != nil {
		return fmt.Errorf("attest: %w", err)
	}
	var files []releases.File
	for _, entry := range entries {
		if entry.IsDir() {
			return fmt.Errorf("attest: %s is a directory", entry.Name())
		}
		file, err := describe(filepath.Join(r.Dir, entry.Name()))
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	shipped := slices.Clone(files)
	for _, file := range files {
		if !strings.HasSuffix(file.Name, ".tar.gz") {
			continue
		}
		bill, err := r.bill(file)
		if err != nil {
			return err
		}
		name := filepath.Join(r.Dir, file.Name+SBOMSuffix)
		if err := os.WriteFile(name, bill, 0o644); err != nil { //nolint:gosec // a release is public
			return fmt.Errorf("attest: %w", err)
		}
		described, err := describe(name)
		if err != nil {
			return err
		}
		shipped = append(shipped, described)
	}
	latest := releases.New(r.Version, r.Commit, r.At, releases.Notes(r.Changelog, r.Version), files)
	if err := r.writeJSON(LatestFile, latest); err != nil {
		return err
	}
	slices.SortFunc(shipped, func(a, b releases.File) int { return strings.Compare(a.Name, b.Name) })
	return r.writeJSON(ProvenanceFile, r.provenance(shipped))
}

func (r *Release) writeJSON(name string, value any) error {
	content, err := json.MarshalIndent(value, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(r.Dir, name), append(content, '\n'), 0o644) //nolint:gosec // a release is public
	}
	if err != nil {
		return fmt.Errorf("attest: write %s: %w", name, err)
	}
	return nil
}

// describe returns the size and the digest of a file.
func describe(path string) (releases.File, error) {
	file, err := os.Open(path) //nolint:gosec // a file of the release
	if err != nil {
		return releases.File{}, fmt.Errorf("attest: %w", err)
	}
	defer func() { _ = file.Close() }()
	hash := sha256.New()
	size, err := io.Copy(hash, file)
	if err != nil {
		return releases.File{}, fmt.Errorf("attest: read %s: %w", path, err)
	}
	return releases.File{Name: filepath.Base(path), Size: size, SHA256: hex.EncodeToString(hash.Sum(nil))}, nil
}
