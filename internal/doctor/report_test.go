// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/doctor"
)

func said(part string, state doctor.State, message string) doctor.Probe {
	return doctor.Probe{Part: part, Look: func(context.Context) []doctor.Finding {
		return []doctor.Finding{{Part: part, State: state, Message: message}}
	}}
}

func TestExamine(t *testing.T) {
	t.Parallel()
	t.Run("KeepsTheOrderOfTheProbesAndCounts", func(t *testing.T) {
		t.Parallel()
		first := make(chan struct{})
		report := doctor.Examine(t.Context(), []doctor.Probe{
			{Part: "a", Look: func(context.Context) []doctor.Finding {
				<-first // ends after the one behind it
				return []doctor.Finding{{Part: "a", State: doctor.Fail}}
			}},
			{Part: "b", Look: func(context.Context) []doctor.Finding {
				close(first)
				return []doctor.Finding{{Part: "b", State: doctor.Warn}, {Part: "b", State: doctor.OK}}
			}},
			{Part: "unused", Look: func(context.Context) []doctor.Finding { return nil }},
		}, time.Minute)
		var parts []string
		for _, f := range report.Findings {
			parts = append(parts, f.Part)
		}
		if !slices.Equal(parts, []string{"a", "b", "b"}) || report.Problems != 1 || report.Warnings != 1 {
			t.Errorf("the report is %+v", report)
		}
		if got := report.Summary(); got != "1 problem, 1 warning." {
			t.Errorf("the summary is %q", got)
		}
	})
	t.Run("LeavesAProbeBehindThatTakesTooLong", func(t *testing.T) {
		t.Parallel()
		never := make(chan struct{})
		t.Cleanup(func() { close(never) })
		report := doctor.Examine(t.Context(), []doctor.Probe{
			{Part: "slow", Look: func(context.Context) []doctor.Finding {
				<-never // does not even end with its context
				return nil
			}},
			said("quick", doctor.OK, "here"),
		}, 20*time.Millisecond)
		if len(report.Findings) != 2 || report.Findings[0].State != doctor.Warn || report.Findings[1].Message != "here" ||
			report.Findings[0].Message != "not known: no answer within 20ms" {
			t.Errorf("the report is %+v", report)
		}
	})
	t.Run("SaysThatEverythingIsFine", func(t *testing.T) {
		t.Parallel()
		report := doctor.Examine(t.Context(), []doctor.Probe{said("a", doctor.OK, "")}, time.Minute)
		if got := report.Summary(); got != "Everything is fine." {
			t.Errorf("the summary is %q", got)
		}
	})
}

func TestHide(t *testing.T) {
	t.Parallel()
	report := doctor.Report{Findings: []doctor.Finding{
		{Message: "postgres://ada:open-sesame@db refuses open-sesame", Remedies: []string{"psql postgres://ada:open-sesame@db"}},
		{Message: "the user is up"},
	}}
	report.Hide([]string{"", "up", "open-sesame"})
	for _, f := range report.Findings {
		if text := f.Message + strings.Join(f.Remedies, " "); strings.Contains(text, "sesame") {
			t.Errorf("the report has %q", text)
		}
	}
	if got := report.Findings[0].Message; got != "postgres://ada:***@db refuses ***" {
		t.Errorf("the message is %q", got)
	}
	if got := report.Findings[1].Message; got != "the user is up" {
		t.Errorf("a word of the report is hidden: %q", got)
	}
}
