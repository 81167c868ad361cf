// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/idempotency"
	"github.com/vigil-monitor/vigil/internal/listing"
)

// TestRequestTakenOver lets the process of a request be slow or die, and repeats the request
// while it has not answered.
func TestRequestTakenOver(t *testing.T) {
	t.Parallel()
	store, clock := newStore(t)
	org, _ := newOrg(t, store)
	begin := func() (*idempotency.Request, []byte, error) {
		r := &idempotency.Request{
			OrgID: org.ID, Key: "key", Fingerprint: []byte("the same"), Token: uuid.New(),
			Render: func(created any) ([]byte, error) { return []byte(created.(vigil.Check).Name), nil },
		}
		answer, err := store.BeginRequest(t.Context(), r)
		return r, answer, err
	}
	create := func(r *idempotency.Request, name string) error {
		check := draft(org.ID, newark)
		check.Name = name
		_, err := store.CreateCheck(idempotency.NewContext(t.Context(), r), check, unlimited(), account.Allowance{})
		return err
	}

	slow, answer, err := begin()
	if err != nil || answer != nil {
		t.Fatalf("the first execution: %q, %v", answer, err)
	}
	clock.Set(epoch().Add(2*time.Minute - time.Second))
	if _, _, err := begin(); vigil.ErrorCode(err) != vigil.CodeConflict {
		t.Errorf("while the first execution may still run: %v, want a conflict", err)
	}
	clock.Set(epoch().Add(2 * time.Minute))
	second, answer, err := begin()
	if err != nil || answer != nil {
		t.Fatalf("the execution that takes over: %q, %v", answer, err)
	}
	if err := create(slow, "slow"); vigil.ErrorCode(err) != vigil.CodeConflict {
		t.Errorf("the execution that was replaced creates: %v, want a conflict", err)
	}
	if err := create(second, "second"); err != nil {
		t.Fatal(err)
	}
	if err := store.AbandonRequest(t.Context(), second); err != nil { // as when the answer gets lost after the commit
		t.Fatal(err)
	}
	if _, answer, err = begin(); err != nil || string(answer) != "second" {
		t.Errorf("the repeated request is answered with %q, %v", answer, err)
	}
	checks, _, err := store.Checks(t.Context(), org.ID, listing.CheckList{Page: listing.Page{Limit: 10}})
	if err != nil || len(checks) != 1 || checks[0].Name != "second" {
		t.Errorf("checks %v, %v; want the second one alone", checks, err)
	}
}
