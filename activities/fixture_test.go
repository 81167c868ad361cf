// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/fair"
	"github.com/vigil-monitor/vigil/internal/probe"
)

const region = "eu-central-fra"

// watchFixture is a Watcher and its catalogue with an in-memory store, run in synthetic
// time, because these tests are about times. Other tests cover the real store and Temporal.
type watchFixture struct {
	*testing.T
	watcher   *activities.Watcher
	catalogue *activities.Catalogue
	log       logBuffer
	windows   windows

	hangs bool // reads of many definitions wait until their context ends

	mu   sync.Mutex
	defs map[uuid.UUID]vigil.Definition
	gone []vigil.Tombstone
	rows []vigil.Result
	runs []time.Time       // start times of the probes
	past []vigil.PastQuery // reads of what was before the newest results
	// observe is the probe; nil succeeds immediately.
	observe func(ctx context.Context) vigil.Observation
	// onRead is called before each read of one definition.
	onRead func()

	// Errors of the store and the parser; nil succeeds.
	readErr, writeErr, historyErr, parseErr, voteErr error
	// oneErr is the error of reads of one definition only.
	oneErr error
	// noChanges makes a poll return tombstones only.
	noChanges bool

	voted      time.Time // slot of the stored vote
	votedFires bool      // a rule fires in it

	written         []vigil.ResultRow
	polls           []poll // reads of many definitions
	reads           int    // reads of one definition
	parses          int
	probing, atOnce int // running probes, and their maximum
}

// poll is one read of many definitions; since is zero for a full load.
type poll struct{ at, since time.Time }

// logBuffer collects log lines.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// count returns how many lines contain the text.
func (b *logBuffer) count(text string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.text.String(), text)
}

// newIdleFixture returns a fixture whose catalogue does not poll.
func newIdleFixture(t *testing.T, options ...func(*activities.WatcherOptions)) *watchFixture {
	t.Helper()
	w := &watchFixture{T: t, defs: make(map[uuid.UUID]vigil.Definition)}
	logger := slog.New(slog.NewTextHandler(&w.log, nil))
	w.catalogue = activities.NewCatalogue(activities.CatalogueOptions{
		Store: w, Parser: w, Regions: []string{region}, Now: time.Now, Maintenance: &w.windows, Log: logger,
	})
	opts := activities.WatcherOptions{
		Catalogue: w.catalogue, Results: w, History: w,
		Probes: fair.New(fair.DefaultLimits(256)), Worker: "test", LastVotes: w, Now: time.Now, Log: logger,
	}
	for _, option := range options {
		option(&opts)
	}
	w.watcher = activities.NewWatcher(opts)
	// The goroutines that ran probes end once they are idle.
	t.Cleanup(func() { time.Sleep(2 * time.Second) }) // sleep: in a bubble only
	return w
}

func newWatchFixture(t *testing.T, options ...func(*activities.WatcherOptions)) *watchFixture {
	t.Helper()
	w := newIdleFixture(t, options...)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	if err := w.catalogue.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.polls = nil
	go w.catalogue.Run(ctx)
	return w
}

// nextID returns the ID of the next check, the same in every run: anchor and phase of a
// loop depend on it, and so does where its turns end.
func (w *watchFixture) nextID() uuid.UUID {
	w.mu.Lock()
	defer w.mu.Unlock()
	return uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "check 4 %d", len(w.defs)))
}

