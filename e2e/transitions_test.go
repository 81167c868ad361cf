// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/json"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/api/temporalproto"
	temporal "go.temporal.io/sdk/client"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/dispatch"
	"github.com/vigil-monitor/vigil/internal/fair"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
	"github.com/vigil-monitor/vigil/workers"
)

// record keeps histories of the workflows of TestTurnCost, TestEpisodes and
// TestDrillMaintenance. Every later version must be able to replay them. A recorded file is
// never overwritten; see workflows/doc.go.
//
//nolint:gochecknoglobals // a flag
var record = flag.String("record", "", "suffix of the files under workflows/testdata/history to keep histories in")

// costPerTurn is the limit of state transitions for each turn: the activity starts
// with its workflow task, its result comes with the next.
const costPerTurn = 3

// TestTurnCost counts the state transitions of a quiet loop on a real server. Only
// the check is a stub, due every 20 ms.
func TestTurnCost(t *testing.T) {
	timingtest.Parallel(t)
	address := freeAddress(t)
	start(t, []string{
		"DATABASE_URL=" + database(t), "VIGIL_TEMPORAL_LISTEN=" + address,
		"VIGIL_UI_LISTEN=127.0.0.1:0", "VIGIL_DATA_DIR=" + dataDir(t),
	}, "temporal", "--json")
	c := dialTemporal(t, address, "vigil")
	defer c.Close()

	stub := newStub()
	quiet := slog.New(slog.DiscardHandler)
	watcher := activities.NewWatcher(activities.WatcherOptions{
		Catalogue: activities.NewCatalogue(activities.CatalogueOptions{
			Store: stub, Parser: stub, Regions: []string{stubRegion}, Now: time.Now, Log: quiet,
		}),
		Results: stub, History: stub, Probes: fair.New(fair.DefaultLimits(8)), Worker: "cost", Now: time.Now, Log: quiet,
		Completer: dispatch.NewTurns(c, "vigil"), Owners: stub,
	})
	regions := workers.NewRegions(c, workers.RegionOptions{
		Name: "cost", Regions: []string{stubRegion}, Watcher: watcher, Leases: stub, Capabilities: stub, Now: time.Now, Log: quiet,
	})
	if err := regions.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer regions.Stop(context.WithoutCancel(t.Context()))
	loops := dispatch.NewLoops(c, stub, quiet)
	loop := vigil.Loop{
		CheckID: stub.def.Check.ID, OrgID: uuid.New(), Region: stubRegion,
		Name: "cost", Target: "target.example", Desired: 1, Active: true,
	}
	if err := loops.Apply(t.Context(), loop); err != nil {
		t.Fatal(err)
	}

	id := vigil.LoopID(loop.CheckID, stubRegion)
	turns := func() int64 { return stub.written.Load() }
	eventually(t, "the loop turns", func() bool { return turns() >= 10 })
	before, cost := turns(), transitions(t, c, id)
	eventually(t, "100 turns have passed", func() bool { return turns() >= before+100 })
	cost = transitions(t, c, id) - cost
	passed := turns() - before // after the reading: turns continue in the meantime
	t.Logf("%d state transitions in %d turns: %.2f a turn", cost, passed, float64(cost)/float64(passed))
	// Either reading may fall into a turn.
	if cost > costPerTurn*(passed+1) {
		t.Errorf("%d state transitions in %d turns, want at most %d a turn", cost, passed, costPerTurn)
	}
	if *record != "" {
		keepHistory(t, c, id, "check_loop")
	}
	eventually(t, "the loop has continued as new", func() bool { return turns() >= 300 })
	described(t, c, id)
	if err := loops.Stop(t.Context(), loop.CheckID, stubRegion, 0); err != nil {
		t.Fatal(err)
	}
}

func transitions(t *testing.T, c temporal.Client, id string) int64 {
	t.Helper()
	d, err := c.DescribeWorkflowExecution(t.Context(), id, "")
	if err != nil {
		t.Fatal(err)
	}
	return d.GetWorkflowExecutionInfo().GetStateTransitionCount()
}

