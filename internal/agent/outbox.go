// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/vigil-monitor/vigil/internal/agentlink"
)

const (
	// outboxBytes and outboxAge are how much waits in memory, and for how long, before it is written
	// to the spool. A result in memory takes itemOverhead beside its JSON.
	outboxBytes  = 1 << 20
	outboxAge    = 5 * time.Second
	itemOverhead = 100
	// outboxMost is how much stays in memory when the disk takes nothing.
	outboxMost = 4 << 20
)

// outbox has the results that the platform has not acknowledged: the newest in memory, and those
// before them in the spool.
type outbox struct {
	spool *spool
	log   *slog.Logger
	wake  chan struct{} // has a buffer of one
	// urgent has that a result came which is not calm, and a buffer of one.
	urgent chan struct{}

	mu      sync.Mutex
	fresh   []item // in their order
	bytes   int
	taken   int   // of fresh, how many are being sent
	dropped int64 // since the disk took nothing
}

func newOutbox(s *spool, log *slog.Logger) *outbox {
	return &outbox{spool: s, log: log, wake: make(chan struct{}, 1), urgent: make(chan struct{}, 1)}
}

// add takes a result. One is calm that says what the one before it said.
func (o *outbox) add(result agentlink.Result, calm bool, now time.Time) {
	encoded, err := json.Marshal(&result)
	if err != nil || len(encoded) > maxRecord {
		o.log.Warn("a result cannot be sent", "check", result.CheckID, "bytes", len(encoded), "error", err)
		return
	}
	o.mu.Lock()
	o.fresh = append(o.fresh, item{json: encoded, slot: result.Slot, calm: calm, added: now})
	o.bytes += len(encoded) + itemOverhead
	full := o.bytes > outboxBytes
	o.mu.Unlock()
	if full {
		o.spill(now, false)
	}
	if !calm {
		signal(o.urgent)
	}
	signal(o.wake)
}

// signal notes in a channel with a buffer of one that there is something.
func signal(in chan struct{}) {
	select {
	case in <- struct{}{}:
	default:
	}
}

// take returns the first results in memory, which done ends: at most so many, and bytes of JSON.
func (o *outbox) take(most, bytes int) []item {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, size := 0, 0
	for n < len(o.fresh) && n < most {
		if size += len(o.fresh[n].json) + 1; n > 0 && size > bytes {
			break
		}
		n++
	}
	o.taken = n
	return slices.Clone(o.fresh[:n])
}

// done ends take. Results that were acknowledged leave the memory.
func (o *outbox) done(acknowledged bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if acknowledged {
		o.cut(o.taken)
	}
	o.taken = 0
}

// cut removes the first results. The caller has the lock.
func (o *outbox) cut(n int) {
	for _, one := range o.fresh[:n] {
		o.bytes -= len(one.json) + itemOverhead
	}
	rest := copy(o.fresh, o.fresh[n:])
	clear(o.fresh[rest:])
	o.fresh = o.fresh[:rest]
	if cap(o.fresh) > 4096 && rest < cap(o.fresh)/8 {
		o.fresh = slices.Clone(o.fresh)
	}
}

// spill writes what is too old or too much for the memory, or all, to the spool.
func (o *outbox) spill(now time.Time, all bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, left := 0, o.bytes
	for n < len(o.fresh) && (all || left > outboxBytes/2 && o.bytes > outboxBytes || now.Sub(o.fresh[n].added) > outboxAge) {
		left -= len(o.fresh[n].json) + itemOverhead
		n++
	}
	if n == 0 || o.taken > 0 && !all {
		return // what is being sent has its answer soon
	}
	if err := o.spool.write(o.fresh[:n], false); err != nil {
		o.log.Error("results cannot be written to the disk", "error", err)
		for o.bytes > outboxMost {
			o.dropped++
			o.cut(1)
		}
		return
	}
	o.taken = max(0, o.taken-n)
	o.cut(n)
}

// waiting reports how many results are in memory.
func (o *outbox) waiting() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.fresh)
}

// state returns what the platform has not acknowledged.
func (o *outbox) state() agentlink.Spool {
	found := o.spool.state()
	o.mu.Lock()
	defer o.mu.Unlock()
	found.Dropped += o.dropped
	return found
}
