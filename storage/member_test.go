// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/storage"
)

// newInvitation is an invitation of a new address that is not stored yet.
func newInvitation(org account.Organization, by account.User) account.Invitation {
	id := uuid.New()
	return account.Invitation{OrgID: org.ID, Email: id.String() + "@example.com", Role: account.RoleEditor, Hash: id[:], InvitedBy: by.ID}
}

// newMember stores a member of an organization.
func newMember(tb testing.TB, s *storage.Store, org account.Organization, by account.User, role account.Role) account.User {
	tb.Helper()
	invitation := newInvitation(org, by)
	invitation.Role = role
	if _, err := s.CreateInvitation(tb.Context(), invitation, account.Credential{}, false); err != nil {
		tb.Fatal(err)
	}
	user, joined, err := s.AcceptInvitation(tb.Context(), invitation.Hash, account.User{Name: "Grace"})
	if err != nil || joined.ID != org.ID || user.Role != role {
		tb.Fatalf("%+v of %+v, %v", user, joined, err)
	}
	return user
}

func TestAnAcceptedInvitationMakesChecksPermanent(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, owner := newOrg(t, s)
	check := draft(org.ID, newark)
	check.ExpiresAt = new(epoch().AddDate(0, 0, 14))
	check = newCheck(t, s, check)
	if verified, err := s.Verified(t.Context(), org.ID); err != nil || verified {
		t.Fatalf("verified %v, %v", verified, err)
	}
	newMember(t, s, org, owner, account.RoleViewer)
	if verified, err := s.Verified(t.Context(), org.ID); err != nil || !verified {
		t.Errorf("verified %v, %v", verified, err)
	}
	if check, err := s.Check(t.Context(), org.ID, check.ID); err != nil || check.ExpiresAt != nil {
		t.Errorf("the check ends at %v, %v", check.ExpiresAt, err)
	}
}

func TestMailOfAnOrganizationGoesToItsOwners(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, first := newOrg(t, s)
	emails := func() []string {
		t.Helper()
		found, err := s.Emails(t.Context(), org.ID)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	newMember(t, s, org, first, account.RoleViewer)
	if got := emails(); !slices.Equal(got, []string{first.Email}) {
		t.Errorf("mail goes to %v, want the owner, verified or not", got)
	}
	second := newMember(t, s, org, first, account.RoleOwner)
	if got := emails(); !slices.Equal(got, []string{second.Email}) {
		t.Errorf("mail goes to %v, want the owner with a verified address", got)
	}
}
