package workflows_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"vigil"
	"vigil/activities"
	"vigil/workflows"
)

// episode runs the workflow of a check's incidents in skipped time. It is the
// store of the workflow's activities, in memory: what Postgres makes of the same
// calls is tested there.
type episode struct {
	*testing.T
	env      *testsuite.TestWorkflowEnvironment
	input    workflows.IncidentInput
	standing vigil.IncidentContext
	gone     bool
	rule     uuid.UUID
	slot     time.Time
	// story is what happened, in order: opened, acknowledged, resolved
	// automatic, latched, unlatched.
	story []string
	ids   []uuid.UUID
	// trouble fails the next calls of the store.
	trouble int
	// busy is called when an incident was opened or resolved, before the
	// workflow knows.
	busy func()
	// read is called when the standing was read, before the workflow knows.
	read func()
}

func newEpisode(t *testing.T, policy vigil.RegionPolicy, regions ...string) *episode {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	e := &episode{T: t, env: suite.NewTestWorkflowEnvironment(), rule: uuid.New()}
	e.input.CheckID = uuid.New()
	e.slot = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	e.standing = vigil.IncidentContext{Enabled: true, Revision: 1, Rules: []vigil.RulePolicy{{ID: e.rule, Policy: policy}}}
	for _, region := range regions {
		e.standing.Regions = append(e.standing.Regions, vigil.RegionVote{Region: region})
	}
	e.busy, e.read = func() {}, func() {}
	e.env.SetTestTimeout(time.Minute)
	e.env.RegisterWorkflow(workflows.Incident)
	acts := activities.NewIncidents(activities.IncidentsOptions{Store: e, Deliveries: e, Log: slog.New(slog.DiscardHandler)})
	for name, act := range map[string]any{
		"Survey": acts.ReadContext, "Open": acts.Open, "Acknowledge": acts.Acknowledge, "Resolve": acts.Resolve, "KeepLatch": acts.KeepLatch,
	} {
		e.env.RegisterActivityWithOptions(act, activity.RegisterOptions{Name: name})
	}
	return e
}

func (e *episode) IncidentContext(context.Context, uuid.UUID) (vigil.IncidentContext, error) {
	if e.gone {
		return vigil.IncidentContext{}, vigil.NotFound("check")
	}
	out := e.standing
	out.Regions = slices.Clone(out.Regions)
	e.read()
	return out, e.fail()
}

func (e *episode) fail() error {
	if e.trouble > 0 {
		e.trouble--
		return errors.New("postgres is away")
	}
	return nil
}

func (e *episode) OpenIncident(_ context.Context, opening vigil.OpenRequest) (vigil.IncidentOutcome, error) {
	if err := e.fail(); err != nil {
		return vigil.IncidentOutcome{}, err
	}
	if e.standing.Incident == nil {
		e.story = append(e.story, "opened")
		e.ids = append(e.ids, opening.ID)
		e.standing.Incident = &vigil.IncidentHead{ID: opening.ID, Status: vigil.IncidentActive}
		e.busy()
	}
	return vigil.IncidentOutcome{Incident: *e.standing.Incident}, nil
}

func (e *episode) AcknowledgeIncident(context.Context, uuid.UUID, string, string) (vigil.IncidentOutcome, error) {
	if e.standing.Incident.Status == vigil.IncidentActive {
		e.story = append(e.story, "acknowledged")
	}
	e.standing.Incident.Status = vigil.IncidentAcknowledged
	return vigil.IncidentOutcome{Incident: *e.standing.Incident}, nil
}

func (e *episode) ResolveIncident(_ context.Context, closing vigil.ResolveRequest) (vigil.IncidentOutcome, error) {
	if err := e.fail(); err != nil {
		return vigil.IncidentOutcome{}, err
	}
	e.story = append(e.story, "resolved "+string(closing.Resolution))
	e.standing.Incident = nil
	if closing.Latch {
		e.standing.Latch = &vigil.Latch{IncidentID: closing.ID, Quiet: closing.Quiet}
	}
	e.busy()
	return vigil.IncidentOutcome{Incident: vigil.IncidentHead{ID: closing.ID, Status: vigil.IncidentResolved}}, nil
}

func (e *episode) KeepLatch(_ context.Context, id uuid.UUID, quiet []string, over bool) error {
	e.standing.Latch = &vigil.Latch{IncidentID: id, Quiet: quiet}
	if over {
		e.standing.Latch = nil
		e.story = append(e.story, "unlatched")
	}
	return nil
}

func (e *episode) Send(context.Context, vigil.PendingDelivery) error { return nil }

