// SPDX-License-Identifier: Apache-2.0

package attest

import (
	"strings"

	"github.com/vigil-monitor/vigil/internal/releases"
)

// Statement is an in-toto statement, version 1
// (https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md).
type Statement struct {
	Type          string     `json:"_type"`
	Subject       []Resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     Predicate  `json:"predicate"`
}

// Resource is a file or a source by its digests.
type Resource struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest,omitempty"`
}

// Predicate is SLSA provenance, version 1 (https://slsa.dev/spec/v1.0/provenance).
type Predicate struct {
	BuildDefinition struct {
		BuildType            string            `json:"buildType"`
		ExternalParameters   map[string]string `json:"externalParameters"`
		InternalParameters   map[string]string `json:"internalParameters"`
		ResolvedDependencies []Resource        `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder struct {
			ID string `json:"id"`
		} `json:"builder"`
		// Metadata would have the times of the build, which another build cannot repeat.
	} `json:"runDetails"`
}

// buildType says how the parameters are read: by `make release`.
const buildType = "https://" + Module + "/blob/main/docs/release.md#provenance"

// provenance is the statement of how all files were made.
func (r *Release) provenance(files []releases.File) Statement {
	s := Statement{Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1"}
	for _, file := range files {
		s.Subject = append(s.Subject, Resource{Name: file.Name, Digest: map[string]string{"sha256": file.SHA256}})
	}
	definition := &s.Predicate.BuildDefinition
	definition.BuildType = buildType
	definition.ExternalParameters = map[string]string{"version": r.Version, "command": "make release"}
	for name, value := range r.Parameters {
		definition.ExternalParameters[name] = value
	}
	definition.InternalParameters = map[string]string{"go": r.GoVersion}
	source := Resource{URI: "git+https://" + Module + "@" + r.Version}
	if r.Commit != "" {
		source.Digest = map[string]string{"gitCommit": r.Commit}
	}
	definition.ResolvedDependencies = []Resource{
		source, {URI: "pkg:generic/go@" + strings.TrimPrefix(r.GoVersion, "go")},
	}
	s.Predicate.RunDetails.Builder.ID = r.Builder
	return s
}
