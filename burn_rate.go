// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"encoding/json"
	"math"
	"slices"
	"time"
)

// keyBurnRate is the key of a condition on the rate at which failures use an error budget.
const keyBurnRate = "burn_rate"

// Bounds of a burn rate. The longest window is one whose results a rebuild of a state and a backtest
// can read; the ratio of the windows bounds how many counts a state holds.
const (
	minBurnTarget = 50
	maxBurnTarget = 99.9999
	maxBurnFactor = 10_000
	minBurnWindow = 300
	maxBurnWindow = 7 * 24 * 60 * 60
	minBurnShort  = 60
	minBurnRatio  = 2
	maxBurnRatio  = 24
	burnSteps     = 10 // counts of the short window
)

// burnRate matches while failures use the error budget of a target faster than factor times, in both of two
// windows up to the result: "Alerting on SLOs" of Google's Site Reliability Workbook, chapter 5. The budget
// is the share of results that may fail, 100 % less the target; at a burn rate of 1 it is used up in exactly the
// time that the target is for. The short window ends the alert soon after the failures end.
//
// Slots that were missed and results in maintenance are in neither count. It matches only when the results go
// back for at least the short window, so that the first failure of a new check is no outage.
type burnRate struct {
	Target float64 `json:"target_percentage" minimum:"50" maximum:"99.9999" doc:"Target of uptime in percent, such as 99.9. What is left to 100 is the error budget."`
	Factor float64 `json:"factor" exclusiveMinimum:"0" maximum:"10000" doc:"How many times as fast as the target allows failures use the budget in both windows, such as 14.4 for an hour of a target for 30 days. It must be below what a check that always fails reaches, 100 divided by the budget in percent."`
	Window int     `json:"window_seconds" minimum:"300" maximum:"604800" doc:"The long window, such as 3600."`
	Short  int     `json:"short_window_seconds" minimum:"60" maximum:"302400" doc:"The short window, a half to a 24th of the long one, such as 300. It ends the alert soon after the failures end."`
}

// parseBurnRate parses and judges the member of a condition.
func parseBurnRate(value json.RawMessage) (*burnRate, error) {
	const member = "condition." + keyBurnRate
	var members map[string]json.RawMessage
	if json.Unmarshal(value, &members) != nil || members == nil {
		return nil, malformed(member, "must be an object with target_percentage, factor, window_seconds and short_window_seconds")
	}
	var b burnRate
	known := []struct {
		name  string
		parse func(member string, value json.RawMessage) error
	}{
		{"target_percentage", func(m string, v json.RawMessage) (err error) {
			b.Target, err = parseNumber(m, v, minBurnTarget, maxBurnTarget)
			return err
		}},
		{"factor", func(m string, v json.RawMessage) (err error) {
			b.Factor, err = parseNumber(m, v, 0, maxBurnFactor)
			return err
		}},
		{"window_seconds", func(m string, v json.RawMessage) (err error) {
			b.Window, err = parseWholeNumber(m, v, minBurnWindow, maxBurnWindow)
			return err
		}},
		{"short_window_seconds", func(m string, v json.RawMessage) (err error) {
			b.Short, err = parseWholeNumber(m, v, minBurnShort, maxBurnWindow/minBurnRatio)
			return err
		}},
	}
	for _, one := range known {
		given, ok := members[one.name]
		if !ok {
			return nil, malformed(member+"."+one.name, "is missing")
		}
		if err := one.parse(member+"."+one.name, given); err != nil {
			return nil, err
		}
		delete(members, one.name)
	}
	for name := range members {
		if len(name) > maxShownKey {
			return nil, malformed(member, "has an unknown member")
		}
		return nil, malformed(member, "has the unknown member %q", name)
	}
	return &b, b.judge(member)
}

