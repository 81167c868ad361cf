// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package codec_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"

	"github.com/vigil-monitor/vigil/internal/codec"
	"github.com/vigil-monitor/vigil/internal/secret"
	"github.com/vigil-monitor/vigil/internal/standalone"
)

const queue = "notebook"

// notebook keeps notes that come by signal and by update, each through an activity, and
// ends with all of them.
func notebook(ctx workflow.Context, first string) ([]string, error) {
	notes := []string{first}
	keep := func(ctx workflow.Context, note string) (string, error) {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			StartToCloseTimeout: 10 * time.Second, Summary: note, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
		})
		var kept string
		if err := workflow.ExecuteActivity(ctx, keepNote, note).Get(ctx, &kept); err != nil {
			kept = "failed: " + err.Error()
		}
		notes = append(notes, kept)
		return kept, nil
	}
	if err := workflow.SetUpdateHandler(ctx, "keep", keep); err != nil {
		return nil, err
	}
	if err := workflow.SetQueryHandler(ctx, "notes", func() ([]string, error) { return notes, nil }); err != nil {
		return nil, err
	}
	workflow.SetCurrentDetails(ctx, first)
	for note := ""; note != "end"; {
		workflow.GetSignalChannel(ctx, "note").Receive(ctx, &note)
		if _, err := keep(ctx, note); err != nil {
			return nil, err
		}
	}
	return notes, nil
}

func keepNote(_ context.Context, note string) (string, error) {
	if strings.HasPrefix(note, "bad ") {
		return "", errors.New(note)
	}
	return note, nil
}

// phase is a client and a worker with a codec. The worker has nothing in its cache, so
// that it replays the history of the phases before.
type phase struct {
	client.Client
	t *testing.T
}

// in runs a part of a workflow's life with a codec.
func in(t *testing.T, address string, c *codec.Codec, do func(phase)) {
	t.Helper()
	options := client.Options{
		HostPort: address, Namespace: "vigil", Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	}
	c.Configure(&options)
	temporalClient, err := client.Dial(options)
	if err != nil {
		t.Fatal(err)
	}
	defer temporalClient.Close()
	w := worker.New(temporalClient, queue, worker.Options{StickyScheduleToStartTimeout: time.Second})
	w.RegisterWorkflow(notebook)
	w.RegisterActivity(keepNote)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	do(phase{temporalClient, t})
}

func (p phase) ok(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// keep sends a note by signal, and another by update, and waits for the second.
func (p phase) keep(id, note string) {
	p.t.Helper()
	p.ok(p.SignalWorkflow(p.t.Context(), id, "", "note", note+" by signal"))
	handle, err := p.UpdateWorkflow(p.t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: id, UpdateName: "keep", Args: []any{note + " by update"}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	p.ok(err)
	var kept string
	p.ok(handle.Get(p.t.Context(), &kept))
	if !strings.Contains(kept, note+" by update") {
		p.t.Errorf("the update returned %q", kept)
	}
}

// count queries how many notes there are.
func (p phase) count(id string) int {
	p.t.Helper()
	value, err := p.QueryWorkflow(p.t.Context(), id, "", "notes")
	p.ok(err)
	var notes []string
	p.ok(value.Get(&notes))
	return len(notes)
}

// shown reports whether the raw history of a workflow contains a text.
func (p phase) shown(id, text string) bool {
	p.t.Helper()
	events := p.GetWorkflowHistory(p.t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		p.ok(err)
		raw, err := proto.Marshal(event)
		p.ok(err)
		if bytes.Contains(raw, []byte(text)) {
			p.t.Logf("%q is in the event %v", text, event.GetEventType())
			return true
		}
	}
	return false
}

// TestSwitching proves, against a server, that no text is in the history while the codec
// encrypts, that a workflow goes on while the codec is switched off and on, and when the
// key is replaced.
func TestSwitching(t *testing.T) {
	t.Parallel()
	data, err := standalone.OpenDataDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	pg, err := standalone.StartPostgres(t.Context(), data, standalone.PostgresOptions{Databases: []string{"vigil"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.WithoutCancel(t.Context())
	t.Cleanup(func() { _ = pg.Stop(ctx); _ = data.Close() })
	if err := standalone.EnsureDatabases(t.Context(), pg.DSN("vigil")); err != nil {
		t.Fatal(err)
	}
	server, err := standalone.StartTemporal(t.Context(), standalone.TemporalOptions{
		DSN: pg.DSN("vigil"), Listen: "127.0.0.1:0", UIListen: "127.0.0.1:0", Namespace: "vigil", Retention: 24 * time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop(ctx) })

	const id = "notebook"
	var notes []string
	in(t, server.Address(), codec.New(keyring(t, 1), true), func(p phase) {
		_, err := p.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
			ID: id, TaskQueue: queue, StaticSummary: "sealed summary", StaticDetails: "sealed details", Memo: map[string]any{"memo": "sealed memo"},
		}, notebook, "sealed first")
		p.ok(err)
		p.keep(id, "sealed")
		p.keep(id, "bad sealed")
	})
	in(t, server.Address(), codec.New(keyring(t, 1), false), func(p phase) {
		p.keep(id, "plain")
		p.keep(id, "bad plain")
	})
	in(t, server.Address(), codec.New(keyring(t, 2, 1), true), func(p phase) {
		p.keep(id, "sealed again")
		if got := p.count(id); got != 11 {
			t.Errorf("%d notes, want 11", got)
		}
		p.ok(p.SignalWorkflow(t.Context(), id, "", "note", "end"))
		p.ok(p.GetWorkflow(t.Context(), id, "").Get(t.Context(), &notes))
		if p.shown(id, "sealed") {
			t.Error("the history shows what was encrypted")
		}
		if !p.shown(id, "plain by signal") || !p.shown(id, "bad plain by update") {
			t.Error("what was not encrypted is not found: the test looks in the wrong place")
		}
	})
	if all := strings.Join(notes, "; "); len(notes) != 12 || !strings.Contains(all, "bad sealed by signal") {
		t.Errorf("%d notes: %s", len(notes), all)
	}
	in(t, server.Address(), codec.New(keyring(t, 3), true), func(p phase) {
		err := p.GetWorkflow(t.Context(), id, "").Get(t.Context(), &notes)
		if _, unknown := errors.AsType[secret.UnknownKeyError](err); !unknown {
			t.Errorf("without the key: %v", err)
		}
	})
}
