// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/audit"
)

// TestDeletedAccountLeavesNothing: no row of any table names the user any more, but entries of
// the audit log have the id, and the one about the deletion the address.
func TestDeletedAccountLeavesNothing(t *testing.T) {
	t.Parallel()
	s, c := newStore(t)
	f := furnish(t, s, c)
	execute(t, s, "DELETE FROM invitations WHERE org_id = ?", f.org.ID)
	member := newMember(t, s, f.org, f.owner, account.RoleOwner)
	hash := uuid.New()
	if _, err := s.CreateKey(t.Context(), f.org.ID, member.ID, account.NewKey{Name: "k", Prefix: "vgl_", Hash: hash[:]}); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"INSERT INTO login_attempts (address, origin, failures, first_at, last_at) VALUES (lower(?1), '', 1, now(), now())",
		"INSERT INTO mail_quotas (name, started_at, used) VALUES ('links/user/' || ?0, now(), 1)",
		"INSERT INTO mail_recipients (org_id, address, unsubscribe_token) VALUES (?2, lower(?1), ?0::text)",
		"INSERT INTO login_links (hash, user_id, expires_at) VALUES (sha256(?0::text::bytea), ?0, now())",
		"INSERT INTO sessions (token, id, user_id, data, address, user_agent, created_at, seen_at, expires_at) " +
			"VALUES (?0::text, gen_random_uuid(), ?0, '', '', '', now(), now(), now())",
		"INSERT INTO audit_log (id, org_id, at, action, key_prefix, members, request_id, address, user_agent, " +
			"user_id, user_name, user_email) " +
			"VALUES (gen_random_uuid(), ?2, now(), 'check.create', '', '{}', '', '', '', ?0, 'Grace', ?1)",
	} {
		execute(t, s, statement, member.ID, member.Email, f.org.ID)
	}
	entry := &audit.Entry{OrgID: f.org.ID, Action: "account.delete", UserID: member.ID}
	if err := s.DeleteAccount(audit.NewContext(t.Context(), entry), f.org.ID, member.ID, account.Credential{}); err != nil {
		t.Fatal(err)
	}
	for table, rows := range f.contents() {
		for _, row := range rows {
			about := strings.Contains(row, "account.delete")
			if table != "audit_log" && strings.Contains(row, member.ID.String()) || !about && strings.Contains(row, member.Email) {
				t.Errorf("%s has %s", table, row)
			}
		}
	}
}