// at runs something at an instant after the start.
func (e *episode) at(after time.Duration, do func()) { e.env.RegisterDelayedCallback(do, after) }

// vote lets a region say whether the rule fires, as its loop does: the row first.
func (e *episode) vote(region string, fires bool) {
	e.env.SignalWorkflow(workflows.SignalVote, e.store(region, fires))
}

// store is a vote whose loop has died before it told it.
func (e *episode) store(region string, fires bool) vigil.Vote {
	e.slot = e.slot.Add(time.Second)
	vote := vigil.Vote{Region: region, Revision: e.standing.Revision, Slot: e.slot}
	if fires {
		vote.Firing = []uuid.UUID{e.rule}
	}
	for i := range e.standing.Regions {
		if r := &e.standing.Regions[i]; r.Region == region {
			r.Voted, r.Vote, r.Silent = true, vote, false
		}
	}
	return vote
}

func (e *episode) look() { e.env.SignalWorkflow(workflows.SignalRefresh, nil) }

// update asks something of the open incident, or of the one given.
func (e *episode) update(name string, id uuid.UUID, want string) {
	got := ""
	e.env.UpdateWorkflow(name, uuid.NewString(), &testsuite.TestUpdateCallback{
		OnAccept: func() {},
		OnReject: func(error) { got = "rejected" },
		OnComplete: func(_ any, err error) {
			if got = "done"; err != nil {
				got = "failed"
			}
			if got != want {
				e.Errorf("%s was %s, want %s: %v", name, got, want, err)
			}
		},
	}, workflows.Request{IncidentID: id, By: "ada"})
	if got == "rejected" && want != "rejected" {
		e.Errorf("%s was rejected", name)
	}
}

func (e *episode) open() uuid.UUID {
	if e.standing.Incident == nil {
		e.Error("no incident is open")
		return uuid.Nil
	}
	return e.standing.Incident.ID
}

// run runs the workflow until nothing happens any more, and returns the story
// and whether it has ended.
func (e *episode) run() (string, bool) {
	e.Helper()
	e.env.RegisterDelayedCallback(e.env.CancelWorkflow, 1000*time.Hour)
	e.env.ExecuteWorkflow(workflows.Incident, e.input)
	err := e.env.GetWorkflowError()
	if err != nil && !strings.Contains(err.Error(), "cancel") {
		e.Fatal(err)
	}
	return strings.Join(e.story, ", "), err == nil
}

// TestIncidentStates is the state table of the spec, section 3.
func TestIncidentStates(t *testing.T) {
	t.Parallel()
	const a, b, c = "a", "b", "c"
	type step func(e *episode)
	fire := func(region string) step { return func(e *episode) { e.vote(region, true) } }
	calm := func(region string) step { return func(e *episode) { e.vote(region, false) } }
	acknowledge := func(e *episode) { e.update(workflows.UpdateAcknowledge, e.open(), "done") }
	resolve := func(e *episode) { e.update(workflows.UpdateResolve, e.open(), "done") }
	for _, test := range []struct {
		name   string
		policy vigil.RegionPolicy
		steps  []step
		want   string
		lives  bool
	}{
		{"ARuleThatFiresOpensAnIncident", "any", []step{fire(a)}, "opened", true},
		{"ASecondFiringOpensNone", "any", []step{fire(a), fire(b), fire(a)}, "opened", true},
		{"RecoveryResolves", "any", []step{fire(a), calm(a)}, "opened, resolved automatic", false},
		{"AcknowledgedAndRecovered", "any", []step{fire(a), acknowledge, calm(a)}, "opened, acknowledged, resolved automatic", false},
		{"AcknowledgedTwiceIsOnce", "any", []step{fire(a), acknowledge, acknowledge}, "opened, acknowledged", true},
		{"RecoveryAloneDoesNotResolveWhileARuleFires", "any", []step{fire(a), fire(b), calm(a)}, "opened", true},
		{"LastRegionResolves", "any", []step{fire(a), fire(b), calm(a), calm(b)}, "opened, resolved automatic", false},
		{"ResolvedByHandLatches", "any", []step{fire(a), resolve}, "opened, resolved manual", true},
		{"ResolvedByHandAfterAcknowledging", "any", []step{fire(a), acknowledge, resolve}, "opened, acknowledged, resolved manual", true},
		{"TheLatchHoldsWhileTheEpisodeLasts", "any", []step{fire(a), resolve, fire(a), fire(b)}, "opened, resolved manual", true},
		{"TheLatchEndsWithTheEpisode", "any", []step{fire(a), resolve, calm(a)}, "opened, resolved manual, unlatched", false},
		{"EveryRegionMustHaveBeenQuiet", "any", []step{fire(a), fire(b), resolve, calm(a), fire(a)}, "opened, resolved manual", true},
		{"ANewEpisodeOpensAnother", "any", []step{fire(a), fire(b), resolve, calm(a), fire(a), calm(b)}, "opened, resolved manual, unlatched, opened", true},
		{"HalfIsNoMajority", "majority", []step{calm(a), calm(b), calm(c), fire(a)}, "", true},
		{"MoreThanHalfIs", "majority", []step{calm(a), calm(b), calm(c), fire(a), fire(b)}, "opened", true},
		{"AMajorityThatIsLostDoesNotResolve", "majority", []step{calm(c), fire(a), fire(b), calm(b)}, "opened", true},
		{"AllWaitsForAll", "all", []step{calm(b), fire(a)}, "", true},
		{"AllIsMet", "all", []step{calm(b), fire(a), fire(b)}, "opened", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := newEpisode(t, test.policy, a, b, c)
			for i, do := range test.steps {
				// What is no episode yet does not keep the workflow alive:
				// its votes come together.
				pause := time.Minute
				if test.policy != vigil.AnyRegion {
					pause = 0
				}
				e.at(time.Duration(i)*pause, func() { do(e) })
			}
			story, ended := e.run()
			if story != test.want || ended == test.lives {
				t.Errorf("story %q, ended %v; want %q, %v", story, ended, test.want, !test.lives)
			}
		})
	}
}

