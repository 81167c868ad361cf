// SPDX-License-Identifier: Apache-2.0

package attest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/releases"
)

// contents are what an archive has in it.
type contents struct {
	program *debug.BuildInfo
	files   []cdx.Component
}

// bill returns the bill of materials of an archive as JSON: the modules in its program, and its files.
func (r *Release) bill(archive releases.File) ([]byte, error) {
	found, err := inspect(filepath.Join(r.Dir, archive.Name))
	if err != nil {
		return nil, fmt.Errorf("attest: %s: %w", archive.Name, err)
	}
	sum, err := hex.DecodeString(archive.SHA256)
	if err != nil {
		return nil, fmt.Errorf("attest: %w", err)
	}
	name, _, _ := strings.Cut(archive.Name, "_")
	root := cdx.Component{
		BOMRef: "archive", Type: cdx.ComponentTypeApplication, Name: name, Version: r.Version,
		PackageURL: "pkg:golang/" + Module + "@" + r.Version + "#cmd/vigil", Licenses: licensed("Apache-2.0"),
		Hashes: sha256Hash(archive.SHA256), Properties: properties(found.program),
	}
	components := append(r.modules(found.program), found.files...)
	depends := cdx.Dependency{Ref: root.BOMRef, Dependencies: new([]string)}
	for _, c := range components {
		*depends.Dependencies = append(*depends.Dependencies, c.BOMRef)
	}
	bom := cdx.NewBOM()
	// A number that follows from the archive: another build of it has the same.
	bom.SerialNumber = "urn:uuid:" + uuid.NewHash(sha256.New(), uuid.NameSpaceURL, sum, 8).String()
	bom.Metadata = &cdx.Metadata{Timestamp: r.At.UTC().Format(time.RFC3339), Component: &root}
	bom.Components, bom.Dependencies = &components, &[]cdx.Dependency{depends}
	var out bytes.Buffer
	if err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return nil, fmt.Errorf("attest: %w", err)
	}
	return out.Bytes(), nil
}

// inspect reads an archive: the module information of the program vigil in it, and the digests of all
// files.
func inspect(path string) (contents, error) {
	var found contents
	file, err := os.Open(path) //nolint:gosec // a file of the release
	if err != nil {
		return found, err
	}
	defer func() { _ = file.Close() }()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		return found, err
	}
	for reader := tar.NewReader(unzipped); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return found, err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		name := strings.TrimPrefix(header.Name, "./")
		hash := sha256.New()
		var program bytes.Buffer
		into := io.Writer(hash)
		isProgram := name == "vigil" || name == "vigil-agent"
		if isProgram {
			into = io.MultiWriter(hash, &program)
		}
		if _, err := io.Copy(into, reader); err != nil { //nolint:gosec // this release made the archive
			return found, err
		}
		if isProgram {
			if found.program, err = buildinfo.Read(bytes.NewReader(program.Bytes())); err != nil {
				return found, err
			}
		}
		found.files = append(found.files, cdx.Component{
			BOMRef: "file:" + name, Type: cdx.ComponentTypeFile, Name: name, Hashes: sha256Hash(hex.EncodeToString(hash.Sum(nil))),
		})
	}
	if found.program == nil {
		return found, errors.New("it has no program vigil or vigil-agent")
	}
	return found, nil
}

// modules are the modules that are linked into a program, and the standard library.
func (r *Release) modules(program *debug.BuildInfo) []cdx.Component {
	std := strings.TrimPrefix(program.GoVersion, "go")
	out := []cdx.Component{{
		BOMRef: "pkg:golang/std@" + std, Type: cdx.ComponentTypeLibrary, Name: "std", Version: std, Scope: cdx.ScopeRequired,
		PackageURL: "pkg:golang/std@" + std, Licenses: licensed("BSD-3-Clause"),
	}}
	for _, m := range program.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		purl := "pkg:golang/" + strings.ToLower(m.Path) + "@" + m.Version
		c := cdx.Component{
			BOMRef: purl, Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, Scope: cdx.ScopeRequired, PackageURL: purl,
			Licenses: licensed(licenceOf(r.ModCache, m.Path, m.Version)),
		}
		// What go.sum has is a SHA-256 over the digests of the files of the module.
		if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(sum) == sha256.Size {
			c.Hashes = sha256Hash(hex.EncodeToString(sum))
		}
		out = append(out, c)
	}
	return out
}

// properties are the settings of the build that the program records.
func properties(program *debug.BuildInfo) *[]cdx.Property {
	var out []cdx.Property
	for _, s := range program.Settings {
		out = append(out, cdx.Property{Name: "vigil:build:" + s.Key, Value: s.Value})
	}
	return &out
}

func sha256Hash(sum string) *[]cdx.Hash {
	return &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: sum}}
}

func licensed(id string) *cdx.Licenses {
	if id == "" {
		return nil
	}
	return &cdx.Licenses{{License: &cdx.License{ID: id}}}
}
