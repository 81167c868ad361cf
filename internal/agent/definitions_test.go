// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/agentlink"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// A check that changes is probed by its new definition; one that is gone is not probed any more.
func TestDefinitionsChange(t *testing.T) {
	t.Parallel()
	p := newFakePlatform(t)
	url, hits := target(t, ok)
	other, otherHits := target(t, ok)
	id := p.set(httpCheck(time.Second), config(url))
	unknown := p.set(agentlink.Check{Type: "teleport", IntervalMS: 1000}, `{}`)
	r := start(t, p, nil)
	timingtest.Eventually(t, soon, "it is probed", func() bool { return hits.Load() > 1 })
	changed := httpCheck(time.Second)
	changed.ID = id
	p.set(changed, config(other))
	timingtest.Eventually(t, soon, "the new target is probed", func() bool { return otherHits.Load() > 1 })
	p.remove(id)
	timingtest.Eventually(t, soon, "nothing is probed", func() bool { return r.Status().Checks == 0 })
	if !r.log.has("a check cannot run here") || len(p.of(unknown)) > 0 {
		t.Error("a type that is not known was not said, or has results")
	}
	if n := strings.Count(r.log.String(), "a check cannot run here"); n != 1 {
		t.Errorf("it was said %d times", n)
	}
	p.dropAll()
	timingtest.Eventually(t, soon, "the stream goes on from the last event", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.resumed) >= 2 && p.resumed[len(p.resumed)-1] == "4"
	})
}

// A list of all checks that comes again, in several events, disturbs nothing: no slot is probed twice, and none that is to
// be repeated is lost. A check that is not in it is forgotten.
func TestFullListComesAgain(t *testing.T) {
	t.Parallel()
	const interval = 3 * time.Second
	p := newFakePlatform(t)
	p.parts, p.forgets = true, true
	hits := map[uuid.UUID]*atomic.Int64{}
	var failing uuid.UUID
	for i := range 4 {
		status, check := http.StatusOK, httpCheck(interval)
		if i == 0 {
			status, check.Retry = http.StatusServiceUnavailable, agentlink.Retry{Attempts: 1, DelayMS: 1000}
		}
		url, count := target(t, func() int { return status })
		id := p.set(check, config(url))
		if hits[id] = count; i == 0 {
			failing = id
		}
	}
	r := start(t, p, nil)
	for n := range 3 {
		timingtest.Eventually(t, 3*soon, "a failure is to be repeated", func() bool { return hits[failing].Load() == int64(2*n+1) })
		p.dropAll()
		timingtest.Eventually(t, 3*soon, "the list came again, and the failure has its result", func() bool {
			p.mu.Lock()
			again := len(p.resumed) > n+1
			p.mu.Unlock()
			return again && len(p.of(failing)) == n+1
		})
	}
	for id, count := range hits {
		found := p.of(id)
		attempts := 1
		if id == failing {
			attempts = 2
		}
		if n := int(count.Load()); n > attempts*(len(found)+1) {
			t.Errorf("%d probes for %d slots", n, len(found))
		}
		for i := 2; i < len(found); i++ { // the first slot is no one of the grid
			if step := found[i].Slot.Sub(found[i-1].Slot); step != interval {
				t.Errorf("a result comes %v after the one before", step)
			}
		}
	}
	if p.doubled > 0 {
		t.Errorf("%d results came twice", p.doubled)
	}
	p.with(func() { delete(p.checks, failing) })
	p.dropAll()
	timingtest.Eventually(t, 3*soon, "what is not in the list is forgotten", func() bool { return r.Status().Checks == 3 })
}
