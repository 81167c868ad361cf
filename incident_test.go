package vigil_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"vigil"
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
		{"TwoOfThreeAreAMajority", vigil.DecisionInput{Rules: rule("majority"), Votes: []vigil.Vote{vote("a", r), vote("b", r), vote("c")}}, "open"},
		{"AllMeansAll", vigil.DecisionInput{Rules: rule("all"), Votes: []vigil.Vote{vote("a", r), vote("b")}}, ""},
		{"AllOfThoseThatVote", vigil.DecisionInput{Rules: rule("all"), Votes: []vigil.Vote{vote("a", r), vote("b", r)}}, "open"},
		{"AnOpenIncidentStays", vigil.DecisionInput{Rules: rule("any"), Votes: []vigil.Vote{vote("a", r)}, Open: true}, ""},
		{"ResolvesWhenNothingFires", vigil.DecisionInput{Rules: rule("any"), Votes: []vigil.Vote{vote("a")}, Open: true}, "resolve"},
		{"StaysWhileOneRegionFiresThoughThePolicyIsNotMet", vigil.DecisionInput{Rules: rule("all"), Votes: []vigil.Vote{vote("a", r), vote("b")}, Open: true}, ""},
		{"NothingChangesWithoutAVote", vigil.DecisionInput{Rules: rule("any"), Open: true}, ""},
		{"AVoteForADeletedRuleIsVoid", vigil.DecisionInput{Rules: rule("any"), Votes: []vigil.Vote{vote("a", other)}, Open: true}, "resolve"},
		{"ALatchKeepsTheEpisodeShut", vigil.DecisionInput{Rules: rule("any"), Votes: []vigil.Vote{vote("a", r)}, Latched: true}, ""},
		{"TheLatchOpensWhenEveryRegionWasQuiet", vigil.DecisionInput{Rules: rule("any"), Votes: []vigil.Vote{vote("a"), vote("b")}, Latched: true, Quiet: []string{"b"}}, "unlatch"},
		{"ARegionThatWasQuietOnceIsEnough", vigil.DecisionInput{Rules: rule("any"), Votes: []vigil.Vote{vote("a"), vote("b", r)}, Latched: true, Quiet: []string{"b"}}, "open unlatch"},
		{"ALatchWithoutVotesStays", vigil.DecisionInput{Rules: rule("any"), Latched: true}, ""},
		{"ADisabledCheckEndsItsIncident", vigil.DecisionInput{Rules: rule("any"), Votes: []vigil.Vote{vote("a", r)}, Open: true, Latched: false}, "remove"},
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
