// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil"
)

func TestEventTypes(t *testing.T) {
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
}

func TestParsePosition(t *testing.T) {
	t.Parallel()
	if p, err := vigil.ParsePosition("since", "1767225600000-42"); err != nil || p != (vigil.Position{MS: 1767225600000, Seq: 42}) {
		t.Errorf("got %v, %v", p, err)
	}
	for _, bad := range []string{"", "1", "1-", "-1", "1-2-3", "01-2", "+1-2", "1--2", " 1-2", "99999999999999999999-1"} {
		if _, err := vigil.ParsePosition("since", bad); vigil.ErrorCode(err) != vigil.CodeInvalid {
			t.Errorf("%q gave %v", bad, err)
		}
	}
}

func FuzzParsePosition(f *testing.F) {
	f.Add("0-0")
	f.Add("1767225600000-42")
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := vigil.ParsePosition("since", text); err == nil && p.String() != text {
			t.Fatalf("%q was read as %v", text, p)
		}
	})
}
