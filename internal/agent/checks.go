// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"container/heap"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/agentlink"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/timing"
)

// leastInterval is the shortest interval that is probed.
const leastInterval = time.Second

// How far back a slot may lie that an agent probes when a check becomes its own: as far as no agent may
// have probed it.
const (
	// takesOverNew is for a check that no other agent had: the time in which a program is started again.
	takesOverNew = 15 * time.Second
	// takesOverGone is for one of an agent that is gone, and takesOverShared for one of an agent that lives.
	takesOverGone   = agentlink.AgentTimeout + 3*agentlink.ReportEvery
	takesOverShared = 2 * agentlink.ReportEvery
	// takesOverIn is the time over which such slots of many checks are spread, and takesNewIn that
	// for a check that no other agent had. The memory of an agent depends on it.
	takesOverIn = time.Second
	takesNewIn  = 5 * time.Second
)

// definition is a revision of a check, ready to run.
type definition struct {
	content  [sha256.Size]byte // of all that it was made of
	id       uuid.UUID
	revision int64
	kind     vigil.CheckType
	schedule vigil.Schedule
	retry    vigil.Retry
	evidence bool
	probe    probe.Probe
}

// entry is a check that the agent knows. Its members are guarded by the lock of checks.
type entry struct {
	*definition

	mine    bool
	running bool          // a probe is under way, or waits for its place
	failed  *failedProbe  // waits to be repeated; nil: the next probe is the first of its slot
	last    time.Time     // the newest slot that was probed or given up
	floor   time.Time     // no slot before it is probed
	within  time.Duration // over which the first one is spread
	state   vigil.State   // a fold over what was observed
	slow    bool          // the last probe took long
	at      time.Time     // when the next probe begins
	slot    time.Time     // and for which slot
	index   int           // in the heap, -1 when it is not there
	said    bool          // that the machine cannot run it
}

// checks are the checks that the agent knows, and when each is due.
type checks struct {
	registry *probe.Registry
	open     func(*agentlink.Check) ([]byte, error)
	now      func() time.Time // the corrected clock
	log      *slog.Logger
	wake     chan struct{} // has a buffer of one

	mu      sync.Mutex
	known   map[uuid.UUID]*entry
	cannot  map[uuid.UUID]int64 // checks that cannot run here, and the revision for which that was said
	due     dueHeap
	looked  time.Time // what the clock was when the scheduler looked last
	self    uuid.UUID // the session of this agent in agents
	agents  []uuid.UUID
	stopped bool

	probing context.Context //nolint:containedctx // ends what runs when all is forgotten
	forgets context.CancelFunc
	flying  sync.WaitGroup
}

func newChecks(ctx context.Context, opts *Options, open func(*agentlink.Check) ([]byte, error), now func() time.Time) *checks {
	c := &checks{
		registry: opts.Registry, open: open, now: now, log: opts.Log, wake: make(chan struct{}, 1),
		known: make(map[uuid.UUID]*entry), cannot: make(map[uuid.UUID]int64),
	}
	c.probing, c.forgets = context.WithCancel(ctx)
	return c
}

// read opens a definition and makes its probe.
func (c *checks) read(check *agentlink.Check) (*definition, error) {
	config, err := c.open(check)
	if err != nil {
		return nil, err
	}
	d := &definition{
		content: contentOf(check, config), id: check.ID, revision: check.Revision, kind: check.Type, schedule: check.Schedule(),
		retry: check.Retry.Retry(), evidence: !check.NoEvidence,
	}
	if d.schedule.Interval < leastInterval {
		return nil, fmt.Errorf("its interval of %v is shorter than %v", d.schedule.Interval, leastInterval)
	}
	if check.Type == vigil.TypeHeartbeat {
		return nil, fmt.Errorf("a %s is not probed", check.Type)
	}
	if d.probe, err = c.registry.Parse(check.Type, config, d.schedule.Interval); err != nil {
		return nil, fmt.Errorf("its config cannot be read: %s", vigil.ErrorMessage(err))
	}
	return d, nil
}

// contentOf returns a hash of a definition. A config is sealed in another way each time that it comes.
func contentOf(check *agentlink.Check, config []byte) [sha256.Size]byte {
	open := *check
	open.Sealed = config
	text, _ := json.Marshal(open) // of plain members
	return sha256.Sum256(text)
}

