// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/vigil-monitor/vigil"
)

// wantRefused expects an error about a member that lists the accepted forms.
func wantRefused(tb testing.TB, err error, member string) {
	tb.Helper()
	var refusal *vigil.Error
	if !errors.As(err, &refusal) || refusal.Code != vigil.CodeInvalid {
		tb.Fatalf("got %v, want a refusal of %s", err, member)
	}
	if forms, ok := refusal.Details["accepted_forms"].([]string); refusal.Details["member"] != member || !ok || len(forms) != 3 {
		tb.Errorf("the details are %v, want the member %q and three forms", refusal.Details, member)
	}
}

func TestParseCondition(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text string
		want       vigil.Condition
	}{
		{"HealthStatus", `{"health_status":"down"}`, vigil.Condition{HealthStatus: "down"}},
		{"Threshold", `{"failure_threshold":3}`, vigil.Condition{FailureThreshold: 3}},
		{"WholeNumberWithAPoint", `{"failure_threshold":3.0}`, vigil.Condition{FailureThreshold: 3}},
		{"ResponseTimeOfZero", `{"response_time_ms":0}`, vigil.Condition{ResponseTimeMS: new(0)}},
		{"StatusCode", `{"status_code":500}`, vigil.Condition{StatusCode: 500}},
		{"DNS", `{"dns_changed":true}`, vigil.Condition{DNSChanged: true}},
		{"Certificate", `{"ssl_days_remaining":0}`, vigil.Condition{SSLDaysRemaining: new(0)}},
		{
			"AllAtOnce", `{"health_status":"up","failure_threshold":1,"response_time_ms":2,"dns_changed":false,"severity":"info"}`,
			vigil.Condition{HealthStatus: "up", FailureThreshold: 1, ResponseTimeMS: new(2), Severity: vigil.Info},
		},
		{"Recovery", `{"failure_threshold":3,"recovery_threshold":2}`, vigil.Condition{FailureThreshold: 3, RecoveryThreshold: 2}},
		{"RecoveryBounds", `{"status_code":500,"recovery_threshold":100}`, vigil.Condition{StatusCode: 500, RecoveryThreshold: 100}},
		{"HealthyIsASynonymOfUp", `{"health_status":"healthy"}`, vigil.Condition{HealthStatus: "healthy"}},
		{"UnhealthyIsASynonymOfDown", `{"health_status":"unhealthy"}`, vigil.Condition{HealthStatus: "unhealthy"}},
		{"SmallestNumbers", `{"failure_threshold":1,"status_code":100}`, vigil.Condition{FailureThreshold: 1, StatusCode: 100}},
		{
			"LargestNumbers", `{"failure_threshold":1000,"response_time_ms":86400000,"status_code":999,"ssl_days_remaining":36500}`,
			vigil.Condition{FailureThreshold: 1000, ResponseTimeMS: new(86400000), StatusCode: 999, SSLDaysRemaining: new(36500)},
		},
		{"SeverityOfAWarning", `{"dns_changed":true,"severity":"warning"}`, vigil.Condition{DNSChanged: true, Severity: vigil.Warning}},
		{"CriticalSeverity", `{"dns_changed":true,"severity":"critical"}`, vigil.Condition{DNSChanged: true, Severity: vigil.Critical}},
		{"LegacyBounds", `{"type":"consecutive_failures","threshold":1000}`, vigil.Condition{FailureThreshold: 1000}},
		{"LegacySmallestThreshold", `{"type":"consecutive_failures","threshold":1}`, vigil.Condition{FailureThreshold: 1}},
		{"LegacyFailures", `{"type":"consecutive_failures","threshold":3,"operator":"gte"}`, vigil.Condition{FailureThreshold: 3}},
		{"LegacyResponseTime", `{"type":"response_time","threshold":500}`, vigil.Condition{ResponseTimeMS: new(500)}},
		{"LegacyCertificate", `{"threshold":14,"type":"ssl_expiry"}`, vigil.Condition{SSLDaysRemaining: new(14)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := vigil.ParseCondition(json.RawMessage(test.text))
			if err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %v, %v, want %v", got, err, test.want)
			}
		})
	}

	for text, member := range map[string]string{
		`null`:                       "condition",
		`{}`:                         "condition",
		`{"failures":2}`:             "condition",
		`{"failure_threshold":"3"}`:  "condition.failure_threshold",
		`{"failure_threshold":1001}`: "condition.failure_threshold",
		`{"response_time_ms":null}`:  "condition.response_time_ms",
		`{"response_time_ms":-1}`:    "condition.response_time_ms",
		`{"status_code":99}`:         "condition.status_code",
		`{"ssl_days_remaining":-1}`:  "condition.ssl_days_remaining",
		`{"dns_changed":null}`:       "condition.dns_changed",
		`{"dns_changed":"yes"}`:      "condition.dns_changed",
		`{"health_status":null}`:     "condition.health_status",
		`{"health_status":1}`:        "condition.health_status",
		`{"severity":"fatal"}`:       "condition.severity",
		`{"failure_threshold":1,"recovery_threshold":0}`:             "condition.recovery_threshold",
		`{"failure_threshold":1,"recovery_threshold":101}`:           "condition.recovery_threshold",
		`{"failure_threshold":1,"recovery_threshold":null}`:          "condition.recovery_threshold",
		`{"failure_threshold":1,"recovery_seconds":60}`:              "condition.recovery_seconds",
		`{"type":"ssl_expiry","threshold":5,"recovery_seconds":5}`:   "condition.recovery_seconds",
		`{"type":"ssl_expiry"}`:                                      "condition.threshold",
		`{"type":"ssl_expiry","threshold":-5}`:                       "condition.threshold",
		`{"type":"ssl_expiry","threshold":null}`:                     "condition.threshold",
		`{"type":"ssl_expiry","threshold":"5"}`:                      "condition.threshold",
		`{"type":"ssl_expiry","threshold":5,"operator":"lt"}`:        "condition.operator",
		`{"type":"ssl_expiry","threshold":5,"operator":1}`:           "condition.operator",
		`{"type":5,"threshold":5}`:                                   "condition.type",
		`{"type":"weather","threshold":5}`:                           "condition.type",
		`{"type":"status_code","threshold":500}`:                     "condition.type",
		`{"type":"ssl_expiry","threshold":5,"ssl_days_remaining":5}`: "condition",
	} {
		t.Run("NamesTheMember/"+text, func(t *testing.T) {
			t.Parallel()
			_, err := vigil.ParseCondition(json.RawMessage(text))
			wantRefused(t, err, member)
		})
	}

	t.Run("SeverityThatIsNullIsRefusedByName", func(t *testing.T) {
		t.Parallel()
		_, err := vigil.ParseCondition(json.RawMessage(`{"failure_threshold":1,"severity":null}`))
		wantRefused(t, err, "condition.severity")
	})

	t.Run("RecoveryInSecondsNamesTheKeyToUse", func(t *testing.T) {
		t.Parallel()
		_, err := vigil.ParseCondition(json.RawMessage(`{"failure_threshold":1,"recovery_seconds":60}`))
		if text := vigil.ErrorMessage(err); !strings.Contains(text, "use recovery_threshold") {
			t.Errorf("the sentence is %q", text)
		}
	})

	t.Run("UnknownKeyIsQuotedUnlessItIsLong", func(t *testing.T) {
		t.Parallel()
		for length, quoted := range map[int]bool{64: true, 65: false} {
			key := strings.Repeat("k", length)
			_, err := vigil.ParseCondition(json.RawMessage(`{"` + key + `":1}`))
			wantRefused(t, err, "condition")
			if got := strings.Contains(vigil.ErrorMessage(err), key); got != quoted {
				t.Errorf("a key of %d bytes is quoted: %v, want %v", length, got, quoted)
			}
		}
	})

	for name, text := range map[string]string{
		"NotAnObject":         `"down"`,
		"Null":                `null`,
		"Broken":              `{`,
		"Empty":               `{}`,
		"OnlySeverity":        `{"severity":"critical"}`,
		"OnlyRecovery":        `{"recovery_threshold":3,"severity":"critical"}`,
		"OnlyDNSUnchanged":    `{"dns_changed":false}`,
		"UnknownKey":          `{"failure_threshold":1,"failures":2}`,
		"WrongType":           `{"failure_threshold":"3"}`,
		"Null member":         `{"failure_threshold":null}`,
		"NegativeNumber":      `{"response_time_ms":-1}`,
		"ZeroFailures":        `{"failure_threshold":0}`,
		"Fraction":            `{"failure_threshold":1.5}`,
		"HugeNumber":          `{"failure_threshold":1e300}`,
		"UnknownHealth":       `{"health_status":"sick"}`,
		"UnknownSeverity":     `{"failure_threshold":1,"severity":"fatal"}`,
		"StatusNoServerSends": `{"status_code":1000}`,
		"LegacyNoThreshold":   `{"type":"response_time"}`,
		"LegacyOperator":      `{"type":"response_time","threshold":5,"operator":"lt"}`,
		"LegacyUnknownType":   `{"type":"weather","threshold":5}`,
		"LegacyStatusCode":    `{"type":"status_code","threshold":500}`,
		"LegacyUnknownKey":    `{"type":"response_time","threshold":5,"failure_threshold":5}`,
		"LegacyNegative":      `{"type":"ssl_expiry","threshold":-5}`,
	} {
		t.Run("Refuses/"+name, func(t *testing.T) {
			t.Parallel()
			_, err := vigil.ParseCondition(json.RawMessage(text))
			if vigil.ErrorCode(err) != vigil.CodeInvalid {
				t.Fatalf("got %v", err)
			}
			for _, form := range []string{"failure_threshold", "threshold", "condition_type", "health_status"} {
				if !strings.Contains(vigil.ErrorMessage(err), form) {
					t.Errorf("the sentence does not name %q: %s", form, vigil.ErrorMessage(err))
				}
			}
		})
	}
}

