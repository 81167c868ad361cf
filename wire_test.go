// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"testing"

	"github.com/vigil-monitor/vigil"
)

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