// apply takes an event of the stream. A definition that is as it was leaves alone what runs.
func (c *checks) apply(ctx context.Context, event *agentlink.Definitions) {
	read := make([]*definition, len(event.Checks))
	problems := make([]error, len(event.Checks))
	for i := range event.Checks {
		read[i], problems[i] = c.read(&event.Checks[i])
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range event.Checks {
		check := &event.Checks[i]
		if err := problems[i]; err != nil {
			c.remove(check.ID)
			if said, ok := c.cannot[check.ID]; !ok || said != check.Revision {
				c.log.WarnContext(ctx, "a check cannot run here: its slots are missed",
					"check", check.ID, "type", check.Type, "revision", check.Revision, "reason", err)
			}
			c.cannot[check.ID] = check.Revision
			continue
		}
		delete(c.cannot, check.ID)
		c.set(read[i])
	}
	for _, id := range event.Gone {
		c.remove(id)
		delete(c.cannot, id)
	}
	c.nudge()
}

// keep forgets all checks but some.
func (c *checks) keep(some map[uuid.UUID]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.known {
		if !some[id] {
			c.remove(id)
		}
	}
	maps.DeleteFunc(c.cannot, func(id uuid.UUID, _ int64) bool { return !some[id] })
	c.nudge()
}

// set takes a definition. The caller has the lock.
func (c *checks) set(d *definition) {
	e := c.known[d.id]
	switch {
	case e == nil:
		e = &entry{definition: d, index: -1, floor: c.now().Add(-takesOverNew), within: takesOverIn}
		c.known[d.id] = e
		e.mine = c.isMine(d.id)
	case e.revision > d.revision || e.content == d.content:
		return
	default:
		e.definition, e.failed, e.said = d, nil, false
	}
	e.state = e.state.For(d.kind)
	c.arm(e)
}

// remove forgets a check. The caller has the lock.
func (c *checks) remove(id uuid.UUID) {
	if e := c.known[id]; e != nil {
		e.mine = false
		c.arm(e)
		delete(c.known, id)
	}
}

// isMine reports whether this agent probes a check. The caller has the lock.
func (c *checks) isMine(id uuid.UUID) bool {
	return c.self != uuid.Nil && agentlink.Share(id, c.agents) == c.self
}

// share takes the agents of the location that live; self is this one.
func (c *checks) share(self uuid.UUID, agents []uuid.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if self == c.self && slices.Equal(agents, c.agents) {
		return
	}
	wasSelf, before := c.self, c.agents
	c.self, c.agents = self, slices.Clone(agents)
	now := c.now()
	for id, e := range c.known {
		was := e.mine
		e.mine = c.isMine(id)
		if was || !e.mine {
			c.arm(e)
			continue
		}
		back, within := takesOverNew, takesOverIn
		switch owner := agentlink.Share(id, before); {
		case owner == uuid.Nil && len(agents) > 1:
			back = takesOverShared
		case owner == uuid.Nil || owner == wasSelf:
			within = takesNewIn
		case slices.Contains(agents, owner):
			back = takesOverShared
		default:
			back = takesOverGone
		}
		e.floor, e.within = timing.Later(e.floor, now.Add(-back)), within
		c.arm(e)
	}
	c.nudge()
}

// forget drops all definitions and ends what runs.
func (c *checks) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.known {
		c.remove(id)
	}
	clear(c.cannot)
	c.self, c.agents = uuid.Nil, nil
	c.forgets()
	c.probing, c.forgets = context.WithCancel(context.WithoutCancel(c.probing))
}

// stop begins no further probe, and returns what waits to be repeated.
func (c *checks) stop() (waiting []*job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	for _, e := range c.due {
		if e.failed != nil {
			waiting = append(waiting, &job{definition: e.definition, entry: e, slot: e.slot, failed: e.failed})
		}
	}
	return waiting
}

// count returns how many checks the agent probes.
func (c *checks) count() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.known {
		if e.mine {
			n++
		}
	}
	return n
}

// hasTarget reports whether a check is probed whose target is such a one.
func (c *checks) hasTarget(is func(target string) bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.known {
		if e.mine && is(e.probe.Target()) {
			return true
		}
	}
	return false
}

// arm decides when the next probe of a check begins. The caller has the lock.
func (c *checks) arm(e *entry) {
	if !e.mine || e.running {
		if e.index >= 0 {
			heap.Remove(&c.due, e.index)
		}
		if !e.mine {
			e.failed = nil
		}
		return
	}
	if e.failed != nil {
		e.at, e.slot = e.failed.again, e.failed.result.Slot
	} else {
		now := c.now()
		if e.last.After(now.Add(agentlink.Ahead)) {
			e.last = now // the clock was wrong then
		}
		e.slot = e.schedule.Due(timing.Later(e.last, e.floor.Add(-1)), now)
		e.at = e.slot
		if late := now.Sub(e.slot); late > 0 && e.last.Before(e.floor) {
			e.at = now.Add(spread(e.id, min(e.within, e.schedule.Next(e.slot).Sub(now)/2)))
		}
	}
	if e.index < 0 {
		heap.Push(&c.due, e)
	} else {
		heap.Fix(&c.due, e.index)
	}
}

// spread returns a part of a time that is another one for each check.
func spread(id uuid.UUID, within time.Duration) time.Duration {
	return within * time.Duration(binary.BigEndian.Uint16(id[14:])) / (1 << 16)
}

func (c *checks) nudge() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}
