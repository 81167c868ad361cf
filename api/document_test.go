// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/vigil-monitor/vigil/api/apitest"
)

//nolint:gochecknoglobals // read once for all tests
var loadContract = sync.OnceValues(func() (*apitest.Contract, error) {
	text, err := newDocument()
	if err != nil {
		return nil, err
	}
	return apitest.Read(text)
})

// documented returns the OpenAPI document of an API with all check and channel types.
func documented(t *testing.T) *apitest.Contract {
	t.Helper()
	c, err := loadContract()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// document returns the same as its reader has it.
func document(t *testing.T) *openapi3.T {
	t.Helper()
	return documented(t).Doc
}

// conforming holds every exchange to the document.
func conforming(t *testing.T, next http.RoundTripper) http.RoundTripper {
	t.Helper()
	return &apitest.Transport{Contract: documented(t), Next: next, Report: t.Errorf}
}

// asked is the body of a request that the document describes, as a tree that a test can change.
func asked(t *testing.T, text string) map[string]any {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return body
}
