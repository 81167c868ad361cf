// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package standalone_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdktemporal "go.temporal.io/sdk/temporal"

	"github.com/vigil-monitor/vigil/internal/standalone"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestVisibilityIndexes tests that a workflow has no entries in the indexes of search
// attributes that it does not have, and is found by those that it has.
func TestVisibilityIndexes(t *testing.T) { //nolint:paralleltest // goroutines are counted by another test
	data := openDir(t, t.TempDir())
	pg := startPostgres(t, data)
	opts := options(pg, &lines{})
	if err := standalone.EnsureDatabases(t.Context(), opts.DSN); err != nil {
		t.Fatal(err)
	}
	server, err := standalone.StartTemporal(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer stopTemporal(t, server)
	c := dial(t, server.Address(), nil)
	defer c.Close()
	attribute := sdktemporal.NewSearchAttributeKeyKeyword(opts.SearchAttributes[0])
	_, err = c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: "found", TaskQueue: "idle", TypedSearchAttributes: sdktemporal.NewSearchAttributes(attribute.ValueSet("here")),
	}, "Waits")
	if err != nil {
		t.Fatal(err)
	}
	timingtest.Eventually(t, 30*time.Second, "the workflow is found by its attribute", func() bool {
		found, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: opts.Namespace, Query: opts.SearchAttributes[0] + " = 'here'",
		})
		return err == nil && len(found.GetExecutions()) == 1
	})

	_, visibility := standalone.TemporalDatabases("vigil")
	db, err := pgx.Connect(t.Context(), pg.DSN(visibility))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(t.Context()) }()
	var all, partial int
	err = db.QueryRow(t.Context(), `SELECT count(*), count(*) FILTER (WHERE indpred IS NOT NULL)
		FROM pg_index WHERE indrelid = 'executions_visibility'::regclass`).Scan(&all, &partial)
	if err != nil {
		t.Fatal(err)
	}
	if all-partial > 9 || partial < 60 {
		t.Errorf("%d of %d indexes leave out workflows without a value, want all but nine of columns that always have one", partial, all)
	}
}
