// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"github.com/vigil-monitor/vigil/internal/releases"
	"github.com/vigil-monitor/vigil/internal/releases/attest"
)

// attested reads what a release says of itself, as somebody does who has the files alone.
func attested(t *testing.T, made map[string][]byte) {
	t.Helper()
	digest := func(name string) string {
		sum := sha256.Sum256(made[name])
		return hex.EncodeToString(sum[:])
	}
	latest, err := releases.Parse(made["latest.json"])
	if err != nil || latest.Version != "v1.2.0" || latest.Notes != "- more" || len(latest.Files) != 9 ||
		latest.ReleasedAt.Unix() != 1790000000 {
		t.Errorf("latest.json: %+v, %v", latest, err)
	}
	for _, file := range latest.Files {
		if file.SHA256 != digest(file.Name) || file.Size != int64(len(made[file.Name])) {
			t.Errorf("latest.json has another %s", file.Name)
		}
	}
	var statement attest.Statement
	if err := json.Unmarshal(made["provenance.intoto.json"], &statement); err != nil {
		t.Fatal(err)
	}
	definition := statement.Predicate.BuildDefinition
	if statement.Type != "https://in-toto.io/Statement/v1" || statement.PredicateType != "https://slsa.dev/provenance/v1" ||
		statement.Predicate.RunDetails.Builder.ID != "https://ci.example.com/vigil" || len(statement.Subject) != 18 ||
		definition.ResolvedDependencies[0].Digest["gitCommit"] != "0123456789abcdef" ||
		definition.ExternalParameters["kinds"] != "full slim agent" || !strings.HasPrefix(definition.InternalParameters["go"], "go1.") {
		t.Errorf("the provenance is %s", made["provenance.intoto.json"])
	}
	for _, subject := range statement.Subject {
		if subject.Digest["sha256"] != digest(subject.Name) {
			t.Errorf("the provenance has another %s", subject.Name)
		}
	}
	const archive = "vigil_v1.2.0_linux_amd64.tar.gz"
	var bill cdx.BOM
	if err := cdx.NewBOMDecoder(strings.NewReader(string(made[archive+".cdx.json"])), cdx.BOMFileFormatJSON).Decode(&bill); err != nil {
		t.Fatal(err)
	}
	if bill.SpecVersion != cdx.SpecVersion1_6 || (*bill.Metadata.Component.Hashes)[0].Value != digest(archive) {
		t.Errorf("the bill of materials is %s", made[archive+".cdx.json"])
	}
	names := ""
	for _, component := range *bill.Components {
		names += component.Name + " "
	}
	if names != "std CHANGELOG.md LICENSE NOTICE README.md vigil " {
		t.Errorf("the bill of materials has %s", names)
	}
}
