// SPDX-License-Identifier: Apache-2.0

package workflows_test

import (
	"testing"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/vigil-monitor/vigil/workflows"
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
		"Older": {int64(2), false}, "Oldest": {int64(1), false}, "OwnRevision": {int64(3), true}, "Newer": {int64(4), true},
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
			l.together(10*time.Second, loopSignal{workflows.SignalStop, test.stop}, loopSignal{workflows.SignalReconfigure, int64(3)})
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

func TestCheckLoopKeepsATurnForARevisionThatItHas(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	l.input.Revision = 3
	l.script = append(l.script, gone)
	l.signal(10*time.Second, workflows.SignalReconfigure, int64(3))
	l.signal(20*time.Second, workflows.SignalReconfigure, int64(2))
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	if n := len(l.env.named("Watch")); n != 1 || l.turns[0].Revision != 3 {
		t.Errorf("%d turns began, want the first to end", n)
	}
}

func TestCheckLoopCancelsATurnThatItGivesUp(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	canceled := 0
	l.env.SetOnActivityCanceledListener(func(*activity.Info) { canceled++ })
	l.script = append(l.script, gone)
	l.signal(10*time.Second, workflows.SignalNudge, nil)
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	if n := len(l.env.named("Watch")); n != 2 || canceled != 1 {
		t.Errorf("%d of %d turns were canceled, want the first of two", canceled, n)
	}
}

func TestCheckLoopPauseEndsWithASignal(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	canceled := 0
	l.env.SetOnTimerCanceledListener(func(string) { canceled++ })
	l.script = append(l.script, failing, failing, failing, gone)
	// The third pause is of four seconds.
	l.signal(3*l.holds+4*time.Second, workflows.SignalNudge, nil)
	began := l.env.Now()
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	if took := seconds(l.env.Now().Sub(began)); took != 4*l.holds+4*time.Second || canceled != 1 {
		t.Errorf("took %v and canceled %d timers, want 4m4s and one", took, canceled)
	}
}

// A loop that is stopped and enabled again while it reports a vote may have
// missed rows that the nudge is about.
func TestCheckLoopTakesEverySignalThatWaitsWhenItIsStopped(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	l.reporting = time.Minute
	l.script = append(l.script, covered, gone)
	l.together(l.holds+10*time.Second, loopSignal{workflows.SignalStop, nil},
		loopSignal{workflows.SignalNudge, nil}, loopSignal{workflows.SignalReconfigure, int64(9)})
	if err := l.run(); err != nil {
		t.Fatal(err)
	}
	if len(l.turns) != 2 || l.turns[1].Revision != 9 || !l.turns[1].Recover {
		t.Errorf("turns %+v: want a second one of revision 9 that recovers", l.turns)
	}
}

func TestCheckLoopOfTwoStopsTheNewestCounts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		stops  []any
		goesOn bool
	}{
		"ANewerOneWaits":             {[]any{int64(2), int64(4)}, false},
		"AnOlderOneWaits":            {[]any{int64(4), int64(2)}, false},
		"BothAreOlderThanTheRegion":  {[]any{int64(2), int64(1)}, true},
		"TheSecondNamesNoRevision":   {[]any{int64(2), nil}, true},
		"ANewerOneBeforeOneWithNone": {[]any{int64(4), nil}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLoopTest(t)
			l.script = append(l.script, gone)
			l.together(10*time.Second, loopSignal{workflows.SignalStop, test.stops[0]},
				loopSignal{workflows.SignalStop, test.stops[1]}, loopSignal{workflows.SignalReconfigure, int64(3)})
			if err := l.run(); err != nil {
				t.Fatal(err)
			}
			if goesOn := len(l.turns) > 0; goesOn != test.goesOn {
				t.Errorf("goes on: %v", goesOn)
			}
		})
	}
}