// judge refuses a rate that could never match, and windows that do not fit each other.
func (b *burnRate) judge(member string) error {
	switch most := 1 / b.budget(); {
	case b.Factor <= 0:
		return malformed(member+".factor", "must be above 0")
	case b.Factor >= most*(1-1e-9): // 100 less 99.9 is not quite 0.1
		return malformed(member+".factor", "must be below %.6g: a check that always fails burns that fast at this target", most)
	case b.Short*minBurnRatio > b.Window || b.Short*maxBurnRatio < b.Window:
		return malformed(member+".short_window_seconds", "must be from %d to %d, a %dth to a half of window_seconds",
			(b.Window+maxBurnRatio-1)/maxBurnRatio, b.Window/minBurnRatio, maxBurnRatio)
	}
	return nil
}

func parseNumber(member string, value json.RawMessage, low, high float64) (float64, error) {
	var n *float64
	if json.Unmarshal(value, &n) != nil || n == nil {
		return 0, malformed(member, "must be a number")
	}
	if math.IsNaN(*n) || *n < low || *n > high {
		return 0, malformed(member, "must be a number from %v to %v", low, high)
	}
	return *n, nil
}

// budget is the share of results that may fail.
func (b *burnRate) budget() float64 { return (100 - b.Target) / 100 }

// step is the time that each count covers, in seconds.
func (b *burnRate) step() int { return max(1, b.Short/burnSteps) }

// equal reports whether both are the same or absent.
func (b *burnRate) equal(other *burnRate) bool {
	if b == nil || other == nil {
		return b == other
	}
	return *b == *other
}

// matches reports whether both windows burn faster than the factor.
func (b *burnRate) matches(counts []burnCounts) bool {
	at := slices.IndexFunc(counts, func(c burnCounts) bool { return c.Step == b.step() })
	if at < 0 {
		return false
	}
	known := &counts[at]
	long, short := known.last(b.Window), known.last(b.Short)
	return known.reaches(b.Short) && b.burns(long) && b.burns(short)
}

func (b *burnRate) burns(n burnCount) bool {
	return n.Total > 0 && float64(n.Failed) > b.Factor*b.budget()*float64(n.Total)
}

// burnCount counts the results of some time.
type burnCount struct{ Total, Failed int64 }

// burnRun is a number of steps that follow each other with the same counts. In JSON it is a list, since a state
// is stored with every turn.
type burnRun struct {
	Steps int64
	burnCount
}

// MarshalJSON writes [steps, total, failed].
func (r burnRun) MarshalJSON() ([]byte, error) {
	return json.Marshal([3]int64{r.Steps, r.Total, r.Failed})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *burnRun) UnmarshalJSON(data []byte) error {
	var list [3]int64
	if err := json.Unmarshal(data, &list); err != nil {
		return err //nolint:wrapcheck // of this package's own form
	}
	r.Steps, r.Total, r.Failed = list[0], list[1], list[2]
	return nil
}

// burnCounts are the results of the longest window of the rules that count in steps of a length. A state
// has those of its rules. A healthy check has a handful of runs; the worst one has a run for each step, at most
// burnSteps × maxBurnRatio and one.
type burnCounts struct {
	Step   int       `json:"step"`   // seconds
	Window int       `json:"window"` // seconds
	Newest int64     `json:"newest"` // number of the newest step since 1970
	Runs   []burnRun `json:"runs"`   // oldest first; the newest step is a run by itself
}

// Add returns the counts with results of an instant. Those before the newest step change nothing.
func (c burnCounts) Add(at time.Time, total, failed int64) burnCounts {
	step := at.Unix() / int64(c.Step)
	switch {
	case len(c.Runs) == 0:
		c.Newest, c.Runs = step, []burnRun{{1, burnCount{total, failed}}}
		return c
	case step < c.Newest:
		return c
	}
	c.Runs = slices.Clone(c.Runs) // the state before has them, too
	newest := &c.Runs[len(c.Runs)-1]
	if step == c.Newest {
		newest.Total, newest.Failed = newest.Total+total, newest.Failed+failed
		return c
	}
	c.join()
	if empty := step - c.Newest - 1; empty > 0 {
		c.Runs = append(c.Runs, burnRun{Steps: empty})
		c.join()
	}
	c.Newest, c.Runs = step, append(c.Runs, burnRun{1, burnCount{total, failed}})
	return c.trim()
}

