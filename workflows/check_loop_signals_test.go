package workflows_test

import (
	"testing"
	"time"

	"vigil/workflows"
)

func TestCheckLoopGivesUpATurnForANewerRevisionAndIgnoresAnOlder(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	l.script = append(l.script, covered, gone)
	l.signal(10*time.Second, workflows.SignalReconfigure, int64(1))
	l.signal(20*time.Second, workflows.SignalReconfigure, int64(3))
	began := l.env.Now()
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	last := l.turns[len(l.turns)-1]
	if last.Revision != 3 || !last.Recover {
		t.Errorf("the turn after the signal has revision %d, recover %v; want 3, true", last.Revision, last.Recover)
	}
	if took := l.env.Now().Sub(began); took > 20*time.Second+l.holds+time.Second {
		t.Errorf("took %v: the turn was not given up", took)
	}
}

func TestCheckLoopStopsAtOnce(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	l.script = append(l.script, covered)
	l.signal(10*time.Second, workflows.SignalStop, nil)
	began := l.env.Now()
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	if took := l.env.Now().Sub(began); took >= l.holds {
		t.Errorf("took %v to stop, the turn held it", took)
	}
}

func TestCheckLoopStopCountsFromTheRevisionOn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		stop  any
		stops bool
	}{
		"Older": {int64(2), false}, "OwnRevision": {int64(3), true}, "Newer": {int64(4), true},
		"OfACheckThatIsGone": {int64(0), true}, "WithoutARevision": {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLoopTest(t)
			l.input.Revision = 3
			l.script = append(l.script, covered, gone)
			l.signal(10*time.Second, workflows.SignalStop, test.stop)
			began := l.env.Now()
			if err := l.run(); err != nil {
				t.Fatal(err)
			}
			if took := l.env.Now().Sub(began); took < l.holds != test.stops {
				t.Errorf("ran for %v", took)
			}
		})
	}
}

func TestCheckLoopOfStopsAndRevisionsThatComeTogetherTheNewestCounts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		stop   any
		goesOn bool
	}{"AddedAgain": {int64(2), true}, "AddedAgainAfterAStopWithoutARevision": {nil, true}, "RemovedOnceMore": {int64(4), false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLoopTest(t)
			l.script = append(l.script, gone)
			l.env.RegisterDelayedCallback(func() {
				l.env.SignalWorkflowSkippingWorkflowTask(workflows.SignalStop, test.stop)
				l.env.SignalWorkflow(workflows.SignalReconfigure, int64(3))
			}, 10*time.Second)
			if err := l.run(); err != nil {
				t.Fatal(err)
			}
			// The turn that was under way is given up either way.
			if goesOn := len(l.turns) > 0; goesOn != test.goesOn {
				t.Errorf("goes on: %v", goesOn)
			}
		})
	}
}
