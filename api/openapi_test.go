// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/probe"
)

var update = flag.Bool("update", false, "renew openapi.yaml and the clients") //nolint:gochecknoglobals // a flag

const (
	renewal = "Renew it with: go test ./api -run TestOpenAPI -update"
	// generator makes the client; -update may download it.
	generator = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2"
	// clientSum is the digest of the document that the client was made from.
	clientSum = "../client/openapi.sum"
)

// unions are the methods that read what is one of several types: member by member, from a map of all of them, so that each
// byte of a list of checks with summaries is looked at six times. readOnce reads the members in one go.
var unions = regexp.MustCompile(
	`(?s)(func \(t \*(\w+)\) UnmarshalJSON\(b \[\]byte\) error \{\n\terr := t\.union\.UnmarshalJSON\(b\)\n)\tif err != nil \{.*?\n\}\n`,
)

const readOnce = `${1}	if err != nil {
		return err
	}
	type plain ${2} // without this method
	return json.Unmarshal(b, (*plain)(t))
}
`

// newDocument is the document of an API with all check and channel types.
func newDocument() ([]byte, error) {
	guard := egress.New(egress.Policy{})
	return api.Document(probe.NewRegistry(guard), notify.NewRegistry(guard))
}

// TestOpenAPI holds the document that is served to the one that is kept, and
// the client to the document.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	served, err := newDocument()
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256(served)
	sum := hex.EncodeToString(digest[:])
	if *update {
		renew(t, served, sum)
		return
	}
	if kept, err := os.ReadFile("openapi.yaml"); err != nil || !bytes.Equal(kept, served) {
		t.Errorf("api/openapi.yaml is not what is served (%v). Look at the difference. %s", err, renewal)
	}
	if kept, err := os.ReadFile(clientSum); err != nil || strings.TrimSpace(string(kept)) != sum {
		t.Errorf("client/ is not generated from what is served (%v). %s", err, renewal)
	}
}

// TestMetadataIsDescribed holds that a result's metadata is described for every
// type, with all its members.
func TestMetadataIsDescribed(t *testing.T) {
	t.Parallel()
	doc := document(t)
	described := make(map[string]openapi3.Schemas)
	for _, one := range doc.Components.Schemas["Result"].Value.Properties["metadata"].Value.AnyOf {
		described[strings.TrimPrefix(one.Ref, "#/components/schemas/")] = one.Value.Properties
	}
	types := probe.NewRegistry(egress.New(egress.Policy{}))
	for _, kind := range types.Types() {
		for field := range reflect.TypeOf(types.Metadata(kind)).Fields() {
			member, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name := reflect.TypeOf(types.Metadata(kind)).Name(); described[name][member] == nil {
				t.Errorf("%s: the document does not describe %s.%s", kind, name, member)
			}
		}
	}
}

// renew writes the document, and generates the client from it.
func renew(t *testing.T, document []byte, sum string) {
	t.Helper()
	write := func(name string, content []byte) {
		if err := os.WriteFile(name, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("openapi.yaml", document)
	run := exec.CommandContext(t.Context(), "go", "run", generator, "-config", "oapi-codegen.yaml", "../api/openapi.yaml")
	run.Dir = "../client"
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("generate the client: %v\n%s", err, out)
	}
	generated, err := os.ReadFile("../client/client.gen.go")
	if err != nil {
		t.Fatal(err)
	}
	write("../client/client.gen.go", unions.ReplaceAll(generated, []byte(readOnce)))
	write(clientSum, []byte(sum+"\n"))
	others := exec.CommandContext(t.Context(), "go", "run", "./.ci/clients")
	others.Dir = ".."
	if out, err := others.CombinedOutput(); err != nil {
		t.Fatalf("generate the clients of TypeScript and Python: %v\n%s", err, out)
	}
}
