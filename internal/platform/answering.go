// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"time"
)

// A process that answers pings says so every answeringEvery. A longer silence of all processes than
// answeringPause is a time in which no ping could be received; a process that starts says so from the
// first moment in which none answered.
const (
	answeringEvery = 250 * time.Millisecond
	answeringPause = 1500 * time.Millisecond
	answeringStart = 600 * time.Millisecond
	answeringLimit = 5 * time.Second
)

// markAnswering records that this process answers pings, until ctx ends.
func (p *Platform) markAnswering(ctx context.Context) {
	tick := time.NewTicker(answeringEvery)
	defer tick.Stop()
	for pause := answeringStart; ; {
		limited, cancel := context.WithTimeout(ctx, answeringLimit)
		err := p.store.MarkAnswering(limited, pause)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			p.Log.DebugContext(ctx, "not recorded that pings are answered", "error", err)
		default:
			pause = answeringPause
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
