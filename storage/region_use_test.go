// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
)

func TestRegionsInUse(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	want := func(fact string, regions ...string) {
		t.Helper()
		used, err := s.RegionsInUse(t.Context(), []string{newark, frankfurt, singapore})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(used, regions) {
			t.Errorf("%s: %v are in use, want %v", fact, used, regions)
		}
	}
	if used, err := s.RegionsInUse(t.Context(), nil); err != nil || len(used) > 0 {
		t.Errorf("%v of no regions are in use, %v", used, err)
	}
	want("nothing runs")
	disabled := draft(org.ID, singapore)
	disabled.Enabled = false
	check := newCheck(t, s, disabled)
	want("a disabled check has a loop", singapore)
	newCheck(t, s, draft(org.ID, frankfurt))
	want("two checks", singapore, frankfurt)
	if _, err := s.DeleteCheck(t.Context(), org.ID, check.ID, nil); err != nil {
		t.Fatal(err)
	}
	want("the loop of a deleted check must end", singapore, frankfurt)
	if _, err := s.DB().ExecContext(t.Context(), "UPDATE loop_tombstones SET done_at = now()"); err != nil {
		t.Fatal(err)
	}
	want("it has ended", frankfurt)

	test := uuid.New()
	begin := func(region string, longest time.Duration) {
		t.Helper()
		if admitted, err := s.BeginTest(t.Context(), org.ID, test, region, 5, longest); err != nil || !admitted {
			t.Fatalf("admitted %v, %v", admitted, err)
		}
	}
	begin(newark, time.Minute)
	want("a test by hand runs", frankfurt, newark)
	if err := s.EndTest(t.Context(), org.ID, test); err != nil {
		t.Fatal(err)
	}
	want("the test has ended", frankfurt)
	begin(newark, -time.Second)
	want("a test was never ended", frankfurt)
}
