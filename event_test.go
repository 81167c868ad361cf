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

// The words of JSON, SQL and recorded histories never change.
func TestWireWords(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"critical": string(vigil.Critical), "warning": string(vigil.Warning), "info": string(vigil.Info),
		"unhealthy": string(vigil.NotifyUnhealthy), "healthy": string(vigil.NotifyHealthy), "both": string(vigil.NotifyBoth),
		"any": string(vigil.AnyRegion), "majority": string(vigil.MostRegions), "all": string(vigil.AllRegions),
		"active": string(vigil.IncidentActive), "acknowledged": string(vigil.IncidentAcknowledged), "resolved": string(vigil.IncidentResolved),
		"automatic": string(vigil.ResolvedAutomatically), "manual": string(vigil.ResolvedManually),
		"check_removed": string(vigil.ResolvedCheckRemoved),
		"pending":       string(vigil.DeliveryPending), "delivered": string(vigil.DeliveryDelivered),
		"exhausted":  string(vigil.DeliveryExhausted),
		"superseded": string(vigil.DeliverySuperseded), "canceled": string(vigil.DeliveryCanceled),
		"unknown": vigil.AttemptUnknown, "delivery": vigil.DeliveryQueue,
		"consecutive_failures": string(vigil.ConsecutiveFailures), "response_time": string(vigil.ResponseTime),
		"ssl_expiry":    string(vigil.SSLExpiry),
		"health_status": vigil.KeyHealthStatus, "failure_threshold": vigil.KeyFailureThreshold, "response_time_ms": vigil.KeyResponseTime,
		"dns_changed": vigil.KeyDNSChanged, "ssl_days_remaining": vigil.KeySSLDaysRemaining, "severity": vigil.KeySeverity,
		"recovery_threshold": vigil.KeyRecoveryThreshold,
		"fingerprint":        vigil.MetadataFingerprint, "days_remaining": vigil.MetadataDays, "cert_days_remaining": vigil.MetadataCertDays,
		":": vigil.FingerprintSeparator,
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if vigil.StatusCode != "status_code" || vigil.KeyStatusCode != "status_code" {
		t.Errorf("got %q and %q, want status_code", vigil.StatusCode, vigil.KeyStatusCode)
	}
}
