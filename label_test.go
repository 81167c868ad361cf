// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil"
)

func TestLabels(t *testing.T) {
	t.Parallel()
	many := func(n int) vigil.Labels {
		labels := vigil.Labels{}
		for i := range n {
			labels[fmt.Sprintf("key%d", i)] = ""
		}
		return labels
	}
	for name, tt := range map[string]struct {
		labels vigil.Labels
		member string // that the error names; empty: the labels are valid
	}{
		"None":           {nil, ""},
		"EmptyValue":     {vigil.Labels{"a": ""}, ""},
		"EveryCharacter": {vigil.Labels{"az09._/-": "any value, Ω = 1"}, ""},
		"LongestKey":     {vigil.Labels{strings.Repeat("k", 63): "v"}, ""},
		"LongestValue":   {vigil.Labels{"k": strings.Repeat("Ω", 200)}, ""},
		"Twenty":         {many(20), ""},
		"TwentyOne":      {many(21), "labels"},
		"EmptyKey":       {vigil.Labels{"": "v"}, "labels"},
		"LongKey":        {vigil.Labels{strings.Repeat("k", 64): "v"}, "labels"},
		"Capitals":       {vigil.Labels{"Team": "v"}, "labels"},
		"Space":          {vigil.Labels{"a b": "v"}, "labels"},
		"EqualsSign":     {vigil.Labels{"a=b": "v"}, "labels"},
		"Accent":         {vigil.Labels{"é": "v"}, "labels"},
		"LongValue":      {vigil.Labels{"k": strings.Repeat("v", 201)}, "labels.k"},
		"LineBreak":      {vigil.Labels{"k": "a\nb"}, "labels.k"},
		"NUL":            {vigil.Labels{"k": "a\x00b"}, "labels.k"},
		"OtherDirection": {vigil.Labels{"k": "pay\u202egnp"}, "labels.k"},
		"NoWidth":        {vigil.Labels{"k": "a\u200bb"}, "labels.k"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkMember(t, tt.labels.Validate(), tt.member)
		})
	}
}

func TestLabelSelectors(t *testing.T) {
	t.Parallel()
	got, err := vigil.ParseLabelSelectors("label", []string{"team", "env=a=b", "x=", "old=a\u200bb"})
	if err != nil || len(got) != 4 || got[0].Key != "team" || got[0].Value != nil || got[1].Key != "env" || *got[1].Value != "a=b" ||
		*got[2].Value != "" {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, texts := range [][]string{{"=v"}, {"Team"}, {"a b=v"}, {"k=" + strings.Repeat("v", 201)}, make([]string, 21)} {
		_, err := vigil.ParseLabelSelectors("label", texts)
		checkMember(t, err, "label")
	}
}

// checkMember fails the test unless err is about the member; an empty one wants no error.
func checkMember(t *testing.T, err error, member string) {
	t.Helper()
	if member == "" {
		if err != nil {
			t.Error(err)
		}
		return
	}
	if vigil.ErrorCode(err) != vigil.CodeInvalid || !strings.HasPrefix(vigil.ErrorMessage(err), member+": ") {
		t.Errorf("got %v, want an error about %s", err, member)
	}
}
