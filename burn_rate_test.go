// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// burning is a rule of Google's workbook: 14.4 times the budget of 99.9 % in an hour and in five minutes.
func burning(t *testing.T, condition string) vigil.Rule {
	t.Helper()
	c, err := vigil.ConditionInput{Condition: json.RawMessage(`{"burn_rate": ` + condition + `}`)}.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return vigil.Rule{ID: uuid.New(), Condition: c, Enabled: true}
}

const workbook = `{"target_percentage": 99.9, "factor": 14.4, "window_seconds": 3600, "short_window_seconds": 300}`

func TestBurnRate(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
	const interval = 30 * time.Second
	// A script has a letter for each result: . succeeds, x fails, m fails in maintenance, and a blank is missed.
	run := func(t *testing.T, rule vigil.Rule, script string) (fires string) {
		t.Helper()
		var state vigil.State
		for n, letter := range script {
			if letter == ' ' {
				fires += " "
				continue
			}
			r := vigil.Result{Slot: start.Add(time.Duration(n) * interval), Excluded: letter == 'm'}
			r.Success = letter == '.'
			state, _ = vigil.Evaluate([]vigil.Rule{rule}, state, r)
			if len(state.Firing) > 0 {
				fires += "F"
			} else {
				fires += "-"
			}
		}
		return fires
	}
	hour := strings.Repeat(".", 120)
	for _, tt := range []struct{ name, script, want string }{
		{"NeverWithoutFailures", hour, strings.Repeat("-", 120)},
		// Of 120 results in an hour 1.44 % may fail: the second one is too much, and five minutes have 10.
		{"AtTheSecondFailureInAnHour", hour + "xx", strings.Repeat("-", 121) + "F"},
		{"UntilTheShortWindowIsClean", hour + "xx" + strings.Repeat(".", 12), strings.Repeat("-", 121) + "F" + strings.Repeat("F", 9) + "---"},
		{"NotAtTheFirstFailuresOfANewCheck", "xxxxx", "-----"},
		{"OnceANewCheckHasFailedForTheShortWindow", strings.Repeat("x", 11), "---------FF"},
		{"NotForMaintenance", hour + strings.Repeat("m", 20), strings.Repeat("-", 140)},
		{"NotForMissedSlots", hour + strings.Repeat(" ", 40) + ".", strings.Repeat("-", 120) + strings.Repeat(" ", 40) + "-"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := run(t, burning(t, workbook), tt.script); got != tt.want {
				t.Errorf("%q\ngot  %q\nwant %q", tt.script, got, tt.want)
			}
		})
	}
	t.Run("NeverWhileTheRuleIsOff", func(t *testing.T) {
		t.Parallel()
		rule := burning(t, workbook)
		rule.Enabled = false
		if got := run(t, rule, hour+"xxxx"); strings.Contains(got, "F") {
			t.Error(got)
		}
	})
}

// TestBurnRateCountsItsWindows compares what a state counts with a recount, and holds the size of a state.
func TestBurnRateCountsItsWindows(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	rule := burning(t, `{"target_percentage": 90, "factor": 5, "window_seconds": 14400, "short_window_seconds": 600}`)
	const step = 60
	type counted struct {
		step   int64
		failed bool
	}
	var all []counted
	var state vigil.State
	at := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
	most := 0
	for range 5_000 {
		at = at.Add(time.Duration(1+rng.IntN(120)) * time.Second)
		if rng.IntN(200) == 0 {
			at = at.Add(time.Duration(rng.IntN(6)) * time.Hour)
		}
		r := vigil.Result{Slot: at}
		r.Success = rng.IntN(3) > 0
		before, err := json.Marshal(state)
		if err != nil {
			t.Fatal(err)
		}
		next, _ := vigil.Evaluate([]vigil.Rule{rule}, state, r)
		if after, _ := json.Marshal(state); string(after) != string(before) {
			t.Fatalf("the state before changed: %s, %s", before, after)
		}
		all = append(all, counted{at.Unix() / step, !r.Success})
		burns := func(steps int64) bool {
			var total, failed float64
			for n := len(all) - 1; n >= 0 && all[n].step > at.Unix()/step-steps; n-- {
				if total++; all[n].failed {
					failed++
				}
			}
			return failed/total > 0.5
		}
		reaches := at.Unix()/step-all[0].step+1 >= 10
		if want := reaches && burns(240) && burns(10); want != (len(next.Firing) > 0) {
			t.Fatalf("at %v: fires %v, want %v", at, !want, want)
		}
		text, err := json.Marshal(next.Burns)
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, len(text))
		state = vigil.State{}
		if err := json.Unmarshal(must(t, next), &state); err != nil { // as it comes from a workflow
			t.Fatal(err)
		}
	}
	t.Logf("the largest counts have %d bytes", most)
	if most > 4096 {
		t.Errorf("%d bytes in a state", most)
	}
}

func must(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestBurnRateIsRefused(t *testing.T) {
	t.Parallel()
	body := func(change string) string {
		members := map[string]string{"target_percentage": "99.9", "factor": "14.4", "window_seconds": "3600", "short_window_seconds": "300"}
		name, value, _ := strings.Cut(change, "=")
		members[name] = value
		var parts []string
		for name, value := range members {
			if value != "" {
				parts = append(parts, fmt.Sprintf("%q: %s", name, value))
			}
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	for change, member := range map[string]string{
		"target_percentage=": "target_percentage", "target_percentage=100": "target_percentage", "target_percentage=49": "target_percentage",
		"factor=0": "factor", "factor=-1": "factor", "factor=1000": "factor", "factor=\"14\"": "factor", "factor=null": "factor",
		"window_seconds=299": "window_seconds", "window_seconds=604801": "window_seconds", "window_seconds=3600.5": "window_seconds",
		"short_window_seconds=1801": "short_window_seconds", "short_window_seconds=149": "short_window_seconds",
		"short_window_seconds=59": "short_window_seconds", "windows=1": "", "short_window_seconds=": "short_window_seconds",
	} {
		_, err := vigil.ConditionInput{Condition: json.RawMessage(`{"burn_rate": ` + body(change) + `}`)}.Resolve(nil)
		want := "condition.burn_rate"
		if member != "" {
			want += "." + member
		}
		if vigil.ErrorCode(err) != vigil.CodeInvalid || !strings.HasPrefix(vigil.ErrorMessage(err), want+": ") {
			t.Errorf("%s: %v", change, err)
		}
	}
	for _, text := range []string{"1", "null", "[]", `"fast"`, "{}"} {
		if _, err := (vigil.ConditionInput{Condition: json.RawMessage(`{"burn_rate": ` + text + `}`)}).Resolve(
			nil,
		); vigil.ErrorCode(
			err,
		) != vigil.CodeInvalid {
			t.Errorf("%s: %v", text, err)
		}
	}
}
