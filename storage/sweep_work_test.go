// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage"
)

// withoutConstraints has a database take rows without those that they refer to, and with any values.
const withoutConstraints = `DO $$ DECLARE bound record; BEGIN
	FOR bound IN SELECT conrelid::regclass AS of_table, conname FROM pg_constraint
		WHERE contype IN ('f', 'c') AND conrelid <> 0 AND conparentid = 0 LOOP
		EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', bound.of_table, bound.conname);
	END LOOP;
END $$`

// put inserts a row of these columns, and some value for each other one that needs one.
func put(t *testing.T, s *storage.Store, table string, columns map[string]string) {
	t.Helper()
	values := maps.Clone(columns)
	var needed []struct{ Name, Kind string }
	err := s.DB().NewRaw(`SELECT column_name AS name, data_type AS kind FROM information_schema.columns
		WHERE table_name = ? AND table_schema = current_schema() AND is_nullable = 'NO'
			AND column_default IS NULL AND is_identity = 'NO' AND is_generated = 'NEVER'`,
		table).Scan(t.Context(), &needed)
	if err != nil {
		t.Fatal(err)
	}
	some := map[string]string{
		"uuid": "gen_random_uuid()", "text": "gen_random_uuid()::text", "timestamp with time zone": "now()", "integer": "1", "bigint": "1",
		"boolean": "false", "jsonb": "'{}'", "ARRAY": "'{}'", "bytea": "uuid_send(gen_random_uuid())", "double precision": "1",
	}
	for _, column := range needed {
		if _, given := values[column.Name]; !given {
			values[column.Name] = some[column.Kind]
		}
	}
	names := slices.Sorted(maps.Keys(values))
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = values[name]
	}
	_, err = s.DB().ExecContext(t.Context(),
		"INSERT INTO "+table+" ("+strings.Join(names, ", ")+") VALUES ("+strings.Join(list, ", ")+")")
	if err != nil {
		t.Fatalf("%s: %v", table, err)
	}
}

// TestSweepWorkFindsEachKindOfRow holds that the one look of the sweep sees every kind of row that one of its passes is for,
// and none that is not due: a pass whose rows it misses would never run.
func TestSweepWorkFindsEachKindOfRow(t *testing.T) {
	t.Parallel()
	s, clock := newStore(t)
	now := "'" + clock.Now().Format("2006-01-02 15:04:05Z07:00") + "'::timestamptz"
	type columns = map[string]string
	loop := func(more columns) columns {
		all := columns{
			"active":   "true",
			"region":   "'eu-central-fra'",
			"next_due": now + " + interval '1 hour'",
			"applied":  "1",
			"desired":  "1",
			"worker":   "'w'",
		}
		maps.Copy(all, more)
		return all
	}
	monthly := func(next string) columns { return columns{"every": "'monthly'", "next_at": next} }
	cases := []struct {
		kind, table string
		work, none  columns // nil none: each row is work
	}{
		{"Lagging", "check_regions", loop(columns{"desired": "2"}), loop(nil)},
		{
			"Late", "check_regions", loop(columns{"next_due": now + " - interval '2 seconds'"}),
			loop(columns{"next_due": now + " - interval '1 second'"}),
		},
		{
			"Late", "check_regions", loop(columns{"region": "'heartbeat'", "next_due": now + " - interval '5 seconds'", "deadline_ms": "1000"}),
			loop(columns{"region": "'heartbeat'", "next_due": now + " - interval '5 seconds'", "deadline_ms": "9000"}),
		},
		{"NotBegun", "check_regions", loop(columns{"worker": "''"}), loop(columns{"worker": "''", "active": "false"})},
		{"Tombstones", "loop_tombstones", columns{}, columns{"done_at": "now()"}},
		{"Blind", "worker_leases", columns{"blind_since": "now()"}, columns{}},
		{"Blind", "blind_regions", columns{}, columns{"ended_at": "now()"}},
		{"Blind", "blind_organizations", columns{"begun": "true"}, columns{"begun": "true", "ended": "true"}},
		{"Locations", "locations", columns{"seen_at": "now()"}, columns{}},
		{"Incidents", "incidents", columns{"status": "'open'"}, columns{"status": "'resolved'", "resolved_at": "now()"}},
		{"Incidents", "incidents", columns{"status": "'resolved'", "resolved_at": "now()", "latched": "true"}, nil},
		{"Votes", "region_votes", columns{"firing": "ARRAY[gen_random_uuid()]"}, columns{}},
		{"Deliveries", "deliveries", columns{"status": "'pending'"}, columns{"status": "'delivered'"}},
		{"Deliveries", "deliveries", columns{"status": "'delivered'", "redeliver": "true"}, nil},
		{"Places", "delivery_places", columns{}, nil},
		{"Recoveries", "recoveries", columns{"state": "'running'"}, columns{"state": "'done'", "finished_at": "now()"}},
		{"LateResults", "late_spans", columns{}, nil},
		{"Unobserved", "unobserved_checks", columns{}, nil},
		{"Unobserved", "unobserved_channels", columns{}, nil},
		{"Holds", "maintenance_holds", columns{}, nil},
		{"Reclassifications", "result_reclassifications", columns{}, nil},
		{"Drills", "drills", columns{"state": "'staged'"}, columns{"state": "'closed'", "closed_at": "now()"}},
		{"DrillSchedules", "drill_schedules", monthly(now), monthly(now + " + interval '1 second'")},
		{"ReportSchedules", "report_schedules", monthly(now), monthly(now + " + interval '1 second'")},
		{"Notices", "channel_notices", columns{"due_at": "now()"}, columns{}},
		{"Notices", "drills", columns{"state": "'closed'", "closed_at": "now()", "notice_due_at": "now()"}, nil},
		{"Deleted", "organizations", columns{"deleted_at": "now()"}, columns{}},
	}
	left := make(map[string]bool)
	for field := range reflect.TypeFor[fleet.Work]().Fields() {
		left[field.Name] = true
	}
	look := func(want fleet.Work, fact string) {
		t.Helper()
		if found, err := s.SweepWork(t.Context(), clock.Now()); err != nil || found != want {
			t.Errorf("%s: %+v, %v", fact, found, err)
		}
	}
	look(fleet.Work{}, "an empty database")
	if _, err := s.DB().ExecContext(t.Context(), withoutConstraints); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if c.none != nil {
			put(t, s, c.table, c.none)
			look(fleet.Work{}, "a row of "+c.table+" that is none of "+c.kind)
		}
		put(t, s, c.table, c.work)
		var want fleet.Work
		reflect.ValueOf(&want).Elem().FieldByName(c.kind).SetBool(true)
		look(want, "a row of "+c.table)
		if _, err := s.DB().ExecContext(t.Context(), "DELETE FROM "+c.table); err != nil {
			t.Fatal(err)
		}
		delete(left, c.kind)
	}
	if len(left) > 0 {
		t.Errorf("no row is put for %v", slices.Sorted(maps.Keys(left)))
	}
}
