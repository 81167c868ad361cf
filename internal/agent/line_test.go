// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"net"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/agent"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// While no canary answers, the failure of a public target is a missed slot, and the platform learns that
// the agent is blind.
func TestLineIsLost(t *testing.T) {
	t.Parallel()
	p := newFakePlatform(t)
	canary, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = canary.Close() })
	answered := make(chan struct{})
	go func() {
		for first := true; ; first = false {
			conn, err := canary.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
			if first {
				close(answered)
			}
		}
	}()
	const public = "http://no-such-host.example.invalid/"
	before := p.set(httpCheck(time.Second), config(public))
	start(t, p, func(o *agent.Options) { o.Canaries = []string{canary.Addr().String()} })
	timingtest.Eventually(t, soon, "a failure counts while the canary answers", func() bool {
		found := p.of(before)
		return len(found) > 0 && !found[0].Observation.Success
	})
	<-answered
	_ = canary.Close()
	after := p.set(httpCheck(time.Second), config(public))
	timingtest.Eventually(t, soon, "the agent is blind", func() bool { return p.last().Blind })
	if found := p.of(after); len(found) > 0 {
		t.Errorf("a failure without a line has a result: %+v", found[0])
	}
}
