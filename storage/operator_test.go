// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"sync"
	"testing"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// TestOperator holds that the operator's account is known by a mark that only CreateOperator
// sets, that there is one, and that it stays an owner.
func TestOperator(t *testing.T) {
	t.Parallel()
	const address = "operator@" + account.OperatorDomain
	t.Run("NoOtherAccountHasTheMark", func(t *testing.T) {
		t.Parallel()
		s := storagetest.New(t)
		stranger := account.User{Email: address, EmailVerified: true, Operator: true}
		if _, _, err := s.CreateAccount(t.Context(), account.Organization{Name: "Stranger"}, stranger, nil); err != nil {
			t.Fatal(err)
		}
		stranger.Email = "eve@example.com"
		_, org, err := s.SignUp(t.Context(), account.SignupLimits{}, account.Organization{Name: "Stranger"}, stranger, nil)
		if err != nil {
			t.Fatal(err)
		}
		members, _, err := s.Members(t.Context(), org.ID, listing.Page{Limit: 1})
		if err != nil || len(members) != 1 || members[0].Operator {
			t.Errorf("signed up: %+v, %v", members, err)
		}
		if user, err := s.Operator(t.Context()); vigil.ErrorCode(err) != vigil.CodeNotFound {
			t.Errorf("the operator is %+v, %v", user, err)
		}
	})
	t.Run("IsOneOnly", func(t *testing.T) {
		t.Parallel()
		s := storagetest.New(t)
		var wait sync.WaitGroup
		made := make(chan account.User, 8)
		for i := range cap(made) {
			wait.Go(func() {
				email := address
				if i%2 == 0 {
					email = "another@" + account.OperatorDomain
				}
				user, _, err := s.CreateOperator(t.Context(), account.Organization{Name: "Operator"}, account.User{Email: email}, nil)
				switch {
				case err == nil:
					made <- user
				case vigil.ErrorCode(err) != vigil.CodeConflict:
					t.Error(err)
				}
			})
		}
		wait.Wait()
		close(made)
		if len(made) != 1 {
			t.Fatalf("%d accounts of the operator were made", len(made))
		}
		if got, err := s.Operator(t.Context()); err != nil || got.ID != (<-made).ID {
			t.Errorf("the operator is %+v, %v", got, err)
		}
	})
	t.Run("StaysAnOwner", func(t *testing.T) {
		t.Parallel()
		s := storagetest.New(t)
		user, org, err := s.CreateOperator(t.Context(), account.Organization{Name: "Operator"}, account.User{Email: address}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err = s.SetRole(
			t.Context(),
			org.ID,
			user.ID,
			account.RoleViewer,
			account.Credential{},
		); vigil.ErrorCode(
			err,
		) != vigil.CodeConflict {
			t.Errorf("a lesser role: %v", err)
		}
		if err = s.RemoveMember(t.Context(), org.ID, user.ID, account.Credential{}); vigil.ErrorCode(err) != vigil.CodeConflict {
			t.Errorf("removed: %v", err)
		}
	})
}
