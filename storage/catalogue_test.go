// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/secret"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

func TestDefinitions(t *testing.T) {
	t.Parallel()
	s, clk := newStore(t)
	org, _ := newOrg(t, s)
	both := newCheck(t, s, draft(org.ID, newark, frankfurt))
	far := newCheck(t, s, draft(org.ID, singapore))
	off := draft(org.ID, newark)
	off.Enabled = false
	off = newCheck(t, s, off)
	read := func(since string, regions ...string) (map[uuid.UUID]vigil.Definition, []vigil.Tombstone) {
		t.Helper()
		defs, gone, _, err := s.Definitions(t.Context(), regions, since)
		if err != nil {
			t.Fatal(err)
		}
		byID := map[uuid.UUID]vigil.Definition{}
		for _, def := range defs {
			byID[def.Check.ID] = def
		}
		return byID, gone
	}
	now := func() string {
		t.Helper()
		_, _, next, err := s.Definitions(t.Context(), []string{"nowhere"}, "")
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	has := func(defs map[uuid.UUID]vigil.Definition, want ...vigil.Check) {
		t.Helper()
		if len(defs) != len(want) {
			t.Errorf("%d definitions, want %d", len(defs), len(want))
		}
		for _, c := range want {
			if _, there := defs[c.ID]; !there {
				t.Errorf("check %s is missing", c.ID)
			}
		}
	}

	all, gone := read("", newark)
	has(all, both)
	if len(gone) != 0 {
		t.Errorf("gone %v", gone)
	}
	def := all[both.ID]
	equal(t, def.Starts, map[string]time.Time{newark: epoch(), frankfurt: epoch()})
	if def.Check.Revision != 1 || !def.Check.Anchor.Equal(both.Anchor) || !slices.Equal(def.Check.Regions, both.Regions) {
		t.Errorf("%+v", def.Check)
	}
	everywhere, _ := read("", newark, singapore)
	has(everywhere, both, far)

	since := now()
	quiet, gone := read(since, newark, frankfurt, singapore)
	if len(quiet) != 0 || len(gone) != 0 {
		t.Errorf("nothing changed, but %v %v", quiet, gone)
	}
	clk.Set(epoch().Add(time.Minute))
	update(t, s, both, func(c *vigil.Check) { c.Enabled = false })
	changed, _ := read(since, newark)
	has(changed, both)
	if changed[both.ID].Check.Enabled || changed[both.ID].Check.Revision != 2 {
		t.Errorf("%+v", changed[both.ID].Check)
	}

	since = now()
	update(t, s, both, func(c *vigil.Check) { c.Enabled = true; c.Regions = []string{newark, singapore} })
	if _, err := s.DeleteCheck(t.Context(), org.ID, off.ID, nil); err != nil {
		t.Fatal(err)
	}
	changed, gone = read(since, newark, frankfurt)
	has(changed, both)
	equal(t, changed[both.ID].Starts, map[string]time.Time{newark: epoch().Add(time.Minute), singapore: epoch().Add(time.Minute)})
	if len(gone) != 2 || gone[0].CheckID != both.ID || gone[0].Region != frankfurt || gone[1].CheckID != off.ID || gone[1].Region != newark {
		t.Errorf("gone %+v", gone)
	}
	if _, gone := read(since, singapore); len(gone) != 0 {
		t.Errorf("gone elsewhere %+v", gone)
	}

	_, err := s.Definition(t.Context(), off.ID)
	wantCode(t, err, vigil.CodeNotFound)
}

func TestDefinitionsSkipACheckWithoutItsKey(t *testing.T) {
	t.Parallel()
	dsn := storagetest.DSN(t)
	s := storagetest.Open(t, dsn)
	org, _ := newOrg(t, s)
	sealed := draft(org.ID, newark)
	sealed.Config = []byte(`{"password": "tiger"}`)
	sealed = newCheck(t, s, sealed)
	plain := newCheck(t, s, draft(org.ID, newark))
	other, err := secret.NewKeyring(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	stranger := storagetest.Open(t, dsn, func(o *storage.Options) { o.Keys = other })
	defs, _, _, err := stranger.Definitions(t.Context(), []string{newark}, "")
	if err != nil || len(defs) != 1 || defs[0].Check.ID != plain.ID {
		t.Errorf("%+v, %v", defs, err)
	}
	_, err = stranger.Check(t.Context(), org.ID, sealed.ID)
	if vigil.ErrorCode(err) != vigil.CodeInternal || strings.Contains(err.Error(), "v1:") {
		t.Errorf("%v", err)
	}
}

// TestChangesAreReadOnce: a cursor loses nothing that commits late, and reads nothing twice.
func TestChangesAreReadOnce(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	early, late := newCheck(t, s, draft(org.ID, newark)), newCheck(t, s, draft(org.ID, newark))
	_, _, cursor, err := s.Definitions(t.Context(), []string{newark}, "")
	if err != nil {
		t.Fatal(err)
	}
	changed := func() []uuid.UUID {
		t.Helper()
		defs, _, next, err := s.Definitions(t.Context(), []string{newark}, cursor)
		if err != nil {
			t.Fatal(err)
		}
		cursor = next
		ids := []uuid.UUID{}
		for _, def := range defs {
			ids = append(ids, def.Check.ID)
		}
		return ids
	}
	tx, err := s.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	const raise = "UPDATE checks SET revision = revision + 1, changed_at = clock_timestamp(), changed_xid = pg_current_xact_id() WHERE id = ?"
	if _, err := tx.ExecContext(t.Context(), raise, late.ID); err != nil {
		t.Fatal(err)
	}
	equal(t, changed(), []uuid.UUID{}) // it has not committed
	update(t, s, early, func(c *vigil.Check) { c.Name = "renamed" })
	for _, want := range [][]uuid.UUID{{early.ID}, {}, {}} { // while the older transaction goes on
		equal(t, changed(), want)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	for _, want := range [][]uuid.UUID{{late.ID}, {}} {
		equal(t, changed(), want)
	}
	made := newCheck(t, s, draft(org.ID, newark))
	equal(t, changed(), []uuid.UUID{made.ID})

	// A dump that was loaded elsewhere has transactions of the time to come, which are not read
	// by each call, and a cursor of a newer database asks to read everything.
	if _, err := s.DB().ExecContext(t.Context(), "UPDATE checks SET changed_xid = '9000000000' WHERE id = ?", made.ID); err != nil {
		t.Fatal(err)
	}
	equal(t, changed(), []uuid.UUID{})
	if defs, _, next, err := s.Definitions(
		t.Context(),
		[]string{newark},
		"8000000000:8000000000:",
	); err != nil || next != "" ||
		len(defs) != 0 {
		t.Errorf("%d definitions and the cursor %q, %v", len(defs), next, err)
	}
}

// TestManyChangesCostOnce: after 10,000 changes only the first call reads definitions.
func TestManyChangesCostOnce(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	manyLoops(t, s)
	_, _, cursor, err := s.Definitions(t.Context(), []string{newark}, "")
	if err != nil {
		t.Fatal(err)
	}
	const raise = "UPDATE checks SET revision = revision + 1, changed_at = clock_timestamp(), changed_xid = pg_current_xact_id()"
	if _, err := s.DB().ExecContext(t.Context(), raise); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{10_000, 0, 0} {
		began := time.Now()
		defs, _, next, err := s.Definitions(t.Context(), []string{newark}, cursor)
		if err != nil || len(defs) != want {
			t.Errorf("call %d: %d definitions, want %d, %v", i, len(defs), want, err)
		}
		t.Logf("call %d: %d definitions in %v", i, len(defs), time.Since(began))
		cursor = next
	}
}
