// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/account"
)

// TestChecksCreatedTogether tests which creations wait for each other.
func TestChecksCreatedTogether(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	// What a creation without limits has locked until it commits.
	tx, err := s.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(t.Context(), "SELECT FROM organizations WHERE id = ? FOR SHARE", org.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CreateCheck(t.Context(), draft(org.ID, newark), unlimited(), account.Allowance{}); err != nil {
		t.Errorf("a creation without limits waits for another one: %v", err)
	}
	for name, allow := range map[string]account.Allowance{"a limit of checks": {}, "an allowance of the hour": {CreationsPerHour: 10}} {
		plan := unlimited()
		if allow == (account.Allowance{}) {
			plan = account.PlanOf(account.TierFree, time.Second)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		if _, err := s.CreateCheck(ctx, draft(org.ID, newark), plan, allow); err == nil {
			t.Errorf("with %s, two creations are counted at the same time", name)
		}
		cancel()
	}
}
