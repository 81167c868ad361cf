// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/beats"
)

// slugPing pings by a ping key and a slug, and returns the code of the error.
func slugPing(t *testing.T, s *storage.Store, key, slug string) (account.PingKey, vigil.Code) {
	t.Helper()
	of, err := s.AddSlugPing(t.Context(), beats.TokenHash(key), slug, &vigil.Ping{Kind: vigil.PingSuccess})
	if err == nil {
		return of, ""
	}
	return of, vigil.ErrorCode(err)
}

// TestPingKey proves that an organization has at most one ping key, which is sealed, found by its
// hash alone, and not known any more when it is rotated or revoked.
func TestPingKey(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	other, _ := newOrg(t, s)
	check := newCheck(t, s, heartbeat(org.ID, everyMinute))
	if _, err := s.PingKey(t.Context(), org.ID); vigil.ErrorCode(err) != vigil.CodeNotFound {
		t.Errorf("before it is made: %v", err)
	}
	made, err := s.CreatePingKey(t.Context(), org.ID)
	if err != nil || len(made.Key) != account.PingKeyLength || !strings.HasPrefix(made.Key, made.Prefix) || made.OrgID != org.ID {
		t.Fatalf("%+v, %v", made, err)
	}
	if _, err := s.CreatePingKey(t.Context(), org.ID); vigil.ErrorCode(err) != vigil.CodeConflict {
		t.Errorf("a second one: %v", err)
	}
	if read, err := s.PingKey(t.Context(), org.ID); err != nil || read != made {
		t.Errorf("%+v, made %+v, %v", read, made, err)
	}
	if of, code := slugPing(t, s, made.Key, "backup"); code != "" || of.ID != made.ID || of.OrgID != org.ID || of.Prefix != made.Prefix {
		t.Errorf("%+v %q", of, code)
	}
	if pings, err := s.NewestPings(t.Context(), org.ID, check.ID, 10); err != nil || len(pings) != 1 {
		t.Errorf("%+v, %v", pings, err)
	}
	for _, err := range []error{s.DeletePingKey(t.Context(), other.ID), func() error {
		_, err := s.RotatePingKey(t.Context(), other.ID)
		return err
	}()} {
		if vigil.ErrorCode(err) != vigil.CodeNotFound {
			t.Errorf("an organization without a key: %v", err)
		}
	}
	rotated, err := s.RotatePingKey(t.Context(), org.ID)
	if err != nil || rotated.ID != made.ID || rotated.Key == made.Key || !rotated.RotatedAt.After(made.RotatedAt) {
		t.Errorf("%+v, %v", rotated, err)
	}
	if of, code := slugPing(t, s, made.Key, "backup"); code != vigil.CodeNotFound || of.ID != uuid.Nil {
		t.Errorf("the key before: %+v %q", of, code)
	}
	var clear int
	err = s.DB().NewRaw("SELECT count(*) FROM ping_keys AS k WHERE k::text LIKE ?", "%"+rotated.Key+"%").Scan(t.Context(), &clear)
	if err != nil || clear != 0 {
		t.Errorf("%d rows have a key in clear, %v", clear, err)
	}
	if err := s.DeletePingKey(t.Context(), org.ID); err != nil {
		t.Fatal(err)
	}
	if of, code := slugPing(t, s, rotated.Key, "backup"); code != vigil.CodeNotFound || of.ID != uuid.Nil {
		t.Errorf("a revoked key: %+v %q", of, code)
	}
}

