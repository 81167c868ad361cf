// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"encoding/json"
	"maps"
	"net/url"
	"strconv"
	"testing"
)

// withTest returns the same caller for another test.
func withTest(t *testing.T, c caller) caller {
	t.Helper()
	c.t = t
	return c
}

func encode(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func clone(o object) object { return maps.Clone(o) }

func port(t *testing.T, u *url.URL) int {
	t.Helper()
	n, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	return n
}
