// SPDX-License-Identifier: Apache-2.0

package backtest

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/maintenance"
)

// Limits of a backtest.
const (
	// MaxRules is how many rules one backtest compares.
	MaxRules = 2
	// MaxResults bounds the results that one backtest reads.
	MaxResults = 2_000_000
	// MaxIncidents bounds the incidents that the report of a rule lists; its totals
	// count all.
	MaxIncidents = 500
	// FlapGap is the time within which an incident that opens after another counts as a flap.
	FlapGap = 10 * time.Minute
	// MaxChecks is over how many checks one backtest goes.
	MaxChecks = 50
)

// Input is what a backtest replays. The results themselves come row by row.
type Input struct {
	Rules []vigil.Rule // at most MaxRules; each is judged as if it were the only one
	// Regions are those of the check. Results of another region are passed over: its vote
	// would not count today.
	Regions []string
	// Silence is how long after a slot a region without a newer result has a vote.
	Silence time.Duration
	// Maintenance are spans in which no incident opens, by their start.
	Maintenance []maintenance.Occurrence
	// From and To bound the report: [From, To). Results before From only warm the state up.
	From, To time.Time
}

// ReplayExtent is how much a backtest reads.
type ReplayExtent struct {
	Results int64     // stored in the period, to the hour
	Missed  int64     // slots of the period without a result
	Oldest  time.Time // slot of the check's oldest stored result; zero without one
	Changed time.Time // when the schedule of the check changed last, in one of its regions
}

// Row is a stored result of a region.
type Row struct {
	Region string
	Result vigil.Result
}

// Incident is an incident that a rule would have opened. Times are those of slots.
type Incident struct {
	OpenedAt time.Time
	// ResolvedAt is zero for an incident that is open at the end of the period.
	ResolvedAt time.Time
	// OpenBefore: the incident was open when the period began.
	OpenBefore bool
	// Regions in which the rule fired when the incident opened, sorted.
	Regions []string
	Keys    []string  // of the condition that matched in the leading region
	Trigger uuid.UUID // the result that opened it; zero when a region became silent
	// Detection is how long the rule needed: from the first result of the leading region's
	// failure streak to the opening; 0 for a trigger that succeeded.
	Detection time.Duration
}

// Open reports whether the incident is open at an instant.
func (i *Incident) Open(at time.Time) bool {
	return !at.Before(i.OpenedAt) && (i.ResolvedAt.IsZero() || at.Before(i.ResolvedAt))
}

// Report is what one rule would have done.
type Report struct {
	Incidents []Incident // at most MaxIncidents, oldest first
	Total     int
	Opened    int // messages of an opening, for each channel: incidents that opened in the period
	Recovered int // messages of a recovery: incidents that resolved in the period
	// TimeOpen is the sum of their lengths within the period.
	TimeOpen          time.Duration
	Longest, Shortest time.Duration
	Flaps             int // incidents that opened within FlapGap of the end of the one before
}

// Pages returns how many messages a channel of a rule would have received.
func (r *Report) Pages(on vigil.NotifyOn) int {
	pages := 0
	if on.Opening() {
		pages += r.Opened
	}
	if on.Recovery() {
		pages += r.Recovered
	}
	return pages
}

// Run replays stored results, in the order of their slots, through the functions that
// judge live ones (Evaluate and Decide), for each rule alone. It returns a report for each
// rule, in their order, and how many rows lie in the period. Only what people did is not
// replayed: acknowledgements, and incidents resolved by hand.
func Run(in Input, rows iter.Seq2[Row, error]) ([]Report, int, error) {
	replays := make([]*replay, len(in.Rules))
	for i := range in.Rules {
		replays[i] = newReplay(&in, in.Rules[i])
	}
	count := 0
	for row, err := range rows {
		if err != nil {
			return nil, 0, err
		}
		if !row.Result.Slot.Before(in.To) {
			break
		}
		if !row.Result.Slot.Before(in.From) {
			if count++; count > MaxResults {
				return nil, 0, vigil.Invalid("from", "the period has more than %d results, the limit of one backtest; choose a shorter period",
					MaxResults)
			}
		}
		for _, r := range replays {
			r.add(row)
		}
	}
	reports := make([]Report, len(replays))
	for i, r := range replays {
		reports[i] = r.finish()
	}
	return reports, count, nil
}

// replay is the state of one rule while rows come.
type replay struct {
	in       *Input
	rules    []vigil.Rule
	policies []vigil.RulePolicy
	regions  map[string]*replayRegion
	now      time.Time // of the newest event
	started  bool      // From has passed
	open     *Incident
	ended    time.Time // of the last incident
	report   Report
}

// replayRegion is what is known of a region.
type replayRegion struct {
	state  vigil.State
	vote   vigil.Vote
	silent bool
	streak time.Time // slot of the first failure of the streak
}

func newReplay(in *Input, rule vigil.Rule) *replay {
	rule.Enabled = true
	r := &replay{in: in, rules: []vigil.Rule{rule}, policies: []vigil.RulePolicy{{ID: rule.ID, Policy: rule.Policy}}}
	r.regions = make(map[string]*replayRegion, len(in.Regions))
	return r
}

