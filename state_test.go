// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"reflect"
	"testing"

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
