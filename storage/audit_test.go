// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"errors"
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/audit"
	"github.com/vigil-monitor/vigil/internal/listing"
)

func TestAuditLog(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, user := newOrg(t, s)
	entry := func(action string) *audit.Entry {
		return &audit.Entry{
			OrgID: org.ID, UserID: user.ID, Action: action, KeyPrefix: "vgl_x", RequestID: "r1",
			Address: "192.0.2.1", UserAgent: "curl", Members: []string{"name"},
		}
	}
	c, err := s.CreateCheck(audit.NewContext(t.Context(), entry("check.create")), draft(org.ID, newark), unlimited(), account.Allowance{})
	if err != nil {
		t.Fatal(err)
	}
	refused := errors.New("refused")
	_, err = s.UpdateCheck(audit.NewContext(t.Context(), entry("check.update")), org.ID, c.ID, unlimited(),
		func(*vigil.Check) error { return refused })
	if !errors.Is(err, refused) {
		t.Fatal(err)
	}
	keyEntry := entry("api_key.create")
	ctx := audit.NewContext(t.Context(), keyEntry)
	key, err := s.CreateKey(ctx, org.ID, user.ID, account.NewKey{Name: "k", Prefix: "vgl_x", Hash: []byte("h")})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RecordAudit(ctx); err != nil { // already stored
		t.Fatal(err)
	}
	if err := s.RecordAudit(t.Context()); err != nil { // no entry
		t.Fatal(err)
	}
	entries, extent, err := s.AuditLog(t.Context(), org.ID, listing.AuditFilter{Page: listing.Page{Limit: 10}})
	if err != nil || extent.Total != 2 || len(entries) != 2 {
		t.Fatalf("%d entries of %d: %+v (%v)", len(entries), extent.Total, entries, err)
	}
	actions := map[string]audit.Entry{entries[0].Action: entries[0], entries[1].Action: entries[1]}
	if actions["api_key.create"].ResourceID != key.ID {
		t.Errorf("entry %+v", actions["api_key.create"])
	}
	got := actions["check.create"]
	if got.UserID != user.ID || got.KeyID != uuid.Nil || got.Address != "192.0.2.1" || got.RequestID != "r1" ||
		!got.At.Equal(epoch()) || got.Members[0] != "name" {
		t.Errorf("entry %+v", got)
	}
	if _, extent, err := s.AuditLog(
		t.Context(),
		uuid.New(),
		listing.AuditFilter{Page: listing.Page{Limit: 10}},
	); extent.Total != 0 ||
		err != nil {
		t.Errorf("another organization sees %d (%v)", extent.Total, err)
	}
}
