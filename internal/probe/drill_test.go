// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/drills"
	"github.com/vigil-monitor/vigil/internal/probe"
)

// TestDrill proves that the type of drills fails when it should, and that only those who ask for
// it know it.
func TestDrill(t *testing.T) {
	t.Parallel()
	known := probe.NewRegistry(nil)
	if _, err := known.Parse(
		vigil.TypeDrill,
		json.RawMessage(`{"fails": true}`),
		drills.Interval,
	); vigil.ErrorCode(
		err,
	) != vigil.CodeInvalid {
		t.Errorf("a registry of the API reads it: %v", err)
	}
	if slices.Contains(known.Types(), vigil.TypeDrill) || known.Config(vigil.TypeDrill) != nil {
		t.Error("it is documented")
	}
	for text, success := range map[string]bool{`{"fails": true}`: false, `{"fails": false}`: true} {
		p, err := probe.NewRegistry(nil, probe.WithDrills()).Parse(vigil.TypeDrill, json.RawMessage(text), drills.Interval)
		if err != nil {
			t.Fatal(err)
		}
		if seen := p.Run(t.Context()); seen.Success != success || success == (seen.Error != "") {
			t.Errorf("%s: %+v", text, seen)
		}
	}
}
