// SPDX-License-Identifier: Apache-2.0

package backtests

import (
	"context"
	"fmt"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/backtest"
)

// checkReplay is the replay of one check.
type checkReplay struct {
	backtest.Input

	check   vigil.Check
	extent  backtest.ReplayExtent
	clipped bool // the period begins with the oldest stored result

	reports []backtest.Report
	rows    int
}

// replayPeriod is the period of a request; nil bounds are left out.
func replayPeriod(from, to *time.Time, now time.Time) (period backtestPeriod, err error) {
	period.To = now.UTC()
	if to != nil && to.Before(now) {
		period.To = to.UTC()
	}
	period.From = period.To.Add(-defaultBacktest)
	if from != nil {
		period.From = from.UTC()
	}
	switch {
	case !period.From.Before(period.To):
		return period, vigil.Invalid("from", "must be before the end of the period")
	case period.To.Sub(period.From) > longestBacktest:
		return period, vigil.Invalid("from", "must be at most 400 days before the end of the period")
	}
	return period, nil
}

// measure prepares the replay of a check.
func (b *backtests) measure(ctx context.Context, check vigil.Check, rules []vigil.Rule, period backtestPeriod) (*checkReplay, error) {
	r := &checkReplay{check: check, Input: backtest.Input{
		Rules: rules, Regions: check.Regions, From: period.From, To: period.To,
	}}
	var err error
	if r.Silence, err = b.silence(&check); err != nil {
		return nil, err
	}
	if r.extent, err = b.store.ReplayExtent(ctx, check.OrgID, check.ID, r.From, r.To); err != nil {
		return nil, err
	}
	if r.extent.Oldest.After(r.From) && r.extent.Oldest.Before(r.To) {
		r.From, r.clipped = r.extent.Oldest, true
	}
	return r, nil
}

// limitResults bounds the results that replays read in all.
func limitResults(replays []*checkReplay, period backtestPeriod) error {
	total, days := int64(0), period.To.Sub(period.From).Hours()/24
	for _, r := range replays {
		total += r.extent.Results
	}
	if total <= backtest.MaxResults {
		return nil
	}
	of := "this check"
	if len(replays) > 1 {
		of = fmt.Sprintf("these %d checks", len(replays))
	}
	return vigil.Invalid("from", "the period has %d results; at most %d are replayed, which is about %.1f days of %s",
		total, backtest.MaxResults, days*backtest.MaxResults/float64(total), of)
}

// run replays the results.
func (r *checkReplay) run(ctx context.Context, store Store) (err error) {
	r.Maintenance, err = store.PastMaintenance(ctx, r.check.OrgID, r.check.ID, r.From, r.To)
	if err != nil {
		return err
	}
	warm := max(backtestWarm, vigil.RebuildResults(r.Rules, r.check.Interval))
	r.reports, r.rows, err = backtest.Run(r.Input, store.ReplayResults(ctx, r.check.ID, r.Regions, r.From, r.To, warm))
	return err
}

// notes are what is assumed of this check.
func (r *checkReplay) notes() []string {
	var notes []string
	if r.clipped {
		notes = append(notes, fmt.Sprintf("The period begins with the oldest stored result, at %s.", r.From.Format(time.RFC3339)))
	}
	if changed := r.extent.Changed; changed.After(r.From) && changed.Before(r.To) && r.extent.Oldest.Before(changed) {
		notes = append(notes, fmt.Sprintf("The check was enabled, or its type, interval or regions changed, at %s: "+
			"results before are judged as it is defined now.", changed.Format(time.RFC3339)))
	}
	return notes
}
