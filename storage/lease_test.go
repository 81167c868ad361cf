package storage_test

import (
	"testing"

	"github.com/google/uuid"

	"vigil"
)

// TestClaimsPassLockedLoops tests that a claim does not wait, which would hold up the
// renewals of the worker's lease.
func TestClaimsPassLockedLoops(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	checks, ids := make([]vigil.Check, 8), make([]uuid.UUID, 8)
	for i := range ids {
		checks[i] = newCheck(t, s, draft(org.ID, newark))
		ids[i] = checks[i].ID
	}
	unlock := lock(t, s, checks[0])
	mine := vigil.Lease{Worker: "w", Region: newark}
	wantCode(t, s.ClaimLoops(t.Context(), mine, ids), vigil.CodeUnavailable)
	if n := count(t, s, "SELECT count(*) FROM check_regions WHERE worker = 'w'"); n != 7 {
		t.Errorf("%d loops are claimed while one is locked, want 7", n)
	}
	unlock()
	if err := s.ClaimLoops(t.Context(), mine, ids); err != nil {
		t.Error(err)
	}
	if n := count(t, s, "SELECT count(*) FROM check_regions WHERE worker = 'w'"); n != 8 {
		t.Errorf("%d loops are claimed, want 8", n)
	}
}
