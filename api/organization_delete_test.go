// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/storage"
)

func TestDeleteOrganization(t *testing.T) {
	t.Parallel()
	mails, mailing := withMail(t)
	b := setup(t, mailing)
	const path = "/v1/organization"
	confirmed := map[string]any{"confirm": "Engines"}

	t.Run("EndsEverythingAndLeavesOthersAsTheyAre", func(t *testing.T) {
		t.Parallel()
		a, other := b.tier(t, b.owner(t, mails), account.TierPaid), b.owner(t, mails)
		belongings(t, b, a)
		b.episode(t, other).open(t)
		member := b.joins(t, mails, a.client, account.RoleEditor)
		before := snapshot(t, other)
		if got := a.want(t, http.StatusNoContent, http.MethodDelete, path, confirmed); len(got.raw) != 0 {
			t.Errorf("answer %s", got.raw)
		}
		a.want(t, http.StatusUnauthorized, http.MethodGet, path, nil)
		member.want(t, http.StatusUnauthorized, http.MethodGet, path, nil)
		b.want(t, http.StatusUnauthorized, http.MethodPost, "/v1/auth/login",
			map[string]any{"email": member.email, "password": "a compiler of words"})
		if !strings.Contains(b.log.String(), "organization deleted") {
			t.Error("the log does not have it")
		}
		eventually(t, "the owner is mailed", func() bool {
			for _, one := range letters(t, mails, a.email) {
				if strings.Contains(one, "deleted the organization Engines") {
					return true
				}
			}
			return false
		})
		purge := func() {
			t.Helper()
			if err := b.store.PurgeOrganizations(t.Context(), b.clock.Now().Add(storage.EndsOfDeletedOrganization)); err != nil {
				t.Fatal(err)
			}
		}
		purge()
		stones, err := b.store.Tombstones(t.Context(), fleet.EverySweepShard(), 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, stone := range stones {
			for done := false; !done; {
				if done, err = b.store.PurgeLoop(t.Context(), stone); err != nil {
					t.Fatal(err)
				}
			}
		}
		purge()
		if _, err := b.store.Organization(t.Context(), a.org); vigil.ErrorCode(err) != vigil.CodeNotFound {
			t.Errorf("the organization: %v", err)
		}
		if after := snapshot(t, other); after != before {
			t.Errorf("before %s\nafter  %s", before, after)
		}
		again := map[string]any{"email": a.email, "password": "a compiler of words", "name": "Ada", "organization_name": "Again"}
		b.want(t, http.StatusCreated, http.MethodPost, "/v1/auth/signup", again)
	})

	t.Run("NamesTheMemberThatDoesNotMatch", func(t *testing.T) {
		t.Parallel()
		a := b.signup(t)
		for _, body := range []any{
			map[string]any{},
			map[string]any{"confirm": nil},
			map[string]any{"confirm": ""},
			map[string]any{"confirm": "engines"},
			map[string]any{"confirm": a.org.String()},
			map[string]any{"confirm": true},
		} {
			if r := a.want(t, http.StatusBadRequest, http.MethodDelete, path, body); r.detail("member") != "confirm" {
				t.Errorf("%v: %s", body, r.raw)
			}
		}
		a.want(t, http.StatusBadRequest, http.MethodDelete, path, nil)
		a.want(t, http.StatusBadRequest, http.MethodDelete, path, map[string]any{"confirm": "Engines", "force": true})
		a.want(t, http.StatusRequestEntityTooLarge, http.MethodDelete, path, map[string]any{"confirm": strings.Repeat("x", 1<<20)})
		a.want(t, http.StatusOK, http.MethodGet, path, nil)
	})

	t.Run("IsForOwnersWithTheScopeAdmin", func(t *testing.T) {
		t.Parallel()
		owner := b.tier(t, b.owner(t, mails), account.TierPaid)
		b.want(t, http.StatusUnauthorized, http.MethodDelete, path, confirmed)
		for _, role := range []account.Role{account.RoleEditor, account.RoleResponder, account.RoleViewer} {
			b.joins(t, mails, owner.client, role).want(t, http.StatusForbidden, http.MethodDelete, path, confirmed)
		}
		owner.keyWith(t, account.ScopeRead, account.ScopeRespond, account.ScopeWrite).
			want(t, http.StatusForbidden, http.MethodDelete, path, confirmed)
		stranger := b.signup(t) // deletes the own one, of the same name
		stranger.want(t, http.StatusNoContent, http.MethodDelete, path, confirmed)
		owner.want(t, http.StatusOK, http.MethodGet, path, nil)
	})

	t.Run("AProcessThatKnowsTheKeyAddsNothing", func(t *testing.T) {
		t.Parallel()
		a := b.signup(t)
		elsewhere := b.serve(t).as(a.key)
		elsewhere.want(t, http.StatusOK, http.MethodGet, "/v1/auth/me", nil)
		a.want(t, http.StatusNoContent, http.MethodDelete, path, confirmed)
		elsewhere.want(t, http.StatusUnauthorized, http.MethodPost, "/v1/checks", newCheck())
		elsewhere.want(t, http.StatusUnauthorized, http.MethodDelete, path, confirmed)
		b.clock.Advance(5 * time.Second)
		elsewhere.want(t, http.StatusUnauthorized, http.MethodGet, path, nil)
	})
}

// TestDeletionIsInTheLogOfTheOperator: who deleted an organization is known after it.
func TestDeletionIsInTheLogOfTheOperator(t *testing.T) {
	t.Parallel()
	b := setup(t)
	operator, org, err := b.store.CreateOperator(t.Context(), account.Organization{Name: "Operations"},
		account.User{Email: "operator@vigil.invalid", Name: "Operator"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := b.signup(t)
	a.want(t, http.StatusNoContent, http.MethodDelete, "/v1/organization", map[string]any{"confirm": "Engines"})
	entries, _, err := b.store.AuditLog(t.Context(), org.ID, listing.AuditFilter{Page: listing.Page{Limit: 10}})
	if err != nil || len(entries) != 1 {
		t.Fatalf("entries %v, %v", entries, err)
	}
	entry := entries[0]
	if entry.Action != "organization.delete" || entry.ResourceID != a.org || entry.UserID != a.user || entry.UserEmail != a.email {
		t.Errorf("entry %+v", entry)
	}
	if entry.UserName != "" || entry.Address != "" || entry.UserAgent != "" {
		t.Errorf("the entry keeps more of the person than id and address: %+v", entry)
	}
	session := b.session(t, operator.ID.String())
	session.want(t, http.StatusConflict, http.MethodDelete, "/v1/organization", map[string]any{"confirm": "Operations"})
}