// add folds a row.
func (r *replay) add(row Row) {
	if !slices.Contains(r.in.Regions, row.Region) {
		return
	}
	slot := row.Result.Slot
	// What happens at the same instant as a result comes after it: it may make it void.
	r.advance(slot.Add(-1))
	if slot.Equal(r.in.From) && !r.started {
		r.decide(slot, uuid.Nil)
	}
	region := r.regions[row.Region]
	if region == nil {
		region = &replayRegion{}
		r.regions[row.Region] = region
	}
	if !slot.After(region.state.Slot) {
		return
	}
	before := region.state
	first := before.Slot.IsZero()
	region.state, _ = vigil.Evaluate(r.rules, before, row.Result)
	if region.state.Failures == 1 {
		region.streak = slot
	}
	back := region.silent
	region.silent = false
	if first || back || !before.SameFiring(region.state) {
		region.vote = vigil.Vote{
			Region:   row.Region,
			Slot:     slot,
			Failures: region.state.Failures,
			Firing:   region.state.Firing,
			Matches:  region.state.Matches,
		}
		r.decide(slot, row.Result.ID)
	}
}

// advance moves the clock to an instant: regions become silent, maintenance ends and the
// period begins before it, each at its own time.
func (r *replay) advance(to time.Time) {
	for {
		at, region := r.nextEvent(to)
		if at.After(to) {
			r.now = to
			return
		}
		r.now = at
		if region != nil {
			region.silent = true
		}
		r.decide(at, uuid.Nil)
	}
}

// nextEvent returns when something besides a result happens next, after to for nothing, and
// the region that becomes silent then, nil for another event.
func (r *replay) nextEvent(to time.Time) (at time.Time, region *replayRegion) {
	at = to.Add(1)
	for _, other := range r.regions {
		if other.silent || other.state.Slot.IsZero() {
			continue
		}
		if end := other.state.Slot.Add(r.in.Silence); end.Before(at) {
			at, region = end, other
		}
	}
	for _, span := range r.in.Maintenance {
		if span.EndsAt.After(r.now) && span.EndsAt.Before(at) {
			at, region = span.EndsAt, nil
		}
	}
	if !r.started && r.in.From.After(r.now) && r.in.From.Before(at) {
		at, region = r.in.From, nil
	}
	return at, region
}

// decide makes the decision of the incident workflow.
func (r *replay) decide(at time.Time, trigger uuid.UUID) {
	if at.Before(r.in.From) {
		return
	}
	starts := !r.started
	r.started = true
	in := vigil.DecisionInput{Enabled: true, Rules: r.policies, Open: r.open != nil, InMaintenance: r.inMaintenance(at)}
	for _, name := range slices.Sorted(maps.Keys(r.regions)) {
		if region := r.regions[name]; !region.silent {
			in.Votes = append(in.Votes, region.vote)
		}
	}
	d := vigil.Decide(in)
	switch {
	case d.Open:
		r.openIncident(at, in.Votes, trigger)
		r.open.OpenBefore = starts && at.Equal(r.in.From)
	case d.Resolve:
		r.resolve(at)
	}
}

func (r *replay) inMaintenance(at time.Time) bool {
	return slices.ContainsFunc(r.in.Maintenance, func(o maintenance.Occurrence) bool { return o.Holds(at) })
}

func (r *replay) openIncident(at time.Time, votes []vigil.Vote, trigger uuid.UUID) {
	rule := r.policies[0].ID
	r.open = &Incident{OpenedAt: at, Trigger: trigger}
	for _, vote := range votes {
		if slices.Contains(vote.Firing, rule) {
			r.open.Regions = append(r.open.Regions, vote.Region)
		}
	}
	if lead, ok := vigil.LeadingVote(votes, rule); ok {
		if match, ok := lead.MatchOf(rule); ok {
			r.open.Keys = match.Keys
		}
		if region := r.regions[lead.Region]; region.state.Failures > 0 {
			r.open.Detection = at.Sub(region.streak)
		}
	}
}

func (r *replay) resolve(at time.Time) {
	r.open.ResolvedAt = at
	r.close(at)
	r.report.Recovered++
	r.ended = at
	r.open = nil
}

// close counts the open incident, which ends at an instant or is open yet.
func (r *replay) close(at time.Time) {
	length := at.Sub(r.open.OpenedAt)
	if r.report.Total == 0 || length < r.report.Shortest {
		r.report.Shortest = length
	}
	r.report.Longest = max(r.report.Longest, length)
	r.report.TimeOpen += length
	r.report.Total++
	if !r.open.OpenBefore {
		r.report.Opened++
	}
	if !r.ended.IsZero() && r.open.OpenedAt.Sub(r.ended) < FlapGap {
		r.report.Flaps++
	}
	if len(r.report.Incidents) < MaxIncidents {
		r.report.Incidents = append(r.report.Incidents, *r.open)
	}
}

// finish ends the period.
func (r *replay) finish() Report {
	r.advance(r.in.To.Add(-1))
	if r.open != nil {
		r.close(r.in.To)
	}
	return r.report
}
