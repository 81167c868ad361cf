// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/account"
)

func TestClaimKeyEnds(t *testing.T) {
	t.Parallel()
	s, c := newStore(t)
	org, user := newOrg(t, s)
	key := func(name string, lifetime time.Duration) account.APIKey {
		t.Helper()
		made := account.NewKey{Name: name, Prefix: "vgl_x", Hash: []byte(uuid.NewString())}
		if lifetime > 0 {
			made.ExpiresAt = new(epoch().Add(lifetime))
		}
		stored, err := s.CreateKey(t.Context(), org.ID, user.ID, made)
		if err != nil {
			t.Fatal(err)
		}
		return stored
	}
	const day = 24 * time.Hour
	key("without an end", 0)
	key("short", 7*day) // its owner was mailed the end when it was made
	due := key("due", 30*day)
	key("later", 60*day)
	claim := func(t *testing.T) []account.KeyEnd {
		t.Helper()
		ends, err := s.ClaimKeyEnds(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		return ends
	}

	c.Set(epoch().Add(23*day - time.Second))
	if got := claim(t); len(got) != 0 {
		t.Fatalf("before the last week: %+v", got)
	}
	c.Set(epoch().Add(23 * day))
	var mu sync.Mutex
	var claimed []account.KeyEnd
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			ends, err := s.ClaimKeyEnds(t.Context(), 10)
			mu.Lock()
			defer mu.Unlock()
			if claimed = append(claimed, ends...); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if len(claimed) != 1 || claimed[0].Key.ID != due.ID || claimed[0].Owner.Email != user.Email {
		t.Fatalf("claimed %+v", claimed)
	}
	c.Set(epoch().Add(23*day + 10*time.Minute)) // its mail was not sent
	if got := claim(t); len(got) != 1 {
		t.Fatalf("not claimed again: %+v", got)
	}
	if err := s.KeyEndMailed(t.Context(), due.ID); err != nil {
		t.Fatal(err)
	}
	c.Set(epoch().Add(29 * day))
	if got := claim(t); len(got) != 0 {
		t.Errorf("mailed already: %+v", got)
	}
}