// described checks the search attributes and the current details of a loop that
// was continued as new.
func described(t *testing.T, c temporal.Client, id string) {
	t.Helper()
	d, err := c.DescribeWorkflowExecution(t.Context(), id, "")
	if err != nil {
		t.Fatal(err)
	}
	if first := d.GetWorkflowExecutionInfo().GetFirstRunId(); first == d.GetWorkflowExecutionInfo().GetExecution().GetRunId() {
		t.Error("the loop was not continued as new")
	}
	metadata, err := c.QueryWorkflow(t.Context(), id, "", "__temporal_workflow_metadata")
	if err != nil {
		t.Fatal(err)
	}
	var shown sdkpb.WorkflowMetadata
	if err := metadata.Get(&shown); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"cost (target.example)", "healthy"} {
		if !strings.Contains(shown.GetCurrentDetails(), want) {
			t.Errorf("the current details are %q, without %q", shown.GetCurrentDetails(), want)
		}
	}
	found := d.GetWorkflowExecutionInfo().GetSearchAttributes().GetIndexedFields()
	if region := string(found[dispatch.AttributeRegion].GetData()); region != `"`+stubRegion+`"` {
		t.Errorf("%s is %s", dispatch.AttributeRegion, region)
	}
}

// keepHistory writes the history of a workflow to a new file.
func keepHistory(t *testing.T, c temporal.Client, id, name string) {
	t.Helper()
	var history historypb.History
	events := c.GetWorkflowHistory(t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		history.Events = append(history.Events, event)
	}
	raw, err := temporalproto.CustomJSONMarshalOptions{Indent: " "}.Marshal(&history)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "workflows", "testdata", "history", name+"_"+*record+".json")
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

const stubRegion = "eu-central-fra"

// stub is a check that is due every 20 ms and always healthy, without a target.
type stub struct {
	def     vigil.Definition
	written atomic.Int64
}

func newStub() *stub {
	check := vigil.Check{
		ID: uuid.New(), Type: "stub", Interval: 20 * time.Millisecond, Regions: []string{stubRegion},
		Enabled: true, Simultaneous: true, Revision: 1,
	}
	now := time.Now()
	check.Anchor = vigil.NewAnchor(check.ID, now, check.Interval)
	return &stub{def: vigil.Definition{Check: check, Starts: map[string]time.Time{stubRegion: now}}}
}

func (s *stub) Definitions(context.Context, []string, string) ([]vigil.Definition, []vigil.Tombstone, string, error) {
	return []vigil.Definition{s.def}, nil, "next", nil
}

func (s *stub) Definition(context.Context, uuid.UUID) (vigil.Definition, error) { return s.def, nil }

func (s *stub) Parse(vigil.CheckType, json.RawMessage, time.Duration) (probe.Probe, error) {
	return s, nil
}

func (*stub) Deadline() time.Duration { return 10 * time.Millisecond }
func (*stub) Target() string          { return "stub" }

func (*stub) Run(context.Context) vigil.Observation { return vigil.Observation{Success: true} }

func (s *stub) Write(_ context.Context, row vigil.ResultRow) (vigil.StoredResult, error) {
	s.written.Add(1)
	return vigil.StoredResult{Result: row.Result, Inserted: true}, nil
}

func (*stub) ResultsAfter(context.Context, uuid.UUID, string, time.Time, int) ([]vigil.Result, error) {
	return nil, nil
}

func (*stub) LatestResults(context.Context, uuid.UUID, string, int) ([]vigil.Result, error) {
	return nil, nil
}

func (*stub) StateBefore(context.Context, vigil.PastQuery) (vigil.State, error) {
	return vigil.State{}, nil
}

func (*stub) Unavailable(context.Context) []vigil.CheckType { return nil }
func (*stub) GiveUpLease(context.Context, string) error     { return nil }

func (*stub) ReleaseLease(context.Context, string) error                 { return nil }
func (*stub) ClaimLoops(context.Context, fleet.Lease, []uuid.UUID) error { return nil }
func (*stub) AdoptTurns(context.Context, fleet.Adoption, time.Duration) ([]vigil.OpenTurn, error) {
	return nil, nil
}
func (*stub) OwnsLoop(context.Context, uuid.UUID, fleet.Lease) (bool, error) { return true, nil }
func (*stub) OwnedLoops(context.Context, fleet.Lease, []uuid.UUID) ([]uuid.UUID, error) {
	return nil, nil
}
func (*stub) MarkApplied(context.Context, vigil.Loop) error { return nil }
func (*stub) Clock(context.Context) (time.Time, error)      { return time.Now(), nil }

func (*stub) RenewLease(context.Context, fleet.Renewal) (fleet.Grant, error) {
	return fleet.Grant{Clock: time.Now()}, nil
}

// RegionsInUse returns every region.
func (*stub) RegionsInUse(_ context.Context, regions []string) ([]string, error) { return regions, nil }
