// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

func TestState(t *testing.T) {
	t.Parallel()
	full := vigil.State{
		Type: vigil.TypeHTTP, Slot: epoch(), Health: vigil.Unhealthy, Failures: 3, DNS: "a", Days: new(4), Firing: []uuid.UUID{{1}},
	}

	t.Run("IsKeptForTheSameType", func(t *testing.T) {
		t.Parallel()
		if got := full.For(vigil.TypeHTTP); !reflect.DeepEqual(got, full) {
			t.Errorf("got %+v", got)
		}
	})

	t.Run("WithoutATypeTakesTheCheckType", func(t *testing.T) {
		t.Parallel()
		untyped, want := full, full
		untyped.Type, want.Type = "", vigil.TypeSSL
		if got := untyped.For(vigil.TypeSSL); !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})

	t.Run("OfAnotherTypeKeepsSlotHealthAndTheLastAnswerOnly", func(t *testing.T) {
		t.Parallel()
		want := vigil.State{Type: vigil.TypeSSL, Slot: epoch(), Health: vigil.Unhealthy, DNS: "a"}
		if got := full.For(vigil.TypeSSL); !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})

	t.Run("ComparesTheFiringRules", func(t *testing.T) {
		t.Parallel()
		other := vigil.State{Firing: []uuid.UUID{{1}}}
		if !full.SameFiring(other) || full.SameFiring(vigil.State{}) || full.SameFiring(vigil.State{Firing: []uuid.UUID{{2}}}) {
			t.Error("the firing rules are not compared by their ids")
		}
	})
}

func TestTurnSlots(t *testing.T) {
	t.Parallel()
	const interval, span, loops = time.Minute, 30, 3000
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

	t.Run("CoversOneSlotWithoutASpan", func(t *testing.T) {
		t.Parallel()
		for _, span := range []int{-1, 0, 1} {
			if n := vigil.TurnSlots(uuid.New(), "eu-central-fra", start, interval, span); n != 1 {
				t.Errorf("%d slots with span %d", n, span)
			}
		}
	})

	t.Run("SpreadsTheEndsOfTurnsThatBeginTogether", func(t *testing.T) {
		t.Parallel()
		ends := make(map[int]int)
		for range loops {
			ends[vigil.TurnSlots(uuid.New(), "eu-central-fra", start, interval, span)]++
		}
		for n := 1; n <= span; n++ {
			if got := ends[n]; got < loops/span/2 || got > 2*loops/span {
				t.Errorf("%d of %d turns cover %d slots, want about %d", got, loops, n, loops/span)
			}
			delete(ends, n)
		}
		if len(ends) > 0 {
			t.Errorf("numbers outside of 1 to %d: %v", span, ends)
		}
	})

	t.Run("CoversTheWholeSpanFromTheSecondTurnOn", func(t *testing.T) {
		t.Parallel()
		for range 100 {
			id, first := uuid.New(), start.Add(time.Duration(time.Now().UnixNano()%int64(interval)))
			for turn := range 4 {
				n := vigil.TurnSlots(id, "eu-central-fra", first, interval, span)
				if turn > 0 && n != span {
					t.Fatalf("turn %d covers %d slots, want %d", turn, n, span)
				}
				first = first.Add(time.Duration(n) * interval)
			}
		}
	})

	t.Run("EndsTheTurnsOfTwoRegionsAtDifferentSlots", func(t *testing.T) {
		t.Parallel()
		different := 0
		for range 100 {
			id := uuid.New()
			if vigil.TurnSlots(id, "eu-central-fra", start, interval, span) != vigil.TurnSlots(id, "na-east-ewr", start, interval, span) {
				different++
			}
		}
		if different < 80 {
			t.Errorf("two regions end their turns at different slots for %d of 100 checks only", different)
		}
	})
}

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
