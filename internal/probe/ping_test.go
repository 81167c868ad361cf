// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
)

var _ = addFixture(fixturePing)

// fixturePing is the fixture of the ping type.
func fixturePing(f *world) fixture {
	return fixture{
		kind:    vigil.TypePing,
		healthy: object{"host": "127.0.0.1", "packet_count": 2},
		failing: object{"host": "no-such-host.onion", "timeout_seconds": 1},
		silent:  object{"host": "no-such-host.onion"},
		secrets: []string{"there is no secret in this type"},
	}
}

func TestPing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.Available(t.Context())[vigil.TypePing]; err != nil {
		seen := w.run(vigil.TypePing, object{"host": "127.0.0.1"})
		if !seen.Unavailable || !strings.Contains(seen.Error, "not available in this region") {
			t.Errorf("without ICMP the observation must say so: %+v", seen)
		}
		t.Skip(err)
	}
	seen := w.run(vigil.TypePing, object{"host": "127.0.0.1", "packet_count": 3})
	if !seen.Success || seen.Metadata["packets_sent"] != 3.0 || seen.Metadata["packets_received"] != 3.0 ||
		seen.Metadata["packet_loss_percent"] != 0.0 {
		t.Errorf("got %+v", seen)
	}
	low, _ := seen.Metadata["rtt_min_ms"].(float64)
	mean, _ := seen.Metadata["rtt_avg_ms"].(float64)
	high, _ := seen.Metadata["rtt_max_ms"].(float64)
	if low <= 0 || low > mean || mean > high ||
		seen.ResponseTime.Round(time.Microsecond) != time.Duration(mean*float64(time.Millisecond)).Round(time.Microsecond) {
		t.Errorf("round trips %v %v %v, response time %v", low, mean, high, seen.ResponseTime)
	}
}

func TestPingIsRefused(t *testing.T) {
	t.Parallel()
	_, err := newWorld(t).Parse(vigil.TypePing, encode(t, object{"host": "169.254.169.254"}), minute)
	rejected(t, err, "config.host")
}

func TestAvailabilityOutlivesAnEndedContext(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = w.Available(ctx)
	first, second := w.Available(t.Context())[vigil.TypePing], newWorld(t).Available(t.Context())[vigil.TypePing]
	if (first == nil) != (second == nil) {
		t.Errorf("an ended context left %v behind, a fresh one says %v", first, second)
	}
}
