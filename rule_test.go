// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

func TestSeverity(t *testing.T) {
	t.Parallel()

	t.Run("IsCriticalByDefault", func(t *testing.T) {
		t.Parallel()
		for severity, want := range map[vigil.Severity]vigil.Severity{"": "critical", "warning": "warning", "info": "info"} {
			rule := vigil.Rule{Condition: vigil.Condition{Severity: severity}}
			if got := rule.Severity(); got != want {
				t.Errorf("%q became %q, want %q", severity, got, want)
			}
		}
	})
}

// Names of rules in the order in which they name an incident.
func sortedNames(rules ...vigil.Rule) []string {
	vigil.SortRules(rules)
	var names []string
	for _, rule := range rules {
		names = append(names, rule.Name)
	}
	return names
}

func TestSortRules(t *testing.T) {
	t.Parallel()
	graded := func(name string, severity vigil.Severity) vigil.Rule {
		// The less severe a rule is, the older: age decides only between equals.
		age := map[vigil.Severity]time.Duration{
			"critical": 0,
			"":         0,
			"warning":  time.Hour,
			"info":     2 * time.Hour,
			"unknown":  3 * time.Hour,
		}[severity]
		return vigil.Rule{ID: uuid.New(), Name: name, CreatedAt: epoch().Add(-age), Condition: vigil.Condition{Severity: severity}}
	}
	for _, test := range []struct {
		name  string
		rules []vigil.Rule
		want  []string
	}{
		{
			"MostSevereFirst",
			[]vigil.Rule{graded("info", vigil.Info), graded("warning", vigil.Warning), graded("critical", vigil.Critical)},
			[]string{"critical", "warning", "info"},
		},
		{
			"RuleWithoutSeverityComesBeforeAWarning",
			[]vigil.Rule{graded("warning", vigil.Warning), graded("none", "")},
			[]string{"none", "warning"},
		},
		{
			"InfoRuleComesBeforeAnUnknownSeverity",
			[]vigil.Rule{graded("unknown", "unknown"), graded("info", vigil.Info)},
			[]string{"info", "unknown"},
		},
		{
			"OldestOfEquallySevere",
			[]vigil.Rule{{ID: uuid.UUID{1}, Name: "younger", CreatedAt: epoch()}, {ID: uuid.UUID{2}, Name: "older", CreatedAt: epoch().Add(-1)}},
			[]string{"older", "younger"},
		},
		{
			"SmallestIDOfEquallyOld",
			[]vigil.Rule{{ID: uuid.UUID{2, 0}, Name: "larger"}, {ID: uuid.UUID{1, 9}, Name: "smaller"}},
			[]string{"smaller", "larger"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := sortedNames(slices.Clone(test.rules)...); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
			slices.Reverse(test.rules)
			if got := sortedNames(test.rules...); !slices.Equal(got, test.want) {
				t.Errorf("got %v from the reverse, want %v", got, test.want)
			}
		})
	}
}

func TestNotifyOn(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		value                    vigil.NotifyOn
		valid, opening, recovery bool
	}{
		{"unhealthy", true, true, false},
		{"healthy", true, false, true},
		{"both", true, true, true},
		{"", false, false, false},
		{"always", false, false, false},
	} {
		t.Run("Value/"+string(test.value), func(t *testing.T) {
			t.Parallel()
			if got := test.value.Valid(); got != test.valid {
				t.Errorf("valid is %v, want %v", got, test.valid)
			}
			if got := test.value.Opening(); got != test.opening {
				t.Errorf("notified of an opening: %v, want %v", got, test.opening)
			}
			if got := test.value.Recovery(); got != test.recovery {
				t.Errorf("notified of a recovery: %v, want %v", got, test.recovery)
			}
		})
	}
}

func TestRegionPolicy(t *testing.T) {
	t.Parallel()

	t.Run("Values", func(t *testing.T) {
		t.Parallel()
		for policy, want := range map[vigil.RegionPolicy]bool{"any": true, "majority": true, "all": true, "": false, "some": false} {
			if got := policy.Valid(); got != want {
				t.Errorf("%q is valid: %v, want %v", policy, got, want)
			}
		}
	})

	for _, test := range []struct {
		policy         vigil.RegionPolicy
		firing, voting int
		want           bool
	}{
		{"any", 0, 0, false},
		{"any", 0, 3, false},
		{"any", 1, 3, true},
		{"any", 3, 3, true},
		{"majority", 0, 0, false},
		{"majority", 1, 2, false},
		{"majority", 2, 3, true},
		{"majority", 1, 1, true},
		{"majority", 2, 4, false},
		{"majority", 3, 4, true},
		{"all", 0, 0, false},
		{"all", 1, 2, false},
		{"all", 2, 2, true},
		{"all", 1, 1, true},
	} {
		if got := test.policy.Met(test.firing, test.voting); got != test.want {
			t.Errorf("%s with %d of %d is %v, want %v", test.policy, test.firing, test.voting, got, test.want)
		}
	}
}

func TestRebuildResults(t *testing.T) {
	t.Parallel()
	thresholds := func(counts ...int) []vigil.Rule {
		var rules []vigil.Rule
		for _, n := range counts {
			rules = append(rules, ruleOf(vigil.Condition{FailureThreshold: n}))
		}
		return rules
	}
	held := ruleOf(vigil.Condition{FailureThreshold: 20, RecoveryThreshold: 100})
	slow := ruleOf(vigil.Condition{ResponseTimeMS: new(5), RecoveryThreshold: 7})
	for name, test := range map[string]struct {
		rules []vigil.Rule
		want  int
	}{
		"TwoWithoutRules":            {nil, 2},
		"TwoWhenNoRuleCountsResults": {thresholds(0, 0), 2},
		"LargestOfAllRules":          {thresholds(3, 150, 7), 151},
		"BothThresholdsOfARule":      {append(thresholds(110), held), 120},
		"ARecoveryWithoutFailures":   {[]vigil.Rule{slow}, 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := vigil.RebuildResults(test.rules, 0); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func TestCompareIDs(t *testing.T) {
	t.Parallel()
	small, large := uuid.UUID{1, 255}, uuid.UUID{2, 0}
	if vigil.CompareIDs(small, large) >= 0 || vigil.CompareIDs(large, small) <= 0 || vigil.CompareIDs(small, small) != 0 {
		t.Error("ids are not ordered by their bytes")
	}
}
