// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"net/http"
	"os"
	"testing"

	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/probe"
)

// TestFileSchema holds the schema of the files to the one that is kept, which shows what a
// change of the API means for files.
func TestFileSchema(t *testing.T) {
	t.Parallel()
	guard := egress.New(egress.Policy{})
	made, err := api.FileSchema(probe.NewRegistry(guard), notify.NewRegistry(guard))
	if err != nil {
		t.Fatal(err)
	}
	const path = "testdata/vigil.schema.json"
	if *update {
		if err := os.MkdirAll("testdata", 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, made, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if kept, err := os.ReadFile(path); err != nil || !bytes.Equal(kept, made) {
		t.Errorf("api/%s is not what is served (%v). Renew it with: go test ./api -run TestFileSchema -update", path, err)
	}
}

func TestFileSchemaIsServed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	guard := egress.New(egress.Policy{})
	made, err := api.FileSchema(probe.NewRegistry(guard), notify.NewRegistry(guard))
	if err != nil {
		t.Fatal(err)
	}
	served := b.do(t, http.MethodGet, "/v1/schemas/vigil.json", nil)
	if kind := served.header.Get(
		"Content-Type",
	); served.status != http.StatusOK || kind != "application/schema+json" ||
		!bytes.Equal(served.raw, made) {
		t.Errorf(
			"status %d, %s, %d bytes; want the %d bytes of the schema, without a credential",
			served.status,
			kind,
			len(served.raw),
			len(made),
		)
	}
}
