// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/vigil-monitor/vigil"
)

func vote(region string, firing ...uuid.UUID) vigil.Vote {
	return vigil.Vote{Region: region, Revision: 1, Firing: firing}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	r, other := uuid.New(), uuid.New()
	rule := func(policy vigil.RegionPolicy) []vigil.RulePolicy { return []vigil.RulePolicy{{ID: r, Policy: policy}} }
	for _, test := range []struct {
		name string
		in   vigil.DecisionInput // of an enabled check, unless the name says otherwise
		want string              // of open, resolve, remove, unlatch
	}{
		{"OpensWhenARuleFires", vigil.DecisionInput{Rules: rule("any"), Votes: []vigil.Vote{vote("a", r)}}, "open"},
		{"OneOfTwoIsEnoughForAny", vigil.DecisionInput{Rules: rule("any"), Votes: []vigil.Vote{vote("a", r), vote("b")}}, "open"},
		{"HalfIsNoMajority", vigil.DecisionInput{Rules: rule("majority"), Votes: []vigil.Vote{vote("a", r), vote("b")}}, ""},
		{
			"TwoOfThreeAreAMajority",
			vigil.DecisionInput{Rules: rule("majority"), Votes: []vigil.Vote{vote("a", r), vote("b", r), vote("c")}},
			"open",
		},
		{"AllMeansAll", vigil.DecisionInput{Rules: rule("all"), Votes: []vigil.Vote{vote("a", r), vote("b")}}, ""},
		{"AllOfThoseThatVote", vigil.DecisionInput{Rules: rule("all"), Votes: []vigil.Vote{vote("a", r), vote("b", r)}}, "open"},
		{"AnOpenIncidentStays", vigil.DecisionInput{Rules: rule("any"), Votes: []vigil.Vote{vote("a", r)}, Open: true}, ""},
		{"ResolvesWhenNothingFires", vigil.DecisionInput{Rules: rule("any"), Votes: []vigil.Vote{vote("a")}, Open: true}, "resolve"},
		{
			"StaysWhileOneRegionFiresThoughThePolicyIsNotMet",
			vigil.DecisionInput{Rules: rule("all"), Votes: []vigil.Vote{vote("a", r), vote("b")}, Open: true},
			"",
		},
		{"NothingChangesWithoutAVote", vigil.DecisionInput{Rules: rule("any"), Open: true}, ""},
		{"AVoteForADeletedRuleIsVoid", vigil.DecisionInput{Rules: rule("any"), Votes: []vigil.Vote{vote("a", other)}, Open: true}, "resolve"},
		{"ALatchKeepsTheEpisodeShut", vigil.DecisionInput{Rules: rule("any"), Votes: []vigil.Vote{vote("a", r)}, Latched: true}, ""},
		{
			"TheLatchOpensWhenEveryRegionWasQuiet",
			vigil.DecisionInput{Rules: rule("any"), Votes: []vigil.Vote{vote("a"), vote("b")}, Latched: true, Quiet: []string{"b"}},
			"unlatch",
		},
		{
			"ARegionThatWasQuietOnceIsEnough",
			vigil.DecisionInput{Rules: rule("any"), Votes: []vigil.Vote{vote("a"), vote("b", r)}, Latched: true, Quiet: []string{"b"}},
			"open unlatch",
		},
		{"ALatchWithoutVotesStays", vigil.DecisionInput{Rules: rule("any"), Latched: true}, ""},
		{
			"ADisabledCheckEndsItsIncident",
			vigil.DecisionInput{Rules: rule("any"), Votes: []vigil.Vote{vote("a", r)}, Open: true, Latched: false},
			"remove",
		},
		{"ADisabledCheckOpensNone", vigil.DecisionInput{Rules: rule("any"), Votes: []vigil.Vote{vote("a", r)}, Latched: true}, "unlatch"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			in := test.in
			in.Enabled = !strings.HasPrefix(test.name, "ADisabledCheck")
			if got := outcome(vigil.Decide(in)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// outcome spells a decision out.
func outcome(d vigil.Decision) string {
	text := ""
	for _, part := range []struct {
		name string
		is   bool
	}{{"open", d.Open}, {"resolve", d.Resolve}, {"remove", d.Remove}, {"unlatch", d.Unlatch}} {
		if part.is && text != "" {
			text += " "
		}
		if part.is {
			text += part.name
		}
	}
	return text
}

// TestDecideOverEpisodes feeds random votes and keeps the books as the incident
// workflow does.
func TestDecideOverEpisodes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		regions := []string{"a", "b", "c"}
		rules := []vigil.RulePolicy{
			{ID: uuid.UUID{1}, Policy: rapid.SampledFrom([]vigil.RegionPolicy{"any", "majority", "all"}).Draw(t, "policy")},
			{ID: uuid.UUID{2}, Policy: vigil.AnyRegion},
		}
		votes := make(map[string]vigil.Vote)
		s := vigil.DecisionInput{Enabled: true, Rules: rules}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if s.Open && rapid.IntRange(0, 5).Draw(t, "by hand") == 0 {
				s.Open, s.Latched, s.Quiet = false, true, nil
			} else {
				region := rapid.SampledFrom(regions).Draw(t, "region")
				var firing []uuid.UUID
				for _, rule := range rules {
					if rapid.Bool().Draw(t, "fires") {
						firing = append(firing, rule.ID)
					}
				}
				votes[region] = vote(region, firing...)
			}
			s.Votes = nil
			anyFires := false
			for _, region := range regions {
				if v, ok := votes[region]; ok {
					s.Votes = append(s.Votes, v)
					anyFires = anyFires || len(v.Firing) > 0
				}
			}
			d := vigil.Decide(s)
			switch {
			case d.Open && (s.Open || !anyFires || s.Latched && !d.Unlatch):
				t.Fatalf("opened: %+v", s)
			case d.Resolve && (!s.Open || anyFires):
				t.Fatalf("resolved: %+v", s)
			case d.Open && d.Resolve, d.Unlatch && !s.Latched, d.Firing != anyFires:
				t.Fatalf("%+v for %+v", d, s)
			case d.Open != (len(d.Rules) > 0):
				t.Fatalf("open %v with the rules %v", d.Open, d.Rules)
			}
			if s.Latched {
				for _, v := range s.Votes {
					if len(v.Firing) == 0 && !slices.Contains(d.Quiet, v.Region) {
						t.Fatalf("%s is quiet and not among %v", v.Region, d.Quiet)
					}
				}
				s.Quiet = d.Quiet
			}
			s.Latched = s.Latched && !d.Unlatch
			s.Open = (s.Open || d.Open) && !d.Resolve
			if !s.Open && !s.Latched {
				if again := vigil.Decide(s); again.Open {
					t.Fatal("what should open has not")
				}
			}
		}
	})
}

