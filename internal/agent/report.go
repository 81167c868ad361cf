// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/agentlink"
	"github.com/vigil-monitor/vigil/internal/timing"
)

const (
	// collect is how long a result waits for others to be sent with it, and collectCalm one that says what the
	// one before it said: each report costs the platform more than what is in it.
	collect     = 200 * time.Millisecond
	collectCalm = 500 * time.Millisecond
	// reportBytes is how much of a report results may be; the rest is for its other members.
	reportBytes = agentlink.MostReport - 1024
)

// report sends what is new, and the state of the agent each agentlink.ReportEvery, until ctx ends.
func (a *Agent) report(ctx context.Context) {
	ticker := time.NewTicker(agentlink.ReportEvery)
	defer ticker.Stop()
	leave, failures, again := a.leave, 0, time.Time{}
	for ctx.Err() == nil {
		select {
		case <-a.outbox.wake:
			a.gather(ctx)
		case <-ticker.C:
		case <-a.link.changed:
		case <-leave:
			leave = nil
		case <-ctx.Done():
			return
		}
		if a.link.session() == nil || a.Now().Before(again) {
			a.outbox.spill(a.Now(), false)
			continue
		}
		ticker.Reset(agentlink.ReportEvery)
		more, err := true, error(nil)
		for more && err == nil && ctx.Err() == nil {
			more, err = a.reportFresh(ctx)
		}
		failures++
		if err == nil {
			failures = 0
			continue
		}
		a.failed(ctx, err)
		again = a.Now().Add(backoff(err, failures))
		a.outbox.spill(a.Now(), false)
	}
}

// gather waits for results that are sent together.
func (a *Agent) gather(ctx context.Context) {
	calm := time.NewTimer(collectCalm)
	defer calm.Stop()
	select {
	case <-calm.C:
	case <-a.leave:
	case <-a.outbox.urgent:
		_ = timing.Sleep(ctx, collect)
	case <-ctx.Done():
	}
}

// reportFresh sends one report with the first results that wait, and reports whether more wait.
// What was spooled goes before what is new, in the order of slots, as long as nothing of it is late.
func (a *Agent) reportFresh(ctx context.Context) (more bool, err error) {
	if oldest, ok := a.spool.oldest(); ok && a.clock.Now().Sub(oldest) <= agentlink.Late {
		sent, err := a.sendSpooled(ctx)
		if sent > 0 || err != nil {
			return true, err
		}
	}
	items := a.outbox.take(agentlink.MostResults, reportBytes)
	err = a.send(ctx, items)
	a.outbox.done(err == nil)
	if err == nil && len(items) > 0 {
		if err := a.spool.write(items, true); err != nil {
			a.Log.ErrorContext(ctx, "sent results cannot be kept", "error", err)
		}
	}
	return a.outbox.waiting() >= agentlink.MostResults, err
}

// body is agentlink.Report with results that are encoded already.
type body struct {
	agentlink.Report

	Results []json.RawMessage `json:"results"`
}

// send sends a report with results. Without an error the platform has taken them, or they are not to
// be sent again. A report that the platform cannot read is sent in two parts, until the result
// that it cannot read is alone.
func (a *Agent) send(ctx context.Context, items []item) error {
	current := a.link.session()
	if current == nil {
		return errNoSession
	}
	report := body{Report: agentlink.Report{
		SentAt: a.clock.Now().UTC(), ClockMS: a.clock.Difference().Milliseconds(), Spool: a.outbox.state(), Checks: a.checks.count(),
		Leaving: a.leaving.Load(), Blind: a.line.Blind(),
	}, Results: make([]json.RawMessage, len(items))}
	for i := range items {
		report.Results[i] = items[i].json
	}
	sent := a.Now()
	var receipt agentlink.Receipt
	err := a.call(ctx, pathOf(agentlink.PathResults, current.Session.String(), ""), &report, &receipt)
	switch status := statusOf(err); status {
	case 0:
	case http.StatusUnauthorized, http.StatusNotFound:
		a.link.lose(current.Session)
		if status == http.StatusUnauthorized { // probing ends at once; connect waits for another token
			a.link.restart()
			a.checks.forget()
		}
		return err
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		switch half := len(items) / 2; {
		case half > 0:
			if err := a.send(ctx, items[:half]); err != nil {
				return err
			}
			return a.send(ctx, items[half:])
		case len(items) == 1:
			a.refused.count(ctx, a.Now(), agentlink.RefusedInvalid, err.Error())
			return nil
		}
	}
	if err != nil {
		return err
	}
	a.answered(ctx, sent, receipt.Time, receipt.Epoch)
	for _, refusal := range receipt.Refused {
		a.refused.count(ctx, a.Now(), refusal.Reason, refusal.Message)
	}
	if !a.leaving.Load() {
		slices.SortFunc(receipt.Agents, vigil.CompareIDs)
		a.checks.share(current.Session, receipt.Agents)
	}
	return nil
}

// refusalsEvery is how often refused results are said at most.
const refusalsEvery = 10 * time.Second

// refusals counts results that the platform did not store.
type refusals struct {
	log *slog.Logger

	mu    sync.Mutex
	said  time.Time
	since map[string]int // reasons since then
}

// count counts a refusal and says it, together with those that were not said.
func (r *refusals) count(ctx context.Context, now time.Time, reason, message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since == nil {
		r.since = make(map[string]int)
	}
	if _, known := r.since[reason]; known || len(r.since) < 16 {
		r.since[reason]++
	}
	if now.Sub(r.said) < refusalsEvery {
		return
	}
	r.log.WarnContext(ctx, "the platform does not store some results", "refused", r.since, "newest", message)
	r.said, r.since = now, nil
}
