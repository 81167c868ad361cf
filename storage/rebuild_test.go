// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage"
)

// withDays adds a certificate to a result.
func withDays(r vigil.Result, days int) vigil.Result {
	r.Metadata = map[string]any{vigil.MetadataCertDays: days}
	return r
}

// TestStateBefore covers what a rebuilt state needs besides the newest results, where the rollups
// do not say it. The activities compare whole states.
func TestStateBefore(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark))
	w := newWriter(t, s, storage.WriterOptions{})
	at := func(d time.Duration) time.Time { return epoch().Add(d) }
	ask := func(from, before time.Duration) vigil.State {
		t.Helper()
		state, err := s.StateBefore(t.Context(), vigil.PastQuery{
			CheckID: c.ID, Region: newark, From: at(from), Before: at(before), Days: true, DNS: true, Failures: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		return state
	}
	equal(t, ask(0, 240*time.Hour), vigil.State{})

	answered := ok(c, newark, at(0))
	answered.Metadata = map[string]any{vigil.MetadataFingerprint: "A x:1"}
	write(t, w, answered, withDays(ok(c, newark, at(time.Minute)), 9), failed(c, newark, at(5*time.Hour)), failed(c, newark, at(7*time.Hour)))
	equal(t, ask(0, 8*time.Hour), vigil.State{DNS: "A x:1", DNSSlot: at(0), Days: new(9), Failures: 2})
	equal(t, ask(0, 7*time.Hour), vigil.State{DNS: "A x:1", DNSSlot: at(0), Days: new(9), Failures: 1})
	equal(t, ask(6*time.Hour, 8*time.Hour), vigil.State{DNS: "A x:1", DNSSlot: at(0), Failures: 1}) // enabled in between

	// A result that no rollup counts yet, because another transaction has the row of the loop.
	unlock := locker{tb: t, s: s}.lock("SELECT FROM check_regions WHERE check_id IN (?) FOR UPDATE", c)
	write(t, w, withDays(failed(c, newark, at(9*time.Hour)), 4))
	equal(t, ask(0, 12*time.Hour), vigil.State{DNS: "A x:1", DNSSlot: at(0), Days: new(4), Failures: 3})
	unlock()
	if _, err := s.CountResults(t.Context()); err != nil {
		t.Fatal(err)
	}
	equal(t, ask(0, 12*time.Hour), vigil.State{DNS: "A x:1", DNSSlot: at(0), Days: new(4), Failures: 3})

	// Results past their retention are in the rollups only.
	changeResults(t, s, "DELETE FROM results WHERE check_id = ? AND slot < ?", c.ID, at(8*time.Hour))
	equal(t, ask(0, 12*time.Hour), vigil.State{Days: new(4), Failures: 3})
}

// TestStateBeforeCountsWindows: the results of windows of burn rates, without those in maintenance.
func TestStateBeforeCountsWindows(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark))
	w := newWriter(t, s, storage.WriterOptions{})
	input := vigil.ConditionInput{Condition: []byte(
		`{"burn_rate": {"target_percentage": 90, "factor": 2, "window_seconds": 3600, "short_window_seconds": 300}}`)}
	condition, err := input.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	rules := []vigil.Rule{{ID: uuid.New(), Condition: condition, Enabled: true}}
	var folded vigil.State
	slots := slotsOf(scheduleOf(t, s, c, newark), epoch(), epoch().Add(90*time.Minute))
	for n, slot := range slots {
		r := ok(c, newark, slot)
		if n%5 == 0 || n%7 == 0 {
			r = failed(c, newark, slot)
		}
		r.Excluded = n%11 == 0
		writeExcluded(t.Context(), t, w, r.Excluded, r)
		folded, _ = vigil.Evaluate(rules, folded, r)
	}
	before := slots[len(slots)-1].Add(time.Second)
	empty := vigil.State{}
	read, err := s.StateBefore(
		t.Context(),
		vigil.PastQuery{CheckID: c.ID, Region: newark, From: epoch(), Before: before, Burns: empty.MissingBurns(rules)},
	)
	if err != nil {
		t.Fatal(err)
	}
	// The next result says the same of both.
	for n, state := range []vigil.State{folded, {Slot: folded.Slot, Burns: read.Burns}} {
		if next, _ := vigil.Evaluate(rules, state, failed(c, newark, before.Add(9*time.Second))); len(next.Firing) != 1 {
			t.Errorf("state %d does not fire: %+v", n, next.Burns)
		}
	}
	got, want := read.Burns[0], folded.Burns[0]
	if got.Newest != want.Newest || len(got.Runs) != len(want.Runs) && len(got.Runs)+1 != len(want.Runs) {
		t.Errorf("read %+v, folded %+v", got, want)
	}
}