func TestVoteNewerThan(t *testing.T) {
	t.Parallel()
	at := epoch()
	old := vigil.Vote{Revision: 2, Slot: at}
	for name, test := range map[string]struct {
		vote vigil.Vote
		want bool
	}{
		"LaterSlot":                 {vigil.Vote{Revision: 2, Slot: at.Add(time.Second)}, true},
		"NewerRevisionOfSameSlot":   {vigil.Vote{Revision: 3, Slot: at}, true},
		"OlderRevisionOfALaterSlot": {vigil.Vote{Revision: 1, Slot: at.Add(time.Second)}, false},
		"TheSame":                   {old, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.vote.NewerThan(old); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestLatch(t *testing.T) {
	t.Parallel()
	rule := uuid.New()
	rules := []vigil.RulePolicy{{ID: rule, Policy: vigil.AnyRegion}}

	t.Run("EndsInTwoStepsWhenRegionsRecoverOneAfterTheOther", func(t *testing.T) {
		t.Parallel()
		latched := vigil.DecisionInput{Enabled: true, Rules: rules, Latched: true, Votes: []vigil.Vote{vote("b", rule), vote("a")}}
		first := vigil.Decide(latched)
		if outcome(first) != "" || !slices.Equal(first.Quiet, []string{"a"}) || !first.Firing {
			t.Fatalf("after the first region recovered: %+v", first)
		}
		latched.Quiet, latched.Votes = first.Quiet, []vigil.Vote{vote("b"), vote("a")}
		if second := vigil.Decide(latched); outcome(second) != "unlatch" || !slices.Equal(second.Quiet, []string{"a", "b"}) {
			t.Errorf("after both recovered: %+v", second)
		}
	})

	t.Run("EndsAlthoughTheFirstRegionFailsAgain", func(t *testing.T) {
		t.Parallel()
		latched := vigil.DecisionInput{
			Enabled: true,
			Rules:   rules,
			Latched: true,
			Quiet:   []string{"a"},
			Votes:   []vigil.Vote{vote("a", rule), vote("b")},
		}
		d := vigil.Decide(latched)
		if outcome(d) != "open unlatch" || !slices.Equal(d.Quiet, []string{"a", "b"}) || !slices.Equal(d.Rules, []uuid.UUID{rule}) {
			t.Errorf("got %+v", d)
		}
	})

	t.Run("KeepsItsQuietRegionsWithoutVotes", func(t *testing.T) {
		t.Parallel()
		latched := vigil.DecisionInput{Enabled: true, Rules: rules, Latched: true, Quiet: []string{"a"}}
		if d := vigil.Decide(latched); outcome(d) != "" || !slices.Equal(d.Quiet, []string{"a"}) || d.Firing {
			t.Errorf("got %+v", d)
		}
	})

	t.Run("QuietRegionsAreSortedAndTheOnesBeforeStayUnchanged", func(t *testing.T) {
		t.Parallel()
		quiet := slices.Grow([]string{"m"}, 8)
		latched := vigil.DecisionInput{
			Enabled: true,
			Rules:   rules,
			Latched: true,
			Quiet:   quiet,
			Votes:   []vigil.Vote{vote("z"), vote("c"), vote("f", rule)},
		}
		if d := vigil.Decide(latched); !slices.Equal(d.Quiet, []string{"c", "m", "z"}) || d.Unlatch {
			t.Errorf("got %+v", d)
		}
		if !slices.Equal(quiet[:2:2], []string{"m", ""}) {
			t.Errorf("the caller's regions became %q", quiet[:3])
		}
	})

	t.Run("AVoteForADeletedRuleIsQuiet", func(t *testing.T) {
		t.Parallel()
		latched := vigil.DecisionInput{Enabled: true, Rules: rules, Latched: true, Votes: []vigil.Vote{vote("a", uuid.New())}}
		if d := vigil.Decide(latched); outcome(d) != "unlatch" || !slices.Equal(d.Quiet, []string{"a"}) {
			t.Errorf("got %+v", d)
		}
	})

	t.Run("NoLatchKeepsNoQuietRegions", func(t *testing.T) {
		t.Parallel()
		if d := vigil.Decide(vigil.DecisionInput{Enabled: true, Rules: rules, Votes: []vigil.Vote{vote("a")}}); len(d.Quiet) > 0 || d.Unlatch {
			t.Errorf("got %+v", d)
		}
	})
}

func TestDecisionNamesTheRulesThatOpen(t *testing.T) {
	t.Parallel()
	any, all := uuid.UUID{1}, uuid.UUID{2}
	s := vigil.DecisionInput{
		Enabled: true,
		Rules:   []vigil.RulePolicy{{ID: any, Policy: vigil.AnyRegion}, {ID: all, Policy: vigil.AllRegions}},
		Votes:   []vigil.Vote{vote("a", any, all), vote("b", any)},
	}
	if d := vigil.Decide(s); !d.Open || !d.Firing || !slices.Equal(d.Rules, []uuid.UUID{any}) {
		t.Errorf("got %+v", d)
	}
	s.Open = true
	if d := vigil.Decide(s); d.Open || !d.Firing || d.Rules != nil {
		t.Errorf("of an open incident: %+v", d)
	}
}

func TestIncidentIDs(t *testing.T) {
	t.Parallel()

	t.Run("IncidentIDNeverChanges", func(t *testing.T) {
		t.Parallel()
		// Stored incidents and recorded histories hold these.
		for episode, want := range map[int]string{1: "0d330ddc-dc2a-517c-924b-efd69fec7b56", 12: "45dd2d94-49d1-5829-8a21-099e5536fa55"} {
			if got := vigil.IncidentID("7b0c5f0e-4a51-4f0c-9df1-1f1a5c1d9a10", episode).String(); got != want {
				t.Errorf("episode %d is %s, want %s", episode, got, want)
			}
		}
	})

	t.Run("WorkflowIDNamesTheCheck", func(t *testing.T) {
		t.Parallel()
		check := uuid.MustParse("0b9a4d2e-3f57-4c55-9f0e-6f3a2d1c7b88")
		if got := vigil.IncidentWorkflowID(check); got != "incident/0b9a4d2e-3f57-4c55-9f0e-6f3a2d1c7b88" {
			t.Errorf("got %q", got)
		}
	})
}

func TestIncidentIsOpenUntilItIsResolved(t *testing.T) {
	t.Parallel()
	for status, want := range map[vigil.IncidentStatus]bool{"active": true, "acknowledged": true, "resolved": false} {
		if incident := (vigil.Incident{Status: status}); incident.Open() != want {
			t.Errorf("%s is open: %v, want %v", status, incident.Open(), want)
		}
	}
}
