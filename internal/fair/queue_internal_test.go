// SPDX-License-Identifier: Apache-2.0

package fair

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// noTimer lets places advance only when the test says so.
type noTimer struct{}

func (noTimer) Stop() bool               { return true }
func (noTimer) Reset(time.Duration) bool { return true }

// TestFirstIsTheFirst: after any steps the target that comes next is the one that a look at all of them finds.
func TestFirstIsTheFirst(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	q := New(Limits{
		Places: 24, Starting: 6, Settle: time.Second, SlowAfter: time.Minute,
		AfterFunc: func(time.Duration, func()) Timer { return noTimer{} },
	})
	var all []*Place
	found := 0
	for step := range 20_000 {
		switch n := random.IntN(10); {
		case n < 4 && len(all) < 200:
			all = append(all, q.Join(Claim{
				Organization: fmt.Sprint(random.IntN(6)), Target: fmt.Sprint(random.IntN(8)), Slow: random.IntN(3) == 0,
			}))
		case len(all) == 0:
		case n < 7:
			all[random.IntN(len(all))].advance()
		default:
			i := random.IntN(len(all))
			all[i].Leave()
			all[i] = all[len(all)-1]
			all = all[:len(all)-1]
		}
		// More may start than did, so that there mostly is a next one.
		limit := q.limits.Starting
		q.limits.Starting = 24
		for c := range classes {
			got, want := q.first(c), q.firstOfAll(c)
			if (got == nil) != (want == nil) {
				t.Fatalf("step %d: the next is %v, want %v", step, got, want)
			}
			if got == nil {
				continue
			}
			found++
			// Those that are equal in everything come in any order.
			if got.parent.before(want.parent) || want.parent.before(got.parent) ||
				got.parent == want.parent && (got.before(want) || want.before(got)) {
				t.Fatalf("step %d: the next is %s of %s, want %s of %s", step, got.key, got.parent.key, want.key, want.parent.key)
			}
		}
		q.limits.Starting = limit
	}
	if found < 1000 {
		t.Errorf("%d times was there a next one", found)
	}
}

// firstOfAll is first by a look at every node.
func (q *Queue) firstOfAll(c class) (found *node) {
	room := q.limits.Places - q.root.held
	if c == slow {
		room -= q.limits.Places / 4
		if q.startingSlow >= max(1, q.limits.Starting/2) {
			return nil
		}
	}
	for _, org := range q.root.children {
		if org.held >= room || !org.waits(c) || found != nil && !org.before(found.parent) {
			continue
		}
		var best *node
		for _, target := range org.children {
			if target.waits(c) && target.held < room-org.held && (best == nil || target.before(best)) {
				best = target
			}
		}
		if best != nil {
			found = best
		}
	}
	return found
}