func TestReferenceCondition(t *testing.T) {
	t.Parallel()
	for kind, threshold := range map[vigil.ConditionType]float64{
		vigil.ConsecutiveFailures: 3, vigil.ResponseTime: 500, vigil.StatusCode: 500, vigil.SSLExpiry: 14,
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			condition, err := vigil.ReferenceCondition(kind, threshold)
			if err != nil {
				t.Fatal(err)
			}
			condition.Severity = vigil.Warning
			if gotKind, got, ok := condition.Reference(); !ok || gotKind != kind || got != threshold {
				t.Errorf("came back as %s %v %v", gotKind, got, ok)
			}
			if _, err := vigil.ReferenceCondition(kind, -1); vigil.ErrorCode(err) != vigil.CodeInvalid {
				t.Errorf("-1 gave %v", err)
			}
		})
	}

	t.Run("ZeroIsAThresholdOfTimesAndDays", func(t *testing.T) {
		t.Parallel()
		for kind, condition := range map[vigil.ConditionType]vigil.Condition{
			vigil.ResponseTime: {ResponseTimeMS: new(0)}, vigil.SSLExpiry: {SSLDaysRemaining: new(0)},
		} {
			if got, threshold, ok := condition.Reference(); got != kind || threshold != 0 || !ok {
				t.Errorf("%s became %s %v %v", condition, got, threshold, ok)
			}
		}
	})

	t.Run("NoPairSaysWhatTwoKeysSay", func(t *testing.T) {
		t.Parallel()
		for _, condition := range []vigil.Condition{
			{},
			{HealthStatus: "down", FailureThreshold: 1},
			{FailureThreshold: 1, StatusCode: 500},
			{ResponseTimeMS: new(5), FailureThreshold: 1},
			{ResponseTimeMS: new(5), SSLDaysRemaining: new(5)},
			{StatusCode: 500, DNSChanged: true},
			{StatusCode: 500, ResponseTimeMS: new(5)},
			{SSLDaysRemaining: new(5), HealthStatus: "down"},
		} {
			if kind, threshold, ok := condition.Reference(); ok || kind != "" || threshold != 0 {
				t.Errorf("%s has the pair %s %v", condition, kind, threshold)
			}
		}
	})

	t.Run("EndsOfTheRangeAreAccepted", func(t *testing.T) {
		t.Parallel()
		for kind, bounds := range map[vigil.ConditionType][2]float64{
			vigil.ConsecutiveFailures: {1, 1000}, vigil.ResponseTime: {0, 86400000}, vigil.StatusCode: {100, 999}, vigil.SSLExpiry: {0, 36500},
		} {
			for _, threshold := range bounds {
				condition, err := vigil.ReferenceCondition(kind, threshold)
				if gotKind, got, ok := condition.Reference(); err != nil || gotKind != kind || got != threshold || !ok {
					t.Errorf("%s of %v came back as %s %v %v, %v", kind, threshold, gotKind, got, ok, err)
				}
			}
		}
	})

	t.Run("ThresholdOutOfRangeIsRefusedByName", func(t *testing.T) {
		t.Parallel()
		for kind, bounds := range map[vigil.ConditionType][2]float64{
			vigil.ConsecutiveFailures: {0, 1001}, vigil.ResponseTime: {-1, 86400001}, vigil.StatusCode: {99, 1000}, vigil.SSLExpiry: {-1, 36501},
		} {
			for _, threshold := range append(bounds[:], 500.5, math.NaN(), math.Inf(1)) {
				condition, err := vigil.ReferenceCondition(kind, threshold)
				wantRefused(t, err, "threshold")
				if !reflect.DeepEqual(condition, vigil.Condition{}) {
					t.Errorf("%s of %v was refused with %s", kind, threshold, condition)
				}
			}
		}
		_, err := vigil.ReferenceCondition("weather", 5)
		wantRefused(t, err, "condition_type")
	})

	t.Run("NoPairSaysTwoKeys", func(t *testing.T) {
		t.Parallel()
		if _, _, ok := (vigil.Condition{FailureThreshold: 3, DNSChanged: true}).Reference(); ok {
			t.Error("it has a pair")
		}
		if _, _, ok := (vigil.Condition{HealthStatus: "down"}).Reference(); ok {
			t.Error("a health status has a pair")
		}
	})
}

