// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/storage"
)

// mailed stores a token and returns its hash.
func mailed(tb testing.TB, s *storage.Store, purpose account.TokenPurpose, user account.User, email string) []byte {
	tb.Helper()
	hash := []byte(uuid.NewString())
	err := s.ReplaceToken(tb.Context(), account.Token{
		Purpose: purpose, Hash: hash, UserID: user.ID, Email: email, ExpiresAt: epoch().Add(account.TokenLifetime),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return hash
}

func TestVerifyEmail(t *testing.T) {
	t.Parallel()

	t.Run("MarksTheAddressAsVerifiedAndMakesChecksPermanent", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		org, user := newOrg(t, s)
		expires := epoch().Add(14 * 24 * time.Hour)
		c := draft(org.ID, newark)
		c.ExpiresAt = &expires
		c = newCheck(t, s, c)
		hash := mailed(t, s, account.TokenVerify, user, "new@example.com")
		if pending, err := s.PendingEmail(t.Context(), user.ID); err != nil || pending != "new@example.com" {
			t.Errorf("pending %q (%v)", pending, err)
		}
		got, previous, err := s.VerifyEmail(t.Context(), hash, false)
		if err != nil || previous != user.Email || got.Email != "new@example.com" || !got.EmailVerified {
			t.Fatalf("user %+v, before %q (%v)", got, previous, err)
		}
		stored, err := s.Check(t.Context(), org.ID, c.ID)
		if err != nil || stored.ExpiresAt != nil {
			t.Errorf("expires %v (%v)", stored.ExpiresAt, err)
		}
		if n, err := s.ExpireChecks(t.Context(), expires.Add(time.Hour)); n != 0 || err != nil {
			t.Errorf("%d expired (%v)", n, err)
		}
		_, _, err = s.VerifyEmail(t.Context(), hash, false) // a token works once
		wantCode(t, err, vigil.CodeInvalid)
		if pending, err := s.PendingEmail(t.Context(), user.ID); err != nil || pending != "" {
			t.Errorf("pending %q (%v)", pending, err)
		}
	})

	t.Run("KeepsACheckThatIsCreatedAtTheSameTime", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		org, user := newOrg(t, s)
		if _, _, err := s.VerifyEmail(t.Context(), mailed(t, s, account.TokenVerify, user, user.Email), false); err != nil {
			t.Fatal(err)
		}
		expires := epoch().Add(14 * 24 * time.Hour)
		c := draft(org.ID, newark)
		c.ExpiresAt = &expires // its creator had read the unverified user
		c = newCheck(t, s, c)
		if n, err := s.ExpireChecks(t.Context(), expires); n != 0 || err != nil {
			t.Errorf("%d expired (%v)", n, err)
		}
		if stored, err := s.Check(t.Context(), org.ID, c.ID); err != nil || stored.ExpiresAt != nil {
			t.Errorf("expires %v (%v)", stored.ExpiresAt, err)
		}
	})

	t.Run("NewerTokenReplacesTheOlder", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		_, user := newOrg(t, s)
		older := mailed(t, s, account.TokenVerify, user, "one@example.com")
		newer := mailed(t, s, account.TokenVerify, user, "two@example.com")
		_, _, err := s.VerifyEmail(t.Context(), older, false)
		wantCode(t, err, vigil.CodeInvalid)
		if got, _, err := s.VerifyEmail(t.Context(), newer, false); err != nil || got.Email != "two@example.com" {
			t.Errorf("user %+v (%v)", got, err)
		}
	})

	t.Run("TokenExpiresAfterADay", func(t *testing.T) {
		t.Parallel()
		s, c := newStore(t)
		_, user := newOrg(t, s)
		hash := mailed(t, s, account.TokenVerify, user, user.Email)
		c.Set(epoch().Add(account.TokenLifetime))
		_, _, err := s.VerifyEmail(t.Context(), hash, false)
		wantCode(t, err, vigil.CodeInvalid)
	})

	t.Run("TokenOfAnotherPurposeIsInvalid", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		_, user := newOrg(t, s)
		_, _, err := s.VerifyEmail(t.Context(), mailed(t, s, account.TokenRecover, user, user.Email), false)
		wantCode(t, err, vigil.CodeInvalid)
		_, err = s.Recover(t.Context(), mailed(t, s, account.TokenVerify, user, user.Email), account.NewKey{}, "")
		wantCode(t, err, vigil.CodeInvalid)
	})

	t.Run("AddressThatAnotherAccountTookIsAConflict", func(t *testing.T) {
		t.Parallel()
		s, _ := newStore(t)
		_, user := newOrg(t, s)
		_, other := newOrg(t, s)
		_, _, err := s.VerifyEmail(t.Context(), mailed(t, s, account.TokenVerify, user, other.Email), false)
		wantCode(t, err, vigil.CodeConflict)
		if got, err := s.User(t.Context(), user.ID); err != nil || got.Email != user.Email || got.EmailVerified {
			t.Errorf("user %+v (%v)", got, err)
		}
	})
}

func TestRecover(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, user := newOrg(t, s)
	key := func(hash string) account.NewKey {
		return account.NewKey{Name: "recovered", Prefix: "vgl_x", Hash: []byte(hash)}
	}

	got, err := s.Recover(t.Context(), mailed(t, s, account.TokenRecover, user, user.Email), key("one"), "")
	if err != nil || !got.EmailVerified || got.SessionVersion != user.SessionVersion+1 {
		t.Fatalf("user %+v (%v)", got, err)
	}
	if _, owner, _, err := s.KeyByHash(t.Context(), []byte("one")); err != nil || owner.ID != org.ID {
		t.Errorf("owner %+v (%v)", owner, err)
	}
	got, err = s.Recover(t.Context(), mailed(t, s, account.TokenRecover, user, user.Email), key("two"), "argon")
	if err != nil || got.PasswordHash != "argon" || got.SessionVersion != user.SessionVersion+2 {
		t.Errorf("user %+v (%v)", got, err)
	}
	_, _, _, err = s.KeyByHash(t.Context(), []byte("one"))
	wantCode(t, err, vigil.CodeNotFound)
	stale := mailed(t, s, account.TokenRecover, user, user.Email)
	if _, _, err := s.VerifyEmail(t.Context(), mailed(t, s, account.TokenVerify, user, "moved@example.com"), false); err != nil {
		t.Fatal(err)
	}
	_, err = s.Recover(t.Context(), stale, key("three"), "")
	wantCode(t, err, vigil.CodeInvalid)
	_, _, _, err = s.KeyByHash(t.Context(), []byte("three"))
	wantCode(t, err, vigil.CodeNotFound)
}

func TestSetPassword(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	_, user := newOrg(t, s)
	got, err := s.SetPassword(t.Context(), user.ID, "", "argon")
	if err != nil || got.PasswordHash != "argon" || got.SessionVersion != user.SessionVersion+1 {
		t.Errorf("user %+v (%v)", got, err)
	}
	_, err = s.SetPassword(t.Context(), user.ID, "", "bcrypt") // by one who knew an older password
	wantCode(t, err, vigil.CodeUnauthorized)
	_, err = s.SetPassword(t.Context(), uuid.New(), "", "argon")
	wantCode(t, err, vigil.CodeNotFound)
}
