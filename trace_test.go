// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

func TestTraceIDs(t *testing.T) {
	t.Parallel()
	check, rule, other := uuid.New(), uuid.New(), uuid.New()
	slot := time.Date(2026, 3, 4, 5, 6, 7, 891234567, time.UTC)
	at := func(region string, slot time.Time, firing ...uuid.UUID) vigil.Vote {
		return vigil.Vote{Region: region, Slot: slot, Firing: firing}
	}
	open := func(votes ...vigil.Vote) string {
		return (&vigil.OpenRequest{ID: check, CheckID: check, Rules: []uuid.UUID{rule}, Votes: votes}).TraceID()
	}

	t.Run("AreThoseOfTraceContext", func(t *testing.T) {
		t.Parallel()
		trace, span := vigil.SlotTrace(check, "a", slot), vigil.SpanID("x", "y")
		if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(trace) || !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(span) {
			t.Errorf("trace %q, span %q", trace, span)
		}
		if got := vigil.Traceparent(trace, span); got != "00-"+trace+"-"+span+"-01" {
			t.Errorf("the header is %q", got)
		}
	})
	t.Run("OfATurnIsTheIDOfItsResultAsItIsStored", func(t *testing.T) {
		t.Parallel()
		stored := slot.Truncate(time.Microsecond)
		want := strings.ReplaceAll(vigil.ResultID(check, "a", stored).String(), "-", "")
		if got := vigil.SlotTrace(check, "a", slot.In(time.FixedZone("", 3600))); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
	t.Run("OfAnIncidentIsThatOfTheFirstTurnThatSawOneOfItsRules", func(t *testing.T) {
		t.Parallel()
		first, later := at("b", slot, rule), at("a", slot.Add(time.Second), rule)
		unrelated, quiet := at("c", slot.Add(-time.Hour), other), at("d", slot.Add(-time.Hour))
		want := vigil.SlotTrace(check, "b", slot)
		if got := open(later, unrelated, first, quiet); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if got := open(at("c", slot, rule), first); got != want {
			t.Errorf("two at the same slot: got %s, want that of the first region, %s", got, want)
		}
	})
}