func FuzzParseCondition(f *testing.F) {
	for _, seed := range []string{`{"failure_threshold":3}`, `{"type":"ssl_expiry","threshold":1}`, `{"dns_changed":true}`, `null`, `[]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		condition, err := vigil.ParseCondition(text)
		if err != nil {
			if vigil.ErrorCode(err) != vigil.CodeInvalid {
				t.Fatalf("the error is %v", err)
			}
			return
		}
		again, err := vigil.ParseCondition([]byte(condition.String()))
		if err != nil || !reflect.DeepEqual(condition, again) {
			t.Fatalf("%s was read as %s, which is read as %s, %v", text, condition, again, err)
		}
	})
}

func TestConditionThatIsAcceptedCanFire(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		condition := rapid.Custom(drawRule).Draw(t, "rule").Condition
		parsed, err := vigil.ParseCondition([]byte(condition.String()))
		if err != nil {
			return
		}
		calm, storm := resultAt(1, true), resultAt(2, false)
		calm.Metadata = map[string]any{vigil.MetadataFingerprint: "a"}
		storm.StatusCode = vigil.MaxStatusCode
		storm.Metadata = map[string]any{vigil.MetadataDays: -1}
		changed := resultAt(3, true)
		changed.Metadata = map[string]any{vigil.MetadataFingerprint: "b"}
		rows := []vigil.Result{calm, storm, changed}
		for i := range parsed.FailureThreshold {
			rows = append(rows, resultAt(4+i, false))
		}
		rule, state, fired := ruleOf(parsed), vigil.State{}, false
		for _, row := range rows {
			var matches []vigil.Match
			state, matches = vigil.Evaluate([]vigil.Rule{rule}, state, row)
			fired = fired || len(matches) > 0
		}
		if !fired {
			t.Fatalf("%s never fires", parsed)
		}
	})
}