// define stores a new revision of a check that starts now.
func (w *watchFixture) define(change func(*vigil.Definition)) vigil.Definition {
	def := vigil.Definition{
		Check: vigil.Check{
			ID: w.nextID(), Type: "memory", Interval: time.Minute, Regions: []string{region},
			Enabled: true, Simultaneous: true, Revision: 1,
		},
		Starts: map[string]time.Time{region: time.Now()},
	}
	def.Check.Anchor = vigil.NewAnchor(def.Check.ID, time.Now(), def.Check.Interval)
	if change != nil {
		change(&def)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.defs[def.Check.ID] = def
	return def
}

// revise stores the next revision of a check.
func (w *watchFixture) revise(def vigil.Definition, change func(*vigil.Definition)) vigil.Definition {
	return w.define(func(d *vigil.Definition) {
		*d = def
		d.Check.Revision++
		change(d)
	})
}

// set changes the fixture under its lock.
func (w *watchFixture) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// Definitions has instants as cursors.
func (w *watchFixture) Definitions(
	ctx context.Context, _ []string, cursor string,
) ([]vigil.Definition, []vigil.Tombstone, string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	since, _ := time.Parse(time.RFC3339Nano, cursor)
	w.polls = append(w.polls, poll{time.Now(), since})
	if w.hangs {
		<-ctx.Done()
		return nil, nil, "", ctx.Err()
	}
	if w.readErr != nil {
		return nil, nil, "", w.readErr
	}
	var defs []vigil.Definition
	if !w.noChanges || since.IsZero() {
		defs = slices.AppendSeq(make([]vigil.Definition, 0, len(w.defs)), maps.Values(w.defs)) // read each second
	}
	return defs, slices.Clone(w.gone), time.Now().Format(time.RFC3339Nano), nil
}

func (w *watchFixture) Definition(_ context.Context, id uuid.UUID) (vigil.Definition, error) {
	if w.onRead != nil {
		w.onRead()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads++
	if err := cmp.Or(w.readErr, w.oneErr); err != nil {
		return vigil.Definition{}, err
	}
	def, ok := w.defs[id]
	if !ok {
		return def, vigil.NotFound("check")
	}
	return def, nil
}

func (w *watchFixture) Parse(vigil.CheckType, json.RawMessage, time.Duration) (probe.Probe, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parses++
	if w.parseErr != nil {
		return nil, w.parseErr
	}
	return memoryProbe{w}, nil
}

// probeDeadline is the deadline of every memoryProbe.
const probeDeadline = 10 * time.Second

type memoryProbe struct{ w *watchFixture }

func (memoryProbe) Deadline() time.Duration { return probeDeadline }
func (memoryProbe) Target() string          { return "memory" }

func (p memoryProbe) Run(ctx context.Context) vigil.Observation {
	p.w.mu.Lock()
	p.w.runs = append(p.w.runs, time.Now())
	p.w.probing++
	p.w.atOnce = max(p.w.atOnce, p.w.probing)
	observe := p.w.observe
	p.w.mu.Unlock()
	defer p.w.set(func() { p.w.probing-- })
	if observe == nil {
		return vigil.Observation{Success: true}
	}
	return observe(ctx)
}

// fails is a probe of a target that is down.
func fails(context.Context) vigil.Observation { return vigil.Observation{Error: "down"} }

// takes returns a probe that succeeds after a duration.
func takes(d time.Duration) func(context.Context) vigil.Observation {
	return func(context.Context) vigil.Observation {
		time.Sleep(d) // sleep: a slow target
		return vigil.Observation{Success: true}
	}
}

func (w *watchFixture) Write(_ context.Context, row vigil.ResultRow) (vigil.StoredResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.writeErr != nil {
		return vigil.StoredResult{}, w.writeErr
	}
	if _, ok := w.defs[row.Result.CheckID]; !ok {
		return vigil.StoredResult{}, vigil.NotFound("check")
	}
	var previous time.Time
	for _, stored := range w.rows {
		if stored.CheckID == row.Result.CheckID && stored.Slot.After(previous) {
			previous = stored.Slot
		}
	}
	for _, stored := range w.rows {
		if stored.CheckID == row.Result.CheckID && stored.Slot.Equal(row.Result.Slot) {
			return vigil.StoredResult{Result: stored, Previous: previous}, nil
		}
	}
	row.Result.HasEvidence = row.Result.Evidence != nil
	w.written = append(w.written, row)
	w.rows = append(w.rows, row.Result)
	return vigil.StoredResult{Result: row.Result, Inserted: true, Previous: previous}, nil
}

func (w *watchFixture) LastVote(context.Context, uuid.UUID, string) (vigil.LastVote, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return vigil.LastVote{Slot: w.voted, Fires: w.votedFires}, w.voteErr
}

func (w *watchFixture) ResultsAfter(_ context.Context, id uuid.UUID, in string, slot time.Time, limit int) ([]vigil.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var rows []vigil.Result
	for _, row := range w.rows {
		if row.CheckID == id && row.Region == in && row.Slot.After(slot) && len(rows) < limit {
			rows = append(rows, row)
		}
	}
	return rows, w.historyErr
}

func (w *watchFixture) LatestResults(_ context.Context, id uuid.UUID, in string, n int) ([]vigil.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var rows []vigil.Result
	for _, row := range w.rows {
		if row.CheckID == id && row.Region == in {
			rows = append(rows, row)
		}
	}
	return rows[max(0, len(rows)-n):], w.historyErr
}

// watch runs one turn to its end.
func (w *watchFixture) watch(turn activities.Turn) (activities.TurnResult, error) {
	return w.watchWith(turn, func(*testsuite.TestActivityEnvironment) {})
}

// watchUntil runs one turn on a worker that stops when the channel closes.
func (w *watchFixture) watchUntil(turn activities.Turn, stop chan struct{}) (activities.TurnResult, error) {
	return w.watchWith(turn, func(env *testsuite.TestActivityEnvironment) { env.SetWorkerStopChannel(stop) })
}

// watchIn runs one turn in a context.
func (w *watchFixture) watchIn(ctx context.Context, turn activities.Turn) (activities.TurnResult, error) {
	return w.watchWith(turn, func(env *testsuite.TestActivityEnvironment) {
		env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
	})
}

// watchWith runs one turn in an environment that prepare configures.
func (w *watchFixture) watchWith(turn activities.Turn, prepare func(*testsuite.TestActivityEnvironment)) (activities.TurnResult, error) {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestActivityEnvironment()
	env.SetTestTimeout(48 * time.Hour)
	prepare(env)
	env.RegisterActivityWithOptions(w.watcher.Watch, activity.RegisterOptions{Name: "Watch"})
	var result activities.TurnResult
	value, err := env.ExecuteActivity("Watch", turn)
	if err != nil {
		return result, err
	}
	return result, value.Get(&result)
}

func (w *watchFixture) must(result activities.TurnResult, err error) activities.TurnResult {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
	return result
}

func turnOf(def vigil.Definition, state vigil.State) activities.Turn {
	return activities.Turn{CheckID: def.Check.ID, Region: region, Revision: def.Check.Revision, State: state, Span: 1}
}

// started runs a check's first turn and returns the turn after it.
func (w *watchFixture) started(def vigil.Definition) activities.Turn {
	w.Helper()
	return turnOf(def, w.must(w.watch(turnOf(def, vigil.State{}))).State)
}

// firing gives a check one rule.
func firing(condition vigil.Condition) func(*vigil.Definition) {
	return func(def *vigil.Definition) {
		def.Rules = []vigil.Rule{{ID: uuid.New(), Condition: condition, Enabled: true}}
	}
}

func scheduleOf(def vigil.Definition) vigil.Schedule {
	s, _ := def.Schedule(region)
	return s
}
