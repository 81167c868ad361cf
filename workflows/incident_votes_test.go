// SPDX-License-Identifier: Apache-2.0

package workflows_test

import (
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/workflows"
)

func TestIncidentOpensAndResolvesAnEpisodeThatEndsBeforeTheContextIsRead(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	e.at(0, func() { e.vote("a", true); e.vote("a", false) })
	if transitions, ended := e.run(); transitions != "opened, resolved automatic" || !ended {
		t.Errorf("transitions %q, ended %v", transitions, ended)
	}
}

func TestIncidentTakesStoredVotesOnALookSignal(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	e.store("a", true)
	e.at(0, e.look)
	if transitions, ended := e.run(); transitions != "opened" || ended {
		t.Errorf("transitions %q, ended %v", transitions, ended)
	}
}

func TestIncidentCountsAVoteThatArrivesWhileItsRegionIsReadAsSilent(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	e.standing.Regions[0].Silent = true
	e.read = func() {
		e.read = func() {}
		e.vote("a", true)
	}
	e.at(0, e.look)
	if transitions, ended := e.run(); transitions != "opened" || ended {
		t.Errorf("transitions %q, ended %v", transitions, ended)
	}
}

func TestIncidentIgnoresAnOlderVote(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	late := e.store("a", false)
	e.at(0, func() { e.vote("a", true) })
	e.at(time.Hour, func() { e.env.SignalWorkflow(workflows.SignalVote, late) })
	if transitions, ended := e.run(); transitions != "opened" || ended {
		t.Errorf("transitions %q, ended %v", transitions, ended)
	}
}

func TestIncidentCountsAVoteThatArrivesWhileTheContextIsRead(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a", "b")
	e.store("a", false)
	e.store("b", false)
	e.read = func() { // in the workflow task, where it is found that no vote is known
		e.read = func() {
			e.read = func() {}
			e.vote("a", true)
		}
	}
	e.at(0, e.look)
	if transitions, ended := e.run(); transitions != "opened" || ended || e.reads != 2 {
		t.Errorf("transitions %q, ended %v, read %d times", transitions, ended, e.reads)
	}
}

// The rows that are read have the newest vote of a region only.
func TestIncidentOpensForAnEpisodeThatBeginsAndEndsBeforeTheRowsAreRead(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a")
	e.store("a", false)
	e.reading = func() {
		e.reading = func() {}
		e.vote("a", true)
		e.vote("a", false)
	}
	e.at(0, e.look)
	if transitions, ended := e.run(); transitions != "opened, resolved automatic" || !ended {
		t.Errorf("transitions %q, ended %v", transitions, ended)
	}
}

func TestIncidentHealsALostVoteWhenItLooks(t *testing.T) {
	t.Parallel()
	e := newIncidentTest(t, vigil.AnyRegion, "a", "b")
	e.at(0, func() { e.vote("a", true); e.vote("b", false) })
	e.at(time.Hour, func() { e.store("a", false) })
	e.at(2*time.Hour, func() {
		if got := strings.Join(e.transitions, ", "); got != "opened" {
			t.Errorf("transitions %q before the look", got)
		}
		e.look()
	})
	if transitions, ended := e.run(); transitions != "opened, resolved automatic" || !ended {
		t.Errorf("transitions %q, ended %v", transitions, ended)
	}
}

func TestIncidentReadsTheContextAgainOnlyForASurprisingVote(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(e *incidentTest)
		reads  int
	}{
		"OfAKnownRegion": {func(e *incidentTest) { e.vote("b", true) }, 1},
		"OfAnAddedRegion": {func(e *incidentTest) {
			e.standing.Regions = append(e.standing.Regions, vigil.RegionVote{Region: "c"})
			e.vote("c", true)
		}, 2},
		"OfANewerRevision": {func(e *incidentTest) { e.standing.Revision = 2; e.vote("a", true) }, 2},
		"OfASilentRegion": {func(e *incidentTest) {
			e.standing.Regions[1].Silent = true
			e.look()
			e.at(time.Minute, func() { e.vote("b", false) })
		}, 3},
		"OfTheFirstRegion":    {func(e *incidentTest) { e.vote("a", true) }, 1},
		"WithoutAnyVoteAtAll": {func(e *incidentTest) { e.look() }, 2},
		"OfAnOlderRevision": {func(e *incidentTest) {
			vote := e.store("a", true)
			vote.Revision = 0
			e.env.SignalWorkflow(workflows.SignalVote, vote)
		}, 1},
		"OfARegionThatIsGone":  {func(e *incidentTest) { e.vote("z", true) }, 2},
		"WithoutAnyNewsAtHand": {func(*incidentTest) {}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newIncidentTest(t, vigil.AnyRegion, "a", "b")
			e.at(0, func() { e.vote("a", true); e.vote("b", true) })
			e.at(time.Hour, func() { test.change(e) })
			if transitions, ended := e.run(); transitions != "opened" || ended || e.reads != test.reads {
				t.Errorf("transitions %q, ended %v, read %d times, want %d", transitions, ended, e.reads, test.reads)
			}
		})
	}
}

// Half of the regions must not decide alone because their votes come first.
func TestIncidentDecidesWithEveryVoteThatIsKnown(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(e *incidentTest){
		"TheOtherWaits":    func(e *incidentTest) { e.vote("a", true); e.vote("b", false) },
		"TheOtherIsStored": func(e *incidentTest) { e.store("b", false); e.vote("a", true) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newIncidentTest(t, vigil.AllRegions, "a", "b")
			e.at(0, func() { begin(e) })
			if transitions, ended := e.run(); transitions != "" || ended {
				t.Errorf("transitions %q, ended %v", transitions, ended)
			}
		})
	}
}
