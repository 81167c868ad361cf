package storage_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"vigil"
	"vigil/storage"
	"vigil/storage/storagetest"
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
	read := func(since time.Time, regions ...string) (map[uuid.UUID]vigil.Definition, []vigil.Tombstone) {
		t.Helper()
		defs, gone, err := s.Definitions(t.Context(), regions, since)
		if err != nil {
			t.Fatal(err)
		}
		byID := map[uuid.UUID]vigil.Definition{}
		for _, def := range defs {
			byID[def.Check.ID] = def
		}
		return byID, gone
	}
	now := func() time.Time {
		t.Helper()
		at, err := s.Clock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return at
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

	all, gone := read(time.Time{}, newark)
	has(all, both)
	if len(gone) != 0 {
		t.Errorf("gone %v", gone)
	}
	def := all[both.ID]
	equal(t, def.Starts, map[string]time.Time{newark: epoch(), frankfurt: epoch()})
	if def.Check.Revision != 1 || !def.Check.Anchor.Equal(both.Anchor) || !slices.Equal(def.Check.Regions, both.Regions) {
		t.Errorf("%+v", def.Check)
	}
	everywhere, _ := read(time.Time{}, newark, singapore)
	has(everywhere, both, far)

	since := now()
	quiet, gone := read(since, newark, frankfurt, singapore)
	if len(quiet) != 0 || len(gone) != 0 {
		t.Errorf("nothing changed, but %v %v", quiet, gone)
	}
	clk.set(epoch().Add(time.Minute))
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
	other, err := vigil.NewKeyring(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	stranger := storagetest.Open(t, dsn, func(o *storage.Options) { o.Keys = other })
	defs, _, err := stranger.Definitions(t.Context(), []string{newark}, time.Time{})
	if err != nil || len(defs) != 1 || defs[0].Check.ID != plain.ID {
		t.Errorf("%+v, %v", defs, err)
	}
	_, err = stranger.Check(t.Context(), org.ID, sealed.ID)
	if vigil.ErrorCode(err) != vigil.CodeInternal || strings.Contains(err.Error(), "v1:") {
		t.Errorf("%v", err)
	}
}
