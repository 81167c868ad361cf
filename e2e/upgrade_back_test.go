// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/vigil-monitor/vigil/internal/standalone"
)

// lastFixture is the newest fixture, lastSchema the newest migration of the version that
// made it.
const lastFixture, lastSchema = "baseline", "1012"

// goesBack follows the manual's way back to the version of the fixture: migrate to its
// schema, terminate the workflows, have everything rebuilt from rows. That version is
// not here, so that its schema is compared, and today's program goes on.
func (u *upgrade) goesBack(t *testing.T) {
	incidents := 0
	u.onDatabase(t, func(server *standalone.Postgres) {
		incidents = u.count("incidents")
		results := u.count("results")
		printed, err := command(t, []string{"DATABASE_URL=" + server.DSN("vigil")}, "migrate", "--to", lastSchema)
		if err != nil {
			t.Fatalf("vigil migrate --to %s: %v: %s", lastSchema, err, printed)
		}
		t.Log(printed)
		query(t, server.DSN("postgres"), "CREATE DATABASE earlier")
		loadDump(t, server.DSN("earlier"), filepath.Join(u.fixture, "vigil.sql.gz"))
		got, want := schemaOf(t, server.DSN("vigil")), schemaOf(t, server.DSN("earlier"))
		for _, line := range got {
			if !slices.Contains(want, line) {
				t.Errorf("the schema of the earlier version has no %s", line)
			}
		}
		for _, line := range want {
			if !slices.Contains(got, line) {
				t.Errorf("after the way back there is no %s", line)
			}
		}
		for table, before := range map[string]int{"incidents": incidents, "results": results} {
			if n := u.count(table); n != before {
				t.Errorf("%d %s, want the %d from before", n, table, before)
			}
		}
	})

	u.process = up(t, u.dir, u.env...)
	u.client.t, u.client.url = t, u.process.ready.APIURL
	ended := u.terminateAll(t)
	if printed, err := command(t, []string{"VIGIL_DATA_DIR=" + u.dir}, "restored"); err != nil {
		t.Fatalf("vigil restored: %v: %s", err, printed)
	}
	at := time.Now()
	eventually(t, "every loop has a result of its new workflow", func() bool {
		return u.count("check_regions WHERE active AND interval_ms < 10000 AND last_time <= '"+at.UTC().Format(time.RFC3339Nano)+"'") == 0
	})
	t.Logf("%d workflows were terminated; every loop has a result after %v", ended, time.Since(at).Round(time.Millisecond))
	if n := u.count("incidents"); n != incidents {
		t.Errorf("%d incidents, want the %d from before", n, incidents)
	}
	u.process.stop()
}

// terminateAll terminates every running workflow and returns how many there were.
func (u *upgrade) terminateAll(t *testing.T) (ended int) {
	t.Helper()
	ready := u.process.ready
	c := dialTemporal(t, ready.TemporalAddress, ready.Namespace)
	defer c.Close()
	running := &workflowservice.ListWorkflowExecutionsRequest{Query: `ExecutionStatus = "Running"`, PageSize: 1000}
	listed, err := c.ListWorkflow(t.Context(), running)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range listed.GetExecutions() {
		if found.GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
			continue
		}
		if c.TerminateWorkflow(t.Context(), found.GetExecution().GetWorkflowId(), "", "the way back") == nil {
			ended++
		}
	}
	if ended == 0 {
		t.Error("no workflow was terminated")
	}
	return ended
}

// onDatabase starts the private Postgres of the stopped platform for a while.
func (u *upgrade) onDatabase(t *testing.T, do func(*standalone.Postgres)) {
	t.Helper()
	data, err := standalone.OpenDataDir(u.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = data.Close() }()
	server, err := standalone.StartPostgres(t.Context(), data, standalone.PostgresOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Stop(context.WithoutCancel(t.Context())) }()
	do(server)
}

// count counts rows; -1 while the database is away.
func (u *upgrade) count(from string) int {
	db, err := sql.Open("pgx", u.dsn)
	if err != nil {
		return -1
	}
	defer func() { _ = db.Close() }()
	n := -1
	row := db.QueryRowContext(context.WithoutCancel(u.t.Context()), "SELECT count(*) FROM "+from)
	if row.Scan(&n) != nil {
		return -1
	}
	return n
}

// schemaOf describes the columns, constraints and indexes of a database, except those of
// partitions, which depend on the day.
func schemaOf(t *testing.T, dsn string) []string {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var text string
	err = db.QueryRowContext(t.Context(), `SELECT string_agg(line, E'\n') FROM (
		SELECT format('column %s.%s %s %s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
				pg_get_expr(d.adbin, d.adrelid)) AS line
			FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
			WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
				AND a.attnum > 0 AND NOT a.attisdropped
		UNION ALL SELECT format('constraint %s %s', r.conrelid::regclass, pg_get_constraintdef(r.oid))
			FROM pg_constraint r JOIN pg_class c ON c.oid = r.conrelid
			WHERE r.connamespace = 'public'::regnamespace AND NOT c.relispartition
		UNION ALL SELECT pg_get_indexdef(i.indexrelid) FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
			WHERE c.relnamespace = 'public'::regnamespace AND NOT c.relispartition) AS lines`).Scan(&text)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(text, "\n")
}
