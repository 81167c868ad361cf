// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"time"

	"github.com/vigil-monitor/vigil"
)

const (
	// newsHold is how long a turn with news goes on at most, in a burst of news.
	newsHold = time.Minute
	// leastHold is the shortest time that is worth it.
	leastHold = time.Second
)

// hold reports the news of a turn whose health was another one before, and whether the turn
// goes on. News ends its turn, which is three state transitions. When hundreds of checks have
// news at once their incidents need what Temporal can do, so such a turn reports its vote, goes
// on probing and ends somewhat later.
//
// What it could not report ends it at once, and its loop reports it.
func (t *turnRun) hold(ctx context.Context, before vigil.Health, e *entry) bool {
	now := t.Now()
	if t.held.IsZero() {
		until := now.Add(newsHold)
		if latest := t.latestSlot(e); latest.Before(until) {
			until = latest
		}
		first := before == "" // that a check is healthy at first is no news
		// An adopted turn does not know with which state it began.
		if first || !t.news.add(now) || t.adoption || t.TurnRate == 0 || t.behind ||
			t.turn.Revision != e.Check.Revision || until.Sub(now) < leastHold {
			return false
		}
		if t.held = until; until.After(t.until) {
			t.until = until
		}
	}
	if !t.firingChanged() {
		return true
	}
	if !t.reportVote(ctx, e.Check.Revision) {
		t.unreported = true
		return false
	}
	t.traceNews(ctx)
	t.reported, t.reportedNews, t.calmVote = t.state, true, false
	return true
}

// awaitSlot waits for a slot. A turn that must end before it waits until then, and returns
// replaced.
func (t *turnRun) awaitSlot(ctx context.Context, slot time.Time, e *entry) waitResult {
	if t.held.IsZero() || !slot.After(t.held) {
		return t.await(ctx, slot, e)
	}
	if why := t.await(ctx, t.held, e); why != due {
		return why
	}
	return replaced
}

// heldEnough reports whether a turn that was held must end.
func (t *turnRun) heldEnough(e *entry) bool {
	return !t.held.IsZero() && (!t.Now().Before(t.held) || e.Check.Revision > t.turn.Revision)
}
