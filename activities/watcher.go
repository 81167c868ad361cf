// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fair"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/pace"
	"github.com/vigil-monitor/vigil/internal/timing"
)

// resultWriter stores results. Write returns the committed row of the slot, which another
// turn may have written.
type resultWriter interface {
	Write(ctx context.Context, row vigil.ResultRow) (vigil.StoredResult, error)
}

// line is this machine's way to the internet.
type line interface {
	// Follow returns a context for one attempt to probe a target, and lost, which says after the
	// attempt has failed whether it had no line: then its failure says nothing about the target.
	// fresh: the result before was a success. lost waits a second at most.
	Follow(ctx context.Context, target string) (followed context.Context, lost func(ctx context.Context, fresh bool) bool)
}

// WatcherOptions are the dependencies of a Watcher. All members but Lease, TurnRate,
// QuietWindow, Votes, Incidents, LastVotes, Spans, Arrivals and Line are required.
type WatcherOptions struct {
	Catalogue *Catalogue
	Results   resultWriter
	History   resultHistory
	// Probes shares the places for probes of the process. The time that a probe waits
	// for its place counts as lateness, not as response time.
	Probes *fair.Queue
	// Worker is the name under which the process renews its leases.
	Worker string
	// Lease says whether they hold. Nil: probes need no lease.
	Lease *LeaseHolder
	// TurnRate is how many slots a second the loops of the process may have while each is a
	// turn of its own: with more than that a turn covers several of them. With 0 every turn covers
	// one slot.
	TurnRate float64
	// WideRate is how many turns a second the process makes then, while nothing changes; 0: TurnRate.
	WideRate float64
	// QuietWindow is the longest time that one turn may cover, up to six hours.
	QuietWindow time.Duration
	// Votes and Incidents receive the votes of loops. Without them votes are dropped
	// and no incident opens.
	Votes     voteStore
	Incidents incidentSignaler
	// LastVotes is asked by a turn that catches up with stored results. Without it none of
	// their votes counts as reported.
	LastVotes lastVoteReader
	// Spans receives the steps of traces; nil: none does.
	Spans spanRecorder
	// Completer completes turns that run apart from their activity, and Owners says which worker has
	// a loop. Without Completer a turn runs in its activity and is never adopted; with it both are
	// required.
	Completer turnCompleter
	Owners    loopOwners
	// Figures counts what turns apart from their activity do; nil: nothing is counted.
	Figures client.MetricsHandler
	// ShowNames reports whether workflows show the names of checks; nil: they must not.
	ShowNames func(ctx context.Context) bool
	// Seal seals what a test by hand answers to callers that ask for it; nil: it is in plaintext.
	Seal func([]byte) ([]byte, error)
	// Arrivals has the pings of heartbeats. Nil: this process runs none.
	Arrivals *Arrivals
	// Inbox has the results that agents send. Nil: this process runs no loops of locations.
	Inbox *Inbox
	// Line judges failures before they are stored; nil: all of them are the targets'.
	Line line
	Now  func() time.Time
	Log  *slog.Logger
}

// newsBurst turns with news within newsBurstTime are a burst: they go on beyond their slots, since
// Temporal has enough to do with the votes.
const (
	newsBurst     = 32
	newsBurstTime = 10 * time.Second
)

// Watcher implements the activities of the region workers of one process.
type Watcher struct {
	WatcherOptions
	locks     *turnLocks
	claims    *pendingClaims
	budget    *pace.Budget
	news      timing.Burst
	shortName string
	tests     handTests
	lateness  pace.Lateness
	apart     *turnsApart
	reach     reach
	expected  expectedTurns
}

// NewWatcher returns a Watcher.
func NewWatcher(opts WatcherOptions) *Watcher {
	if opts.Figures == nil {
		opts.Figures = client.MetricsNopHandler
	}
	opts.Figures = &keptFigures{MetricsHandler: opts.Figures}
	return &Watcher{
		reach:          reach{log: opts.Log},
		expected:       expectedTurns{turns: make(map[loopKey]*expectedTurn)},
		apart:          newTurnsApart(),
		WatcherOptions: opts, locks: newTurnLocks(), claims: newPendingClaims(), shortName: shortWorkerName(opts.Worker),
		budget: pace.NewBudget(opts.TurnRate, cmp.Or(opts.WideRate, opts.TurnRate)), news: timing.Burst{Size: newsBurst, Window: newsBurstTime},
		tests: handTests{places: fair.New(fair.DefaultLimits(testPlaces))},
	}
}

// Turns returns the budget of turns of this process.
func (w *Watcher) Turns() pace.Figures { return w.budget.Figures(w.Now()) }

// Running returns the loops whose turns this process runs.
func (w *Watcher) Running() []pace.Loop { return w.budget.Running() }

// Probing returns the number of running probes, tests by hand included.
func (w *Watcher) Probing() int64 { return w.Probes.Held() + w.tests.places.Held() }

// Waiting returns the number of probes that wait for a place.
func (w *Watcher) Waiting() int64 { return w.Probes.Waiting() + w.tests.places.Waiting() }

// Load returns how late the slots of this process are.
func (w *Watcher) Load() fleet.Load { return w.lateness.Load(w.Now()) }
