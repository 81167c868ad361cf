// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/api/workflowservice/v1"
	temporal "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/vigil-monitor/vigil/internal/standalone"
	"github.com/vigil-monitor/vigil/workflows"
)

// upgradeRegions are those that a fixture's checks run in.
const upgradeRegions = "eu-central-fra,na-east-ewr,ap-south-bom"

// upgradeFacts say which rows of a fixture are which. The maps are from the name
// that the capture gives a row to its id.
type upgradeFacts struct {
	APIKey     string            `json:"api_key"`
	Checks     map[string]string `json:"checks"`
	Channels   map[string]string `json:"channels"`
	Incidents  map[string]string `json:"incidents"`
	Deliveries map[string]string `json:"deliveries"`
	// FirstRuns are the open workflows: the first run of each, by workflow id.
	FirstRuns map[string]string `json:"first_runs"`
}

// delivery are the members of a delivery that are looked at.
type delivery struct {
	ID            string     `json:"id"`
	EventID       string     `json:"event_id"`
	ChannelID     string     `json:"channel_id"`
	Status        string     `json:"status"`
	Attempts      int        `json:"attempts"`
	NextAttemptAt *time.Time `json:"next_attempt_at"`
}

// dumpDatabases writes every database of a data directory as plain SQL that
// Postgres 15 and later take, without what only psql understands.
func dumpDatabases(t *testing.T, dir, fixture string) {
	t.Helper()
	data, err := standalone.OpenDataDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = data.Close() }()
	server, err := standalone.StartPostgres(t.Context(), data, standalone.PostgresOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Stop(t.Context()) }()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_dump")
	program := append(found, "pg_dump")[max(len(found)-1, 0)]
	for _, name := range upgradeDatabases() {
		dump := exec.CommandContext(t.Context(), program,
			"--no-owner", "--no-privileges", "--no-comments", "--inserts", "--rows-per-insert=100", server.DSN(name))
		dump.Stderr = os.Stderr
		text, err := dump.Output()
		if err != nil {
			t.Fatal(err)
		}
		var packed bytes.Buffer
		writer, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			if !bytes.HasPrefix(line, []byte(`\`)) && !bytes.HasPrefix(line, []byte("SET transaction_timeout")) {
				_, _ = writer.Write(line) // to memory
			}
		}
		if err := writer.Close(); err != nil {
			t.Fatal(err)
		}
		writeFixture(t, fixture, name+".sql.gz", packed.Bytes())
		t.Logf("%s: %d bytes, %d packed", name, len(text), packed.Len())
	}
}

// upgradeDatabases are the databases of a data directory.
func upgradeDatabases() []string {
	const platform = "vigil"
	store, visibility := standalone.TemporalDatabases(platform)
	return []string{platform, store, visibility}
}

func writeFixture(t *testing.T, fixture, name string, content []byte) {
	t.Helper()
	path := filepath.Join(fixture, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

func indented(t *testing.T, value any) []byte {
	t.Helper()
	raw, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(raw, '\n')
}

// loadDump runs a dump. Without arguments, Postgres takes it as one request.
func loadDump(t *testing.T, dsn, dump string) {
	t.Helper()
	file, err := os.Open(dump)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgconn.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if _, err := conn.Exec(t.Context(), string(text)).ReadAll(); err != nil {
		t.Fatalf("%s: %v", dump, err)
	}
}

// firstRuns are the open workflows of the namespace: the first run of each, by
// workflow id.
func firstRuns(t *testing.T, c temporal.Client) map[string]string {
	t.Helper()
	open := &workflowservice.ListWorkflowExecutionsRequest{Query: `ExecutionStatus = "Running"`, PageSize: 1000}
	listed, err := c.ListWorkflow(t.Context(), open)
	if err != nil {
		t.Fatal(err)
	}
	runs := map[string]string{}
	for _, found := range listed.GetExecutions() {
		described, err := c.DescribeWorkflowExecution(t.Context(), found.GetExecution().GetWorkflowId(), "")
		if err != nil {
			t.Fatal(err)
		}
		runs[found.GetExecution().GetWorkflowId()] = described.GetWorkflowExecutionInfo().GetFirstRunId()
	}
	return runs
}

// historyOf is the history of the newest run of a workflow.
func historyOf(t *testing.T, c temporal.Client, id string) *historypb.History {
	t.Helper()
	history := &historypb.History{}
	events := c.GetWorkflowHistory(t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		history.Events = append(history.Events, event)
	}
	return history
}

func marshalHistory(t *testing.T, history *historypb.History) []byte {
	t.Helper()
	raw, err := temporalproto.CustomJSONMarshalOptions{Indent: " "}.Marshal(history)
	if err != nil {
		t.Fatal(err)
	}
	return append(raw, '\n')
}

// replayHistories runs today's workflows over histories of the earlier version.
func replayHistories(t *testing.T, fixture string) {
	t.Helper()
	histories, err := filepath.Glob(filepath.Join(fixture, "histories", "*.json"))
	if err != nil || len(histories) == 0 {
		t.Fatalf("no history: %v", err)
	}
	for _, path := range histories {
		replayer := worker.NewWorkflowReplayer()
		replayer.RegisterWorkflowWithOptions(workflows.CheckLoop, workflow.RegisterOptions{Name: "CheckLoop"})
		replayer.RegisterWorkflowWithOptions(workflows.Incident, workflow.RegisterOptions{Name: "Incident"})
		replayer.RegisterWorkflowWithOptions(workflows.Delivery, workflow.RegisterOptions{Name: "Delivery"})
		quiet := log.NewStructuredLogger(slog.New(slog.DiscardHandler))
		if err := replayer.ReplayWorkflowHistoryFromJSONFile(quiet, path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}
