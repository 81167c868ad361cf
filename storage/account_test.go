// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/listing"
)

func TestCreateAccount(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	hash := sha256.Sum256([]byte("key"))
	user, org, err := s.CreateAccount(t.Context(),
		account.Organization{Name: "Ünited Probes & Co.", Tier: account.TierPaid},
		account.User{Email: "Ada@Example.com", Name: "Ada", PasswordHash: "argon"},
		&account.NewKey{Name: "first", Prefix: "vgl_abcd", Hash: hash[:]})
	if err != nil {
		t.Fatal(err)
	}

	t.Run("IsReadBackAsItWasReturned", func(t *testing.T) {
		t.Parallel()
		gotUser, err := s.UserByEmail(t.Context(), "aDA@eXAMPLE.COM")
		if err != nil {
			t.Fatal(err)
		}
		equal(t, gotUser, user)
		if gotUser, err = s.User(t.Context(), user.ID); err != nil {
			t.Fatal(err)
		}
		equal(t, gotUser, user)
		gotOrg, err := s.Organization(t.Context(), org.ID)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, gotOrg, org)
		if user.Email != "Ada@Example.com" || user.OrgID != org.ID || !user.CreatedAt.Equal(epoch()) {
			t.Errorf("user %+v", user)
		}
	})

	t.Run("IsFoundByItsKey", func(t *testing.T) {
		t.Parallel()
		key, gotOrg, gotUser, err := s.KeyByHash(t.Context(), hash[:])
		if err != nil {
			t.Fatal(err)
		}
		equal(t, gotOrg, org)
		equal(t, gotUser, user)
		if key.Name != "first" || key.Prefix != "vgl_abcd" || key.OrgID != org.ID || key.UserID != user.ID {
			t.Errorf("key %+v", key)
		}
	})

	t.Run("AddressInAnotherCaseIsAConflictAndStoresNothing", func(t *testing.T) {
		t.Parallel()
		_, _, err := s.CreateAccount(t.Context(), account.Organization{Name: "Shadow"}, account.User{Email: "ADA@example.com"}, nil)
		wantCode(t, err, vigil.CodeConflict)
		if n := count(t, s, "SELECT count(*) FROM organizations WHERE name = 'Shadow'"); n != 0 {
			t.Error("the organization was stored")
		}
	})

	t.Run("SlugComesFromTheNameAndIsUnique", func(t *testing.T) {
		t.Parallel()
		if org.Slug != "nited-probes-co" {
			t.Errorf("slug %q", org.Slug)
		}
		seen := map[string]bool{}
		for range 5 {
			_, org, err := s.CreateAccount(t.Context(), account.Organization{Name: "Same Name"}, account.User{Email: uuid.NewString()}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if seen[org.Slug] || !strings.HasPrefix(org.Slug, "same-name") {
				t.Errorf("slug %q after %v", org.Slug, seen)
			}
			seen[org.Slug] = true
		}
		for _, name := range []string{"", "日本", "---", strings.Repeat("long ", 100)} {
			_, org, err := s.CreateAccount(t.Context(), account.Organization{Name: name}, account.User{Email: uuid.NewString()}, nil)
			if err != nil || org.Slug == "" || len(org.Slug) > 64 {
				t.Errorf("name %q gives %q, %v", name, org.Slug, err)
			}
		}
	})

	t.Run("TierChanges", func(t *testing.T) {
		t.Parallel()
		other, _ := newOrg(t, s)
		if other.Tier != account.TierFree {
			t.Errorf("a new organization is %q", other.Tier)
		}
		if err := s.SetTier(t.Context(), other.ID, account.TierEnterprise); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Organization(t.Context(), other.ID); err != nil || got.Tier != account.TierEnterprise {
			t.Errorf("%+v, %v", got, err)
		}
		wantCode(t, s.SetTier(t.Context(), uuid.New(), account.TierPaid), vigil.CodeNotFound)
	})

	t.Run("UnknownOnesAreNotFound", func(t *testing.T) {
		t.Parallel()
		_, err := s.UserByEmail(t.Context(), "unknown'; DROP TABLE users; --")
		wantCode(t, err, vigil.CodeNotFound)
		_, err = s.User(t.Context(), uuid.New())
		wantCode(t, err, vigil.CodeNotFound)
		_, err = s.Organization(t.Context(), uuid.New())
		wantCode(t, err, vigil.CodeNotFound)
		_, _, _, err = s.KeyByHash(t.Context(), []byte("none"))
		wantCode(t, err, vigil.CodeNotFound)
	})
}

func TestKeys(t *testing.T) {
	t.Parallel()
	s, c := newStore(t)
	org, user := newOrg(t, s)
	other, stranger := newOrg(t, s)
	var made []account.APIKey
	for i := range 3 {
		c.Set(epoch().Add(time.Duration(i) * time.Second))
		key, err := s.CreateKey(t.Context(), org.ID, user.ID, account.NewKey{Name: "k", Prefix: "vgl_", Hash: []byte{byte(i)}})
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, key)
	}

	keys, total, err := s.Keys(t.Context(), org.ID, listing.Page{Limit: 2})
	if err != nil || total != 3 {
		t.Fatalf("%d keys, %v", total, err)
	}
	equal(t, keys, []account.APIKey{made[2], made[1]})
	if keys, total, err = s.Keys(t.Context(), other.ID, listing.Page{Limit: 10}); err != nil || total != 0 || len(keys) != 0 {
		t.Errorf("another organization sees %d keys, %v", total, err)
	}

	_, err = s.CreateKey(t.Context(), org.ID, stranger.ID, account.NewKey{Hash: []byte("x")})
	wantCode(t, err, vigil.CodeNotFound)
	wantCode(t, s.DeleteKey(t.Context(), other.ID, made[0].ID), vigil.CodeNotFound)
	if err := s.DeleteKey(t.Context(), org.ID, made[0].ID); err != nil {
		t.Fatal(err)
	}
	wantCode(t, s.DeleteKey(t.Context(), org.ID, made[0].ID), vigil.CodeNotFound)

	for _, at := range []time.Time{epoch().Add(time.Minute), epoch()} {
		if err := s.TouchKey(t.Context(), made[1].ID, at); err != nil {
			t.Fatal(err)
		}
	}
	key, _, _, err := s.KeyByHash(t.Context(), []byte{1})
	if err != nil || key.LastUsedAt == nil || !key.LastUsedAt.Equal(epoch().Add(time.Minute)) {
		t.Errorf("last used %v, %v", key.LastUsedAt, err)
	}
}
