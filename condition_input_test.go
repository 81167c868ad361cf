// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/vigil-monitor/vigil"
)

func TestConditionInput(t *testing.T) {
	t.Parallel()
	three := vigil.Condition{FailureThreshold: 3, Severity: vigil.Warning}
	kind := func(k vigil.ConditionType) *vigil.ConditionType { return &k }
	for _, test := range []struct {
		name   string
		in     vigil.ConditionInput
		stored *vigil.Condition
		want   *vigil.Condition // nil: refused
	}{
		{"ObjectAlone", vigil.ConditionInput{Condition: json.RawMessage(`{"failure_threshold":3}`)}, nil, &vigil.Condition{FailureThreshold: 3}},
		{"PairAlone", vigil.ConditionInput{Type: kind("consecutive_failures"), Threshold: new(3.0)}, nil, &vigil.Condition{FailureThreshold: 3}},
		{
			"BothThatAgree",
			vigil.ConditionInput{
				Condition: json.RawMessage(`{"failure_threshold":3,"severity":"info"}`),
				Type:      kind("consecutive_failures"),
				Threshold: new(3.0),
			},
			nil,
			&vigil.Condition{FailureThreshold: 3, Severity: vigil.Info},
		},
		{
			"BothThatDisagree",
			vigil.ConditionInput{Condition: json.RawMessage(`{"failure_threshold":2}`), Type: kind("consecutive_failures"), Threshold: new(3.0)},
			nil,
			nil,
		},
		{"Nothing", vigil.ConditionInput{}, nil, nil},
		{"NullObject", vigil.ConditionInput{Condition: json.RawMessage(`null`)}, nil, nil},
		{"HalfAPair", vigil.ConditionInput{Threshold: new(3.0)}, nil, nil},
		{"NothingKeepsWhatIsStored", vigil.ConditionInput{}, &three, &three},
		{
			"ThresholdAloneCompletesThePair",
			vigil.ConditionInput{Threshold: new(5.0)},
			&three,
			&vigil.Condition{FailureThreshold: 5, Severity: vigil.Warning},
		},
		{
			"ThresholdAloneKeepsTheRecoveryThreshold",
			vigil.ConditionInput{Threshold: new(5.0)},
			&vigil.Condition{FailureThreshold: 3, RecoveryThreshold: 4},
			&vigil.Condition{FailureThreshold: 5, RecoveryThreshold: 4},
		},
		{
			"RecoveryThresholdBesideTheSamePair",
			vigil.ConditionInput{
				Condition: json.RawMessage(`{"failure_threshold":3,"recovery_threshold":4,"severity":"warning"}`),
				Type:      kind("consecutive_failures"),
				Threshold: new(3.0),
			},
			&three,
			&vigil.Condition{FailureThreshold: 3, RecoveryThreshold: 4, Severity: vigil.Warning},
		},
		{"OtherTypeNeedsItsThreshold", vigil.ConditionInput{Type: kind("response_time")}, &three, nil},
		{
			"ReadAndWrittenBack",
			vigil.ConditionInput{
				Condition: json.RawMessage(`{"failure_threshold":3,"severity":"warning"}`),
				Type:      kind("consecutive_failures"),
				Threshold: new(3.0),
			},
			&three,
			&three,
		},
		{
			"ReadAndTheObjectChanged",
			vigil.ConditionInput{
				Condition: json.RawMessage(`{"failure_threshold":4,"severity":"warning"}`),
				Type:      kind("consecutive_failures"),
				Threshold: new(3.0),
			},
			&three,
			&vigil.Condition{FailureThreshold: 4, Severity: vigil.Warning},
		},
		{
			"ReadAndThePairChanged",
			vigil.ConditionInput{
				Condition: json.RawMessage(`{"failure_threshold":3,"severity":"warning"}`),
				Type:      kind("consecutive_failures"),
				Threshold: new(6.0),
			},
			&three,
			&vigil.Condition{FailureThreshold: 6, Severity: vigil.Warning},
		},
		{"BrokenObject", vigil.ConditionInput{Condition: json.RawMessage(`{`)}, nil, nil},
		{"OneByteIsNoObject", vigil.ConditionInput{Condition: json.RawMessage(`5`)}, &three, nil},
		{"BrokenPairAlone", vigil.ConditionInput{Type: kind("response_time"), Threshold: new(-1.0)}, nil, nil},
		{
			"BrokenObjectBesideAPair",
			vigil.ConditionInput{Condition: json.RawMessage(`{}`), Type: kind("response_time"), Threshold: new(5.0)},
			nil,
			nil,
		},
		{
			"BrokenPairBesideAnObject",
			vigil.ConditionInput{Condition: json.RawMessage(`{"failure_threshold":3}`), Type: kind("response_time"), Threshold: new(-1.0)},
			nil,
			nil,
		},
		{
			"NullObjectBesideAPair",
			vigil.ConditionInput{Condition: json.RawMessage(`null`), Type: kind("response_time"), Threshold: new(5.0)},
			nil,
			&vigil.Condition{ResponseTimeMS: new(5)},
		},
		{"TypeAloneOfARuleBeingCreated", vigil.ConditionInput{Type: kind("response_time")}, nil, nil},
		{"SameTypeKeepsItsThreshold", vigil.ConditionInput{Type: kind("consecutive_failures")}, &three, &three},
		{"ThresholdAloneOfAConditionWithoutAPair", vigil.ConditionInput{Threshold: new(5.0)}, &vigil.Condition{DNSChanged: true}, nil},
		{
			"PairReplacesAConditionWithoutOne",
			vigil.ConditionInput{Type: kind("ssl_expiry"), Threshold: new(5.0)},
			&vigil.Condition{DNSChanged: true, Severity: vigil.Info},
			&vigil.Condition{SSLDaysRemaining: new(5), Severity: vigil.Info},
		},
		{
			"PairKeepsTheSeverity",
			vigil.ConditionInput{Type: kind("response_time"), Threshold: new(9.0)},
			&three,
			&vigil.Condition{ResponseTimeMS: new(9), Severity: vigil.Warning},
		},
		{
			"ObjectWithoutSeverityClearsIt",
			vigil.ConditionInput{Condition: json.RawMessage(`{"failure_threshold":3}`)},
			&three,
			&vigil.Condition{FailureThreshold: 3},
		},
		{
			"ReadAndOnlyTheSeverityChanged",
			vigil.ConditionInput{
				Condition: json.RawMessage(`{"failure_threshold":3,"severity":"info"}`),
				Type:      kind("consecutive_failures"),
				Threshold: new(3.0),
			},
			&three,
			&vigil.Condition{FailureThreshold: 3, Severity: vigil.Info},
		},
		{
			"ReadAndSeverityAndThresholdChanged",
			vigil.ConditionInput{
				Condition: json.RawMessage(`{"failure_threshold":3,"severity":"info"}`),
				Type:      kind("consecutive_failures"),
				Threshold: new(6.0),
			},
			&three,
			&vigil.Condition{FailureThreshold: 6, Severity: vigil.Info},
		},
		{
			"ObjectOfARuleBeingCreatedNeverYieldsToThePair",
			vigil.ConditionInput{Condition: json.RawMessage(`{"failure_threshold":3}`), Threshold: new(6.0), Type: kind("response_time")},
			nil,
			nil,
		},
		{
			"ReadAndBothChangedApart",
			vigil.ConditionInput{Condition: json.RawMessage(`{"failure_threshold":4}`), Type: kind("consecutive_failures"), Threshold: new(6.0)},
			&three,
			nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := test.in.Resolve(test.stored)
			switch {
			case test.want == nil && (vigil.ErrorCode(err) != vigil.CodeInvalid || !reflect.DeepEqual(got, vigil.Condition{})):
				t.Errorf("got %v, %v, want a refusal", got, err)
			case test.want != nil && (err != nil || !reflect.DeepEqual(got, *test.want)):
				t.Errorf("got %v, %v, want %v", got, err, *test.want)
			}
		})
	}
}

func TestConditionInputGiven(t *testing.T) {
	t.Parallel()
	kind := vigil.ResponseTime
	for name, test := range map[string]struct {
		in   vigil.ConditionInput
		want bool
	}{
		"Nothing":    {vigil.ConditionInput{}, false},
		"NullObject": {vigil.ConditionInput{Condition: json.RawMessage(`null`)}, false},
		"Object":     {vigil.ConditionInput{Condition: json.RawMessage(`{}`)}, true},
		"Type":       {vigil.ConditionInput{Type: &kind}, true},
		"Threshold":  {vigil.ConditionInput{Threshold: new(0.0)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.in.Given(); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
