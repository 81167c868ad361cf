// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

func TestSystemEvents(t *testing.T) {
	t.Parallel()
	for _, kind := range vigil.SystemEvents() {
		if !kind.System() || kind.OfIncident() || kind.Unobserved() || kind.Opens() == kind.Ends() {
			t.Errorf("%s: system %t, of an incident %t, opens %t, ends %t", kind, kind.System(), kind.OfIncident(), kind.Opens(), kind.Ends())
		}
	}
	for _, kind := range []vigil.EventType{vigil.EventTriggered, vigil.EventAcknowledged, vigil.EventResolved} {
		if kind.System() || !kind.OfIncident() || !strings.HasPrefix(string(kind), "incident.") {
			t.Errorf("%s is of no incident", kind)
		}
	}
	if _, err := vigil.NewSystemEvent(&vigil.SystemContext{
		Type: vigil.EventDrillFailed, SubjectID: uuid.New(), Data: map[string]any{"drill": strings.Repeat("x", vigil.MaxEnvelope)},
	}); err == nil {
		t.Error("an event that no channel can hold was made")
	}
}
