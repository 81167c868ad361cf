// SPDX-License-Identifier: Apache-2.0

package workflows_test

import (
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/workflows"
)

// TestIncidentStates is the state table of the spec, section 3.
func TestIncidentStates(t *testing.T) {
	t.Parallel()
	const a, b, c = "a", "b", "c"
	type step func(e *incidentTest)
	fire := func(region string) step { return func(e *incidentTest) { e.vote(region, true) } }
	quiet := func(region string) step { return func(e *incidentTest) { e.vote(region, false) } }
	acknowledge := func(e *incidentTest) { e.update(workflows.UpdateAcknowledge, e.open(), "done") }
	resolve := func(e *incidentTest) { e.update(workflows.UpdateResolve, e.open(), "done") }
	for _, test := range []struct {
		name   string
		policy vigil.RegionPolicy
		steps  []step
		want   string
		lives  bool
	}{
		{"ARuleThatFiresOpensAnIncident", "any", []step{fire(a)}, "opened", true},
		{"ASecondFiringOpensNone", "any", []step{fire(a), fire(b), fire(a)}, "opened", true},
		{"RecoveryResolves", "any", []step{fire(a), quiet(a)}, "opened, resolved automatic", false},
		{"AcknowledgedAndRecovered", "any", []step{fire(a), acknowledge, quiet(a)}, "opened, acknowledged, resolved automatic", false},
		{"AcknowledgedTwiceIsOnce", "any", []step{fire(a), acknowledge, acknowledge}, "opened, acknowledged", true},
		{"RecoveryAloneDoesNotResolveWhileARuleFires", "any", []step{fire(a), fire(b), quiet(a)}, "opened", true},
		{"LastRegionResolves", "any", []step{fire(a), fire(b), quiet(a), quiet(b)}, "opened, resolved automatic", false},
		{"ResolvedByHandLatches", "any", []step{fire(a), resolve}, "opened, resolved manual", true},
		{"ResolvedByHandAfterAcknowledging", "any", []step{fire(a), acknowledge, resolve}, "opened, acknowledged, resolved manual", true},
		{"TheLatchHoldsWhileTheEpisodeLasts", "any", []step{fire(a), resolve, fire(a), fire(b)}, "opened, resolved manual", true},
		{"TheLatchEndsWithTheEpisode", "any", []step{fire(a), resolve, quiet(a)}, "opened, resolved manual, unlatched", false},
		{"EveryRegionMustHaveBeenQuiet", "any", []step{fire(a), fire(b), resolve, quiet(a), fire(a)}, "opened, resolved manual", true},
		{
			"ANewEpisodeOpensAnother", "any",
			[]step{fire(a), fire(b), resolve, quiet(a), fire(a), quiet(b)},
			"opened, resolved manual, unlatched, opened", true,
		},
		{"HalfIsNoMajority", "majority", []step{quiet(a), quiet(b), quiet(c), fire(a)}, "", true},
		{"MoreThanHalfIs", "majority", []step{quiet(a), quiet(b), quiet(c), fire(a), fire(b)}, "opened", true},
		{"AMajorityThatIsLostDoesNotResolve", "majority", []step{quiet(c), fire(a), fire(b), quiet(b)}, "opened", true},
		{"AllWaitsForAll", "all", []step{quiet(b), fire(a)}, "", true},
		{"AllIsMet", "all", []step{quiet(b), fire(a), fire(b)}, "opened", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := newIncidentTest(t, test.policy, a, b, c)
			for i, do := range test.steps {
				// What is no episode yet does not keep the workflow alive:
				// its votes come together.
				pause := time.Minute
				if test.policy != vigil.AnyRegion {
					pause = 0
				}
				e.at(time.Duration(i)*pause, func() { do(e) })
			}
			transitions, ended := e.run()
			if transitions != test.want || ended == test.lives {
				t.Errorf("transitions %q, ended %v; want %q, %v", transitions, ended, test.want, !test.lives)
			}
		})
	}
}
