// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/storage/storagetest"

	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/platform"
)

// With separate roles, which never run `vigil up`, this command creates the first key.
func TestFirstKey(t *testing.T) {
	t.Parallel()
	dsn := storagetest.EmptyDSN(t)
	at := []string{"--database-url", dsn, "--data-dir", t.TempDir()}
	if _, stderr, code := vigilRun(t, append([]string{"migrate"}, at...)...); code != 0 {
		t.Fatal(stderr)
	}
	store := storagetest.Open(t, dsn)
	var made []string
	for _, name := range []string{"first", "second"} {
		stdout, stderr, code := vigilRun(t, append([]string{"keys", "create", "--name", name}, at...)...)
		if code != 0 || stderr != "" {
			t.Fatalf("ends with %d: %s", code, stderr)
		}
		key := strings.TrimSuffix(stdout, "\n")
		if !strings.HasPrefix(key, "vgl_") || strings.ContainsAny(key, " \n") {
			t.Errorf("prints %q", stdout)
		}
		made = append(made, key)
	}
	operator, err := store.Operator(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	org, err := store.Organization(t.Context(), operator.OrgID)
	if err != nil || org.Tier != account.TierEnterprise {
		t.Errorf("the operator's organization is %+v, %v", org, err)
	}
	keys, total, err := store.Keys(t.Context(), operator.OrgID, listing.Page{Limit: 10})
	if err != nil || total != 2 {
		t.Fatalf("%d keys are stored, %v", total, err)
	}
	for i, name := range []string{"second", "first"} { // newest first
		if keys[i].Name != name || !strings.HasPrefix(made[1-i], keys[i].Prefix) {
			t.Errorf("key %d is %+v", i, keys[i])
		}
	}
	if again, err := platform.Bootstrap(t.Context(), store, platform.DefaultKeyName); again != "" || err != nil {
		t.Errorf("a start after it gives %q, %v", again, err)
	}
}