func TestIncident(t *testing.T) {
	t.Parallel()

	t.Run("HearsAnEpisodeThatWasOverBeforeItLooked", func(t *testing.T) {
		t.Parallel()
		e := newEpisode(t, vigil.AnyRegion, "a")
		e.at(0, func() { e.vote("a", true); e.vote("a", false) })
		if story, ended := e.run(); story != "opened, resolved automatic" || !ended {
			t.Errorf("story %q, ended %v", story, ended)
		}
	})

	t.Run("TakesStoredVotesWhenItIsOnlyToldToLook", func(t *testing.T) {
		t.Parallel()
		e := newEpisode(t, vigil.AnyRegion, "a")
		e.store("a", true)
		e.at(0, e.look)
		if story, ended := e.run(); story != "opened" || ended {
			t.Errorf("story %q, ended %v", story, ended)
		}
	})

	t.Run("ResolvesAnIncidentWhoseWorkflowWasLost", func(t *testing.T) {
		t.Parallel()
		e := newEpisode(t, vigil.AnyRegion, "a")
		e.standing.Incident = &vigil.IncidentHead{ID: uuid.New(), Status: vigil.IncidentAcknowledged}
		e.store("a", false)
		e.at(0, e.look)
		if story, ended := e.run(); story != "resolved automatic" || !ended {
			t.Errorf("story %q, ended %v", story, ended)
		}
	})

	t.Run("ALatchThatWasLostStaysLatched", func(t *testing.T) {
		t.Parallel()
		e := newEpisode(t, vigil.AnyRegion, "a")
		e.standing.Latch = &vigil.Latch{IncidentID: uuid.New()}
		e.store("a", true)
		e.at(0, e.look)
		e.at(time.Hour, func() { e.vote("a", true) })
		if story, ended := e.run(); story != "" || ended {
			t.Errorf("story %q, ended %v", story, ended)
		}
	})

	t.Run("ASilentRegionHoldsNothing", func(t *testing.T) {
		t.Parallel()
		e := newEpisode(t, vigil.AnyRegion, "a", "b")
		e.at(0, func() { e.vote("a", true); e.vote("b", false) })
		e.at(time.Hour, func() { e.standing.Regions[0].Silent = true; e.look() })
		if story, ended := e.run(); story != "opened, resolved automatic" || !ended {
			t.Errorf("story %q, ended %v", story, ended)
		}
	})

	t.Run("AVoteThatComesWhileItsRegionIsReadAsSilentCounts", func(t *testing.T) {
		t.Parallel()
		e := newEpisode(t, vigil.AnyRegion, "a")
		e.standing.Regions[0].Silent = true
		e.read = func() {
			e.read = func() {}
			e.vote("a", true)
		}
		e.at(0, e.look)
		if story, ended := e.run(); story != "opened" || ended {
			t.Errorf("story %q, ended %v", story, ended)
		}
	})

	t.Run("NothingChangesWhenAllAreSilent", func(t *testing.T) {
		t.Parallel()
		e := newEpisode(t, vigil.AnyRegion, "a")
		e.at(0, func() { e.vote("a", true) })
		e.at(time.Hour, func() { e.standing.Regions[0].Silent = true; e.look() })
		if story, ended := e.run(); story != "opened" || ended {
			t.Errorf("story %q, ended %v", story, ended)
		}
	})

	t.Run("ARemovedRegionHoldsNothing", func(t *testing.T) {
		t.Parallel()
		e := newEpisode(t, vigil.AnyRegion, "a", "b")
		e.at(0, func() { e.vote("a", true); e.vote("b", false) })
		e.at(time.Hour, func() { e.standing.Regions = e.standing.Regions[1:]; e.look() })
		if story, ended := e.run(); story != "opened, resolved automatic" || !ended {
			t.Errorf("story %q, ended %v", story, ended)
		}
	})

	t.Run("ADisabledCheckEndsItsIncident", func(t *testing.T) {
		t.Parallel()
		e := newEpisode(t, vigil.AnyRegion, "a")
		e.at(0, func() { e.vote("a", true) })
		e.at(time.Hour, func() { e.standing.Enabled, e.standing.Regions = false, nil; e.look() })
		if story, ended := e.run(); story != "opened, resolved check_removed" || !ended {
			t.Errorf("story %q, ended %v", story, ended)
		}
	})

	t.Run("ADeletedCheckEndsTheWorkflow", func(t *testing.T) {
		t.Parallel()
		e := newEpisode(t, vigil.AnyRegion, "a")
		e.at(0, func() { e.vote("a", true) })
		e.at(time.Hour, func() { e.gone = true; e.look() })
		if story, ended := e.run(); story != "opened" || !ended {
			t.Errorf("story %q, ended %v", story, ended)
		}
	})

	t.Run("ADeletedRuleResolves", func(t *testing.T) {
		t.Parallel()
		e := newEpisode(t, vigil.AnyRegion, "a")
		e.at(0, func() { e.vote("a", true) })
		e.at(time.Hour, func() { e.standing.Rules = nil; e.look() })
		if story, ended := e.run(); story != "opened, resolved automatic" || !ended {
			t.Errorf("story %q, ended %v", story, ended)
		}
	})

	t.Run("AnOlderVoteChangesNothing", func(t *testing.T) {
		t.Parallel()
		e := newEpisode(t, vigil.AnyRegion, "a")
		late := e.store("a", false)
		e.at(0, func() { e.vote("a", true) })
		e.at(time.Hour, func() { e.env.SignalWorkflow(workflows.SignalVote, late) })
		if story, ended := e.run(); story != "opened" || ended {
			t.Errorf("story %q, ended %v", story, ended)
		}
	})

	t.Run("WaitsOutAStoreThatIsAway", func(t *testing.T) {
		t.Parallel()
		e := newEpisode(t, vigil.AnyRegion, "a")
		e.trouble = 5
		e.at(0, func() { e.vote("a", true) })
		e.at(time.Hour, func() { e.trouble = 5; e.vote("a", false) })
		if story, ended := e.run(); story != "opened, resolved automatic" || !ended {
			t.Errorf("story %q, ended %v", story, ended)
		}
	})

	t.Run("RefusesWhatIsNotAboutTheOpenIncident", func(t *testing.T) {
		t.Parallel()
		e := newEpisode(t, vigil.AnyRegion, "a")
		e.at(0, func() { e.vote("a", true) })
		e.at(time.Minute, func() { e.update(workflows.UpdateResolve, uuid.New(), "rejected") })
		e.at(time.Hour, func() { e.update(workflows.UpdateAcknowledge, uuid.Nil, "rejected") })
		if story, _ := e.run(); story != "opened" {
			t.Errorf("story %q", story)
		}
	})

	t.Run("GivesEveryEpisodeAnIDOfItsOwn", func(t *testing.T) {
		t.Parallel()
		e := newEpisode(t, vigil.AnyRegion, "a", "b")
		e.at(0, func() { e.vote("a", true); e.vote("b", true) })
		for i := range 20 {
			at := time.Duration(i+1) * time.Hour
			e.at(at, func() { e.update(workflows.UpdateResolve, e.open(), "done") })
			e.at(at+time.Minute, func() { e.vote("a", false); e.vote("a", true); e.vote("b", false); e.vote("b", true) })
		}
		if story, _ := e.run(); strings.Count(story, "opened") != 21 {
			t.Fatalf("story %q", story)
		}
		slices.SortFunc(e.ids, vigil.CompareIDs)
		if n := len(slices.Compact(e.ids)); n != 21 {
			t.Errorf("21 incidents with %d ids", n)
		}
	})
}