// TestStateBeforeReadsFewRows: a target that never had a certificate or an answer, and has been
// failing for weeks, does not have all its results read.
func TestStateBeforeReadsFewRows(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark))
	const days, perHour = 20, 60
	from, before := epoch().Truncate(24*time.Hour).AddDate(0, 0, 1), epoch().Truncate(24*time.Hour).AddDate(0, 0, 1+days)
	for d := 1; d <= days; d += 8 { // partitions of a day each
		if err := s.EnsurePartitions(t.Context(), epoch().AddDate(0, 0, d)); err != nil {
			t.Fatal(err)
		}
	}
	for _, sql := range []string{
		`INSERT INTO results (check_id, region, slot, id, time, manual, success, response_time_ms)
			SELECT ?, ?, slot, gen_random_uuid(), slot, false, false, 1
			FROM generate_series(?::timestamptz, ?::timestamptz - interval '1 minute', interval '1 minute') AS slot`,
		`INSERT INTO result_rollups (check_id, region, hour, total, successes, sum_ms, buckets, counts)
			SELECT ?, ?, hour, 60, 0, 0, '{}', '{}'
			FROM generate_series(?::timestamptz, ?::timestamptz - interval '1 hour', interval '1 hour') AS hour`,
	} {
		if _, err := s.DB().ExecContext(t.Context(), sql, c.ID, newark, from, before); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.DB().ExecContext(t.Context(), "ANALYZE results, result_rollups"); err != nil {
		t.Fatal(err)
	}
	var state vigil.State
	plan := explain(t, s, func() {
		var err error
		state, err = s.StateBefore(t.Context(), vigil.PastQuery{
			CheckID: c.ID, Region: newark, From: from.Add(-time.Hour), Before: before.Add(-time.Minute), Days: true, DNS: true, Failures: true,
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	equal(t, state, vigil.State{Failures: days*24*perHour - 1})
	read := 0
	for _, line := range strings.Split(plan, "\n") {
		if !strings.Contains(line, "results_") {
			continue
		}
		if rows := regexp.MustCompile(`actual .*rows=(\d+)`).FindStringSubmatch(line); rows != nil {
			n, _ := strconv.Atoi(rows[1])
			read += n
		}
	}
	if strings.Contains(plan, "Seq Scan on results") || read > 2*perHour {
		t.Errorf("%d of %d results are read:\n%s", read, days*24*perHour, plan)
	}
	t.Logf("%s", plan)
}

// TestAnEditOfTheIntervalLeavesTheState: its results count on, and those from before the check
// was disabled or had another type do not.
func TestAnEditOfTheIntervalLeavesTheState(t *testing.T) {
	t.Parallel()
	s, clock := newStore(t)
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark))
	begun := epoch()
	for i, step := range []struct {
		change func(*vigil.Check)
		begins bool
	}{
		{func(c *vigil.Check) { c.Interval = time.Minute }, false},
		{func(c *vigil.Check) { c.Interval = time.Hour }, false},
		{func(c *vigil.Check) { c.Name = "other" }, false},
		{func(c *vigil.Check) { c.Enabled = false }, false},
		{func(c *vigil.Check) { c.Enabled = true }, true},
		{func(c *vigil.Check) { c.Interval = time.Minute }, false},
		{func(c *vigil.Check) { c.Type = vigil.TypeSSL }, true},
	} {
		clock.Set(clock.Now().Add(time.Hour))
		c = update(t, s, c, step.change)
		if step.begins {
			begun = clock.Now()
		}
		def, err := s.Definition(t.Context(), c.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got := def.StateFrom(newark); !got.Equal(begun) {
			t.Errorf("after edit %d results count from %v, want %v", i, got, begun)
		}
	}
}
