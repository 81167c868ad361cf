package storage

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"vigil"
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
	if !ok || len(match.Keys) == 0 {
		if t.Result.Slot.IsZero() {
			return t, nil
		}
		if match, err = matchFromHistory(ctx, tx, &t, lead); err != nil {
			return t, err
		}
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
	before := vigil.Result{}
	if match.PreviousAnswer.IsZero() {
		before, err = newestWith(ctx, tx, &t.Result, vigil.MetadataFingerprint)
	} else {
		before, err = resultAt(ctx, tx, o, vote.Region, match.PreviousAnswer)
	}
	t.DNSPrevious = answers(before.Metadata)
	return t, err
}

// resultAt reads the result of a slot. The zero result: none is stored any more.
func resultAt(ctx context.Context, tx bun.Tx, o vigil.OpenRequest, region string, slot time.Time) (vigil.Result, error) {
	var row resultRow
	err := tx.NewSelect().Model(&row).ColumnExpr(resultColumns).ColumnExpr("r.evidence").
		Where("r.check_id = ? AND r.region = ? AND r.slot = ?", o.CheckID, region, micro(slot)).Scan(ctx)
	return resultOf(&row, err)
}

// newestWith reads the newest result before r, of its check and region, whose
// metadata has a member; for a fingerprint it must be a success.
func newestWith(ctx context.Context, tx bun.Tx, r *vigil.Result, key string) (vigil.Result, error) {
	var row resultRow
	err := tx.NewSelect().Model(&row).Where("r.check_id = ? AND r.region = ? AND r.slot < ?", r.CheckID, r.Region, r.Slot).
		Where("r.metadata->>? IS NOT NULL", key).Where("r.success OR ? <> ?", key, vigil.MetadataFingerprint).
		OrderExpr("r.slot DESC").Limit(1).Scan(ctx)
	return resultOf(&row, err)
}

func resultOf(row *resultRow, err error) (vigil.Result, error) {
	if isNoRow(err) {
		return vigil.Result{}, nil
	}
	if err != nil {
		return vigil.Result{}, fmt.Errorf("read a result: %w", err)
	}
	return row.result()
}

// resultsUpTo reads a result and the newest before it of its check and region, at most n
// in all, oldest first.
func resultsUpTo(ctx context.Context, tx bun.Tx, r *vigil.Result, n int) ([]vigil.Result, error) {
	var rows []resultRow
	err := tx.NewSelect().Model(&rows).Where("r.check_id = ? AND r.region = ? AND r.slot <= ?", r.CheckID, r.Region, r.Slot).
		OrderExpr("r.slot DESC").Limit(int64(n)).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the results before: %w", err)
	}
	results := make([]vigil.Result, len(rows))
	for i := range rows {
		if results[len(rows)-1-i], err = rows[i].result(); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// matchFromHistory evaluates the leading rule again, for a vote that does not say
// what matched. It may read the whole history of the check in the region.
func matchFromHistory(ctx context.Context, tx bun.Tx, t *vigil.Trigger, lead vigil.Rule) (vigil.Match, error) {
	rows, state := []vigil.Result{t.Result}, vigil.State{Failures: max(0, t.FailureCount-1)}
	if lead.Condition.RecoveryThreshold > 1 {
		var err error
		rows, err = resultsUpTo(ctx, tx, &t.Result, vigil.RebuildResults([]vigil.Rule{lead}))
		if err != nil || len(rows) == 0 {
			return vigil.Match{}, err
		}
		state.Failures = 0
	}
	if err := stateBefore(ctx, tx, &rows[0], &lead.Condition, &state); err != nil {
		return vigil.Match{}, err
	}
	var matches []vigil.Match
	for _, row := range rows {
		state, matches = vigil.Evaluate([]vigil.Rule{lead}, state, row)
	}
	if len(matches) == 1 {
		return matches[0], nil
	}
	match := vigil.Match{Rule: lead.ID}
	if lead.Condition.SSLDaysRemaining != nil {
		match.Days = state.Days
	}
	return match, nil
}

// stateBefore adds to a state what a condition needs to know from before a result.
func stateBefore(ctx context.Context, tx bun.Tx, first *vigil.Result, c *vigil.Condition, state *vigil.State) error {
	if c.DNSChanged {
		previous, err := newestWith(ctx, tx, first, vigil.MetadataFingerprint)
		if err != nil {
			return err
		}
		state.DNS, _ = previous.Metadata[vigil.MetadataFingerprint].(string)
		state.DNSSlot = previous.Slot
	}
	if c.SSLDaysRemaining != nil {
		for _, key := range []string{vigil.MetadataDays, vigil.MetadataCertDays} {
			previous, err := newestWith(ctx, tx, first, key)
			if err != nil {
				return err
			}
			if n, ok := previous.Metadata[key].(float64); ok && state.Days == nil {
				state.Days = new(int(n))
			}
		}
	}
	return nil
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
