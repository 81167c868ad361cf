// SPDX-License-Identifier: Apache-2.0

package pace

import (
	"slices"
	"sync"
	"time"

	"github.com/vigil-monitor/vigil/internal/fleet"
)

// When slots count as late, and the process as overloaded.
const (
	// lateAfter is how late a slot may be.
	lateAfter = time.Second
	// lateWindow is how many seconds in a row must be late, or must not be.
	lateWindow = 10
	// lateShare: a second is late when one slot in lateShare was late, so that a single
	// loop that is held up does not count.
	lateShare = 10
	// lateSeconds is how many seconds of the window must have had a slot at all.
	lateSeconds = 5
	// punctualDelay is how late a slot may be that is on time, and punctualSeconds how many
	// seconds count for that.
	punctualDelay   = 50 * time.Millisecond
	punctualSeconds = 3
)

// Lateness measures how late the slots of a process are probed. It is safe for concurrent
// use.
type Lateness struct {
	mu         sync.Mutex
	seconds    [lateWindow]second // a ring, by Unix time
	overloaded bool
	since      time.Time // of the overload
}

// second is what was measured in one second.
type second struct {
	unix        int64
	slots, late int
	delays      []time.Duration // of up to maxDelays slots
}

// maxDelays bounds the slots of a second from which the 90th percentile is taken.
const maxDelays = 512

// Observe records that so many slots were probed now, with a delay: one, and those that were
// missed before it, which count as late ones. Where Temporal does not keep up, loops wait for
// their next turn, and the slots that they do probe then are on time.
func (l *Lateness) Observe(now time.Time, delay time.Duration, slots int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.seconds[now.Unix()%lateWindow]
	if s.unix != now.Unix() {
		*s = second{unix: now.Unix(), delays: s.delays[:0]}
	}
	s.slots += slots
	if delay > lateAfter {
		s.late += slots
	}
	for range min(slots, maxDelays-len(s.delays)) {
		s.delays = append(s.delays, delay)
	}
}

// Punctual reports whether the slots of the last seconds were probed on time: the machine has
// time for more of them.
func (l *Lateness) Punctual(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	slots, late := 0, 0
	for back := range int64(punctualSeconds) {
		unix := now.Unix() - back
		s := &l.seconds[unix%lateWindow]
		if s.unix != unix {
			continue
		}
		slots += len(s.delays)
		for _, delay := range s.delays {
			if delay > punctualDelay {
				late++
			}
		}
	}
	return late*lateShare <= slots
}

// isLate reports whether too many slots of a second were late.
func (s *second) isLate() bool { return s.late*lateShare >= s.slots }

// Load returns the state at an instant: overloaded from ten late seconds in a row until
// ten seconds without a late one. Seconds without a slot count as neither.
func (l *Lateness) Load(now time.Time) fleet.Load {
	l.mu.Lock()
	defer l.mu.Unlock()
	var measured, late int
	var delays []time.Duration
	for i := range l.seconds {
		s := &l.seconds[i]
		if age := now.Unix() - s.unix; s.slots == 0 || age < 0 || age >= lateWindow {
			continue
		}
		measured++
		if s.isLate() {
			late++
		}
		delays = append(delays, s.delays...)
	}
	switch {
	case late == 0:
		l.overloaded = false
	case !l.overloaded && late == measured && measured >= lateSeconds:
		l.overloaded, l.since = true, now
	}
	load := fleet.Load{Overloaded: l.overloaded}
	if len(delays) > 0 {
		slices.Sort(delays)
		load.Lateness = delays[len(delays)*9/10]
	}
	if l.overloaded {
		load.Since = l.since
	}
	return load
}
