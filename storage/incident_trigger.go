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
	t.Result, err = resultAt(ctx, tx, o, vote.Region, vote.Slot)
	if err != nil || t.Result.Slot.IsZero() {
		return t, err
	}
	match, ok := vote.MatchOf(lead.ID)
	if !ok {
		if match, err = matchFromHistory(ctx, tx, &t, lead); err != nil {
			return t, err
		}
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

// matchFromHistory evaluates the leading rule again, for a vote that does not say
// what matched. It may read the whole history of the check in the region.
func matchFromHistory(ctx context.Context, tx bun.Tx, t *vigil.Trigger, lead vigil.Rule) (vigil.Match, error) {
	before := vigil.State{Failures: max(0, t.FailureCount-1)}
	if lead.Condition.DNSChanged {
		previous, err := newestWith(ctx, tx, &t.Result, vigil.MetadataFingerprint)
		if err != nil {
			return vigil.Match{}, err
		}
		before.DNS, _ = previous.Metadata[vigil.MetadataFingerprint].(string)
		before.DNSSlot = previous.Slot
	}
	if lead.Condition.SSLDaysRemaining != nil {
		for _, key := range []string{vigil.MetadataDays, vigil.MetadataCertDays} {
			previous, err := newestWith(ctx, tx, &t.Result, key)
			if err != nil {
				return vigil.Match{}, err
			}
			if n, ok := previous.Metadata[key].(float64); ok && before.Days == nil {
				before.Days = new(int(n))
			}
		}
	}
	after, matches := vigil.Evaluate([]vigil.Rule{lead}, before, t.Result)
	if len(matches) == 1 {
		return matches[0], nil
	}
	match := vigil.Match{Rule: lead.ID}
	if lead.Condition.SSLDaysRemaining != nil {
		match.Days = after.Days
	}
	return match, nil
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
