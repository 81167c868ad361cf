// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"testing"
	"time"

	probing "github.com/prometheus-community/pro-bing"
)

// TestPingAtTheEdge: a loss just above what is allowed does not look like it. The loopback loses
// nothing, so the statistics are made.
func TestPingAtTheEdge(t *testing.T) {
	t.Parallel()
	p := pingProbe{config: PingConfig{PacketCount: 3, MaxPacketLossPercent: 33}, deadline: time.Second}
	err := p.judge(&probing.Statistics{PacketsSent: 3, PacketsRecv: 2}, &PingMetadata{})
	if err == nil || err.Error() != "1 of 3 echo requests had no reply (33.33 %), expected at most 33 %" {
		t.Errorf("got %v", err)
	}
}
