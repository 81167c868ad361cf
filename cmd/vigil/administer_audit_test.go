// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// TestOperatorsCommandsAreAudited holds that an organization sees what operators did to it.
func TestOperatorsCommandsAreAudited(t *testing.T) {
	t.Parallel()
	dsn := storagetest.EmptyDSN(t)
	at := []string{"--database-url", dsn, "--data-dir", t.TempDir()}
	key := []string{"--secret-key", strings.Repeat("ab", 32)}
	command := func(args ...string) {
		t.Helper()
		if _, stderr, code := vigilRun(t, append(args, at...)...); code != 0 {
			t.Fatalf("vigil %s ends with %d: %s", strings.Join(args, " "), code, stderr)
		}
	}
	command("migrate")
	command("keys", "create")
	store := storagetest.Open(t, dsn)
	_, org, err := store.CreateAccount(
		t.Context(), account.Organization{Name: "Engines"}, account.User{Email: "ada@example.com", Name: "Ada"}, nil,
	)
	if err != nil {
		t.Fatal(err)
	}
	command("keys", "create", "--email", "ada@example.com")
	command("orgs", "set-tier", "ada@example.com", "paid")
	command("restored")
	command("region", "agent-token", "eu-central-fra")
	command("region", "agent-token", "eu-central-fra", "--remove")
	command("login-link", "--email", "ada@example.com")
	command("login-link")
	command(append([]string{"keys", "reseal"}, key...)...)
	command(append([]string{"backup", filepath.Join(t.TempDir(), "vigil.backup")}, key...)...)
	if _, err := operatorKey(t.Context(), store, "of a laptop", nil); err != nil { // as `vigil login` on the same machine
		t.Fatal(err)
	}
	operator, err := store.Operator(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		org     account.Organization
		entries []string // newest first
	}{
		"the organization": {org, []string{
			"account.create_login_link by vigil login-link", "organization.set_tier by vigil orgs set-tier",
			"api_key.create by vigil keys create",
		}},
		"the operator": {account.Organization{ID: operator.OrgID}, []string{
			"api_key.create by vigil login", "platform.backup by vigil backup", "secrets.reseal by vigil keys reseal",
			"account.create_login_link by vigil login-link", "region.remove_agent_token by vigil region agent-token",
			"region.agent_token by vigil region agent-token", "platform.restored by vigil restored", "account.signup by vigil keys create",
		}},
	} {
		entries, _, err := store.AuditLog(t.Context(), want.org.ID, listing.AuditFilter{Page: listing.Page{Limit: 10}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, entry := range entries {
			got = append(got, entry.Action+" by "+entry.UserAgent)
		}
		if strings.Join(got, ", ") != strings.Join(want.entries, ", ") {
			t.Errorf("%s sees %q, want %q", name, got, want.entries)
		}
	}
}
