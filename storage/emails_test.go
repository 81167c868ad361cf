// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"slices"
	"testing"

	"github.com/vigil-monitor/vigil/internal/account"
)

func TestEmails(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, user := newOrg(t, s)
	addresses := func() []string {
		got, err := s.Emails(t.Context(), org.ID)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := addresses(); !slices.Equal(got, []string{user.Email}) {
		t.Errorf("while none is verified: %q", got)
	}
	if _, _, err := s.VerifyEmail(t.Context(), mailed(t, s, account.TokenVerify, user, user.Email), false); err != nil {
		t.Fatal(err)
	}
	const insert = `INSERT INTO users SELECT (jsonb_populate_record(users, jsonb_build_object(
		'id', gen_random_uuid(), 'email', 'bob@example.com', 'email_verified', false))).* FROM users WHERE id = ?`
	if _, err := s.DB().NewRaw(insert, user.ID).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := addresses(); !slices.Equal(got, []string{user.Email}) {
		t.Errorf("beside a verified one: %q", got)
	}
}
