// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/pg"
	"github.com/vigil-monitor/vigil/storage/results"
)

// trigger describes what made the leading rule fire, by the vote that explains it.
// Results that are past their retention leave it without details.
func trigger(ctx context.Context, tx bun.Tx, o vigil.OpenRequest, lead vigil.Rule) (vigil.Trigger, error) {
	vote, ok := vigil.LeadingVote(o.Votes, lead.ID)
	if !ok {
		return vigil.Trigger{}, nil
	}
	t := vigil.Trigger{FailureCount: vote.Failures}
	var err error
	if t.Result, err = resultAt(ctx, tx, o, vote.Region, vote.Slot); err != nil {
		return t, err
	}
	match, ok := vote.MatchOf(lead.ID)
	if !ok {
		return t, nil
	}
	// A rule with a recovery threshold may have matched on an earlier result only.
	if !match.Slot.IsZero() && !match.Slot.Equal(vote.Slot) {
		t.FailureCount = match.Failures
		if t.Result, err = resultAt(ctx, tx, o, vote.Region, match.Slot); err != nil {
			return t, err
		}
	}
	if t.Result.Slot.IsZero() {
		return t, nil
	}
	t.Matched, t.Days = match.Keys, match.Days
	if !slices.Contains(match.Keys, vigil.KeyDNSChanged) {
		return t, nil
	}
	t.DNSCurrent = answers(t.Result.Metadata)
	before, err := resultAt(ctx, tx, o, vote.Region, match.PreviousAnswer)
	t.DNSPrevious = answers(before.Metadata)
	return t, err
}

// resultAt reads the result of a slot. The zero result: none is stored any more.
func resultAt(ctx context.Context, tx bun.Tx, o vigil.OpenRequest, region string, slot time.Time) (vigil.Result, error) {
	var row results.Row
	err := tx.NewSelect().Model(&row).ColumnExpr(results.Columns).ColumnExpr("r.evidence").
		Where("r.check_id = ? AND r.region = ? AND r.slot = ?", o.CheckID, region, pg.Micro(slot)).Scan(ctx)
	return resultOf(&row, err)
}

func resultOf(row *results.Row, err error) (vigil.Result, error) {
	if pg.IsNoRow(err) {
		return vigil.Result{}, nil
	}
	if err != nil {
		return vigil.Result{}, fmt.Errorf("read a result: %w", err)
	}
	return row.Result()
}

// answers are the records of a DNS result, for people.
func answers(metadata map[string]any) string {
	list, ok := metadata["answers"].([]any)
	if !ok {
		return ""
	}
	var texts []string
	for _, one := range list {
		texts = append(texts, fmt.Sprint(one))
	}
	return vigil.Truncate(strings.Join(texts, ", "), vigil.MaxErrorLength)
}