// TestSlugs proves which names have which slug, that a slug of several heartbeats is refused without
// a ping, and that only heartbeats of the organization have one.
func TestSlugs(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	other, _ := newOrg(t, s)
	key, err := s.CreatePingKey(t.Context(), org.ID)
	if err != nil {
		t.Fatal(err)
	}
	named := func(org uuid.UUID, name string) vigil.Check {
		c := heartbeat(org, everyMinute)
		c.Name = name
		return newCheck(t, s, c)
	}
	for name, slug := range map[string]string{
		"Nightly backup": "nightly-backup", "db_dump": "db_dump", " -- Shop / EU (2)! ": "shop-eu-2", "Sauvegarde d'été": "sauvegarde-d-t",
		"İstanbul I": "stanbul-i", strings.Repeat("x", 200): strings.Repeat("x", 200),
	} {
		c := named(org.ID, name)
		if _, code := slugPing(t, s, key.Key, slug); code != "" {
			t.Errorf("%s: %q", slug, code)
		}
		if pings, err := s.NewestPings(t.Context(), org.ID, c.ID, 10); err != nil || len(pings) != 1 {
			t.Errorf("%s: %+v, %v", name, pings, err)
		}
	}
	named(other.ID, "Foreign")
	probed := draft(org.ID, newark)
	probed.Name = "Probed"
	newCheck(t, s, probed)
	gone := named(org.ID, "Gone")
	if _, err := s.DeleteCheck(t.Context(), org.ID, gone.ID, nil); err != nil {
		t.Fatal(err)
	}
	named(org.ID, "日本")
	for _, slug := range []string{"foreign", "probed", "gone", "", "-", "nightly%", "' OR true --"} {
		if of, code := slugPing(t, s, key.Key, slug); code != vigil.CodeNotFound || of.ID != key.ID {
			if slug != "" { // the API asks for none
				t.Errorf("%q: %+v %q", slug, of, code)
			}
		}
	}
	twin := named(org.ID, "nightly_backup")
	if _, err := s.UpdateCheck(t.Context(), org.ID, twin.ID, unlimited(), func(c *vigil.Check) error {
		c.Name = "Nightly: backup"
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if of, code := slugPing(t, s, key.Key, "nightly-backup"); code != vigil.CodeConflict || of.ID != key.ID {
		t.Errorf("%+v %q", of, code)
	}
	if pings, err := s.NewestPings(t.Context(), org.ID, twin.ID, 10); err != nil || len(pings) != 0 {
		t.Errorf("%+v, %v", pings, err)
	}
}

// TestCreatePingedOnce proves that of pings that ask for one heartbeat at a time one makes it, where
// the plan has no limits too, and that a key that has ended makes none.
func TestCreatePingedOnce(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	key, err := s.CreatePingKey(t.Context(), org.ID)
	if err != nil {
		t.Fatal(err)
	}
	create := func() (bool, error) {
		c := heartbeat(org.ID, `{"schedule": {"every_seconds": 86400}}`)
		c.Name, c.Interval = "job", 24*time.Hour
		_, created, err := s.CreatePinged(t.Context(), key, "job", c, unlimited(), account.Allowance{CreationsPerHour: account.Unlimited})
		return created, err
	}
	var all sync.WaitGroup
	made := make(chan bool, 8)
	for range cap(made) {
		all.Go(func() {
			created, err := create()
			if err != nil {
				t.Error(err)
			}
			made <- created
		})
	}
	all.Wait()
	close(made)
	times := 0
	for created := range made {
		if created {
			times++
		}
	}
	if _, code := slugPing(t, s, key.Key, "job"); times != 1 || code != "" {
		t.Errorf("made %d times, %q", times, code)
	}
	if err := s.DeletePingKey(t.Context(), org.ID); err != nil {
		t.Fatal(err)
	}
	if created, err := create(); created || vigil.ErrorCode(err) != vigil.CodeNotFound {
		t.Errorf("%v %v", created, err)
	}
}

// TestCreatePingedOfADeletedOrganization proves that a ping which asks for a heartbeat while the organization of
// its key is deleted finds no key any more.
func TestCreatePingedOfADeletedOrganization(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	key, err := s.CreatePingKey(t.Context(), org.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.DeleteOrganization(t.Context(), org.ID, org.Name, account.Credential{}); err != nil {
		t.Fatal(err)
	}
	c := heartbeat(org.ID, everyMinute)
	_, created, err := s.CreatePinged(t.Context(), key, "job", c, unlimited(), account.Allowance{CreationsPerHour: account.Unlimited})
	if created || vigil.ErrorCode(err) != vigil.CodeNotFound {
		t.Errorf("%v %v", created, err)
	}
}

// TestSlugsAreIndexed proves that a ping by a slug reads an index, and not every heartbeat.
func TestSlugsAreIndexed(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	var plan []string
	err := s.DB().NewRaw(`EXPLAIN SELECT c.id FROM checks AS c JOIN heartbeats AS h ON h.id = c.id WHERE c.type = 'heartbeat'
		AND c.drill_id IS NULL AND btrim(regexp_replace(lower(c.name COLLATE "C"), '[^a-z0-9_]+', '-', 'g'), '-') = 'x'
		AND c.org_id = ?`, org.ID).Scan(t.Context(), &plan)
	if err != nil || !strings.Contains(strings.Join(plan, "\n"), "checks_slug_idx") {
		t.Errorf("%s, %v", strings.Join(plan, "\n"), err)
	}
}
