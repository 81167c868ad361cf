// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing"
)

// A process that answers pings says so every answeringEvery. A longer silence of all processes than
// answeringPause is a time in which no ping could be received; a process that starts says so from the
// first moment in which none answered.
//
// While there are no heartbeats it looks every answeringIdle, so that the pings of the first one are
// answered for from its first second on.
const (
	answeringEvery = 250 * time.Millisecond
	answeringIdle  = time.Second
	answeringPause = 1500 * time.Millisecond
	answeringStart = 600 * time.Millisecond
	answeringLimit = 5 * time.Second
)

// markAnswering records that this process answers pings, until ctx ends.
func (p *Platform) markAnswering(ctx context.Context) {
	for pause := answeringStart; ; {
		limited, cancel := context.WithTimeout(ctx, answeringLimit)
		heartbeats, err := p.store.MarkAnswering(limited, pause)
		cancel()
		next := answeringEvery
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			p.Log.DebugContext(ctx, "not recorded that pings are answered", "error", err)
		default:
			pause = answeringPause
			if !heartbeats {
				next = answeringIdle
			}
		}
		if timing.Sleep(ctx, next) != nil {
			return
		}
	}
}
