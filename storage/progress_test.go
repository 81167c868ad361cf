// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// Migrate and Reseal say what they are at.
func TestProgress(t *testing.T) {
	t.Parallel()
	var said []string
	s := storagetest.Open(t, storagetest.EmptyDSN(t), func(o *storage.Options) {
		o.Progress = func(what string) { said = append(said, what) }
	})
	n, err := s.Migrate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(said) != n || !strings.HasPrefix(said[0], "migration 1001") || !slices.IsSorted(said) {
		t.Errorf("%d migrations are shown as %q", n, said)
	}
	org, _ := newOrg(t, s)
	newCheck(t, s, draft(org.ID, newark))
	said = nil
	if _, err := s.Reseal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(said, "1 configs read, 0 sealed") {
		t.Errorf("resealing is shown as %q", said)
	}
}