// join makes one run of the last two when they count the same.
func (c *burnCounts) join() {
	if last := len(c.Runs) - 1; last > 0 && c.Runs[last-1].burnCount == c.Runs[last].burnCount {
		c.Runs[last-1].Steps += c.Runs[last].Steps
		c.Runs = c.Runs[:last]
	}
}

// steps is how many steps cover a time that ends with the newest one.
func (c *burnCounts) steps(seconds int) int64 { return int64((seconds + c.Step - 1) / c.Step) }

// trim drops what is before the window.
func (c burnCounts) trim() burnCounts {
	left := c.steps(c.Window)
	for n := len(c.Runs) - 1; n >= 0; n-- {
		if c.Runs[n].Steps >= left {
			c.Runs[n].Steps = left
			c.Runs = c.Runs[n:]
			return c
		}
		left -= c.Runs[n].Steps
	}
	return c
}

// last sums the newest seconds.
func (c *burnCounts) last(seconds int) (sum burnCount) {
	left := c.steps(seconds)
	for n := len(c.Runs) - 1; n >= 0 && left > 0; n-- {
		steps := min(left, c.Runs[n].Steps)
		// The newest step is a run by itself, and all steps of another count the same.
		sum.Total, sum.Failed = sum.Total+steps*c.Runs[n].Total, sum.Failed+steps*c.Runs[n].Failed
		left -= steps
	}
	return sum
}

// reaches reports whether the counts go back for seconds.
func (c *burnCounts) reaches(seconds int) bool {
	var steps int64
	for _, run := range c.Runs {
		steps += run.Steps
	}
	return steps >= c.steps(seconds)
}

// burnsOf are the counts that rules need, without results, by their steps.
func burnsOf(rules []Rule) []burnCounts {
	var all []burnCounts
	for i := range rules {
		b := rules[i].Condition.BurnRate
		if b == nil || !rules[i].Enabled {
			continue
		}
		at := slices.IndexFunc(all, func(c burnCounts) bool { return c.Step == b.step() })
		if at < 0 {
			all, at = append(all, burnCounts{Step: b.step()}), len(all)
		}
		all[at].Window = max(all[at].Window, b.Window)
	}
	return all
}

// foldBurns returns the counts that rules need after a result.
func foldBurns(rules []Rule, known []burnCounts, result *Result) []burnCounts {
	next := burnsOf(rules)
	for i := range next {
		if at := slices.IndexFunc(known, func(c burnCounts) bool { return c.Step == next[i].Step }); at >= 0 {
			next[i].Newest, next[i].Runs = known[at].Newest, known[at].Runs
		}
		var failed, total int64
		if !result.Excluded {
			total = 1
			if !result.Success {
				failed = 1
			}
		}
		next[i] = next[i].Add(result.Slot, total, failed)
	}
	return next
}

// MissingBurns are the counts that the rules need and the state does not have: storage fills them from the
// results before it. A state has them once a result was folded into it under the rules.
//
//nolint:revive // the counts are for PastQuery and WithBurns alone: their callers need no name for them
func (s *State) MissingBurns(rules []Rule) []burnCounts {
	return slices.DeleteFunc(burnsOf(rules), func(needed burnCounts) bool {
		return slices.ContainsFunc(s.Burns, func(c burnCounts) bool { return c.Step == needed.Step && c.Window >= needed.Window })
	})
}

// WithBurns returns the state with counts in the place of those that have the same steps.
func (s State) WithBurns(counts []burnCounts) State {
	s.Burns = slices.DeleteFunc(slices.Clone(s.Burns), func(c burnCounts) bool {
		return slices.ContainsFunc(counts, func(other burnCounts) bool { return other.Step == c.Step })
	})
	s.Burns = append(s.Burns, counts...)
	return s
}
