// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// Row is a result as Postgres stores it. ResponseTimeMS has a precision of 1 µs.
type Row struct {
	bun.BaseModel `bun:"table:results,alias:r"`

	CheckID        uuid.UUID       `bun:"check_id,pk,type:uuid"`
	Region         string          `bun:"region,pk"`
	Slot           time.Time       `bun:"slot,pk"`
	ID             uuid.UUID       `bun:"id,type:uuid"`
	Time           time.Time       `bun:"time"`
	Manual         bool            `bun:"manual"`
	Success        bool            `bun:"success"`
	ResponseTimeMS float64         `bun:"response_time_ms"`
	StatusCode     *int            `bun:"status_code"`
	ErrorMessage   *string         `bun:"error_message"`
	Metadata       json.RawMessage `bun:"metadata,type:jsonb"`
	HasEvidence    bool            `bun:"has_evidence,scanonly"`
	InMaintenance  bool            `bun:"in_maintenance,scanonly"`
	// Evidence is read by the queries that name it, since it is large.
	Evidence json.RawMessage `bun:"evidence,scanonly"`
}

// Columns are the columns of results that every reader needs. That there is evidence is
// found without reading it, and without its part of the table.
const Columns = "r.check_id, r.region, r.slot, r.id, r.time, r.manual, r.success, r.response_time_ms, r.status_code, " +
	"r.error_message, r.metadata, r.evidence IS NOT NULL AS has_evidence, r.excluded <> 0 AS in_maintenance"

// Result returns the result of a row.
func (r *Row) Result() (vigil.Result, error) {
	out := vigil.Result{
		ID: r.ID, CheckID: r.CheckID, Region: r.Region, Slot: r.Slot.UTC(), Time: r.Time.UTC(), Manual: r.Manual,
		HasEvidence: r.HasEvidence, Excluded: r.InMaintenance,
		Observation: vigil.Observation{Success: r.Success, ResponseTime: ResponseTime(r.ResponseTimeMS)},
	}
	if r.StatusCode != nil {
		out.StatusCode = *r.StatusCode
	}
	if r.ErrorMessage != nil {
		out.Error = *r.ErrorMessage
	}
	if len(r.Metadata) > 0 {
		if err := json.Unmarshal(r.Metadata, &out.Metadata); err != nil {
			return vigil.Result{}, fmt.Errorf("read the metadata of result %s: %w", r.ID, err)
		}
	}
	var err error
	if out.Evidence, err = vigil.DecodeEvidence(r.Evidence); err != nil {
		return vigil.Result{}, fmt.Errorf("read the evidence of result %s: %w", r.ID, err)
	}
	return out, nil
}

// ResponseMS converts a response time to milliseconds, rounded to the microsecond;
// ResponseTime converts back.
func ResponseMS(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond).Microseconds()) / 1000
}

// ResponseTime converts the milliseconds of a column, with fractions, into a duration.
func ResponseTime(ms float64) time.Duration {
	return time.Duration(math.Round(ms*1000)) * time.Microsecond
}

func resultsOf(rows []Row) ([]vigil.Result, error) {
	return pg.TryMap(rows, (*Row).Result)
}

// ResultsAfter returns up to limit results of a check in a region whose slots are after
// slot, oldest first.
func (s *Store) ResultsAfter(ctx context.Context, checkID uuid.UUID, region string, slot time.Time, limit int) ([]vigil.Result, error) {
	// Rounded as the stored slot is: otherwise the row of this very slot could compare
	// as newer.
	results, err := s.bySlot(ctx, region, limit, func(a, b Row) int { return a.Slot.Compare(b.Slot) }, "SELECT "+Columns+` FROM results AS r
		WHERE r.check_id = $1 AND r.region = $2 AND r.slot > $3 AND NOT r.late ORDER BY r.slot LIMIT $4`, checkID, region, pg.Micro(slot), limit)
	return results, pg.Wrap("read newer results", err)
}

// LatestResults returns the newest n results of a check in a region, oldest first.
func (s *Store) LatestResults(ctx context.Context, checkID uuid.UUID, region string, n int) ([]vigil.Result, error) {
	results, err := s.bySlot(ctx, region, n, func(a, b Row) int { return b.Slot.Compare(a.Slot) }, "SELECT "+Columns+` FROM results AS r
		WHERE r.check_id = $1 AND r.region = $2 AND NOT r.late ORDER BY r.slot DESC LIMIT $3`, checkID, region, n)
	slices.Reverse(results)
	return results, pg.Wrap("read the latest results", err)
}

// bySlot returns the first results of a region that a query selects in an order, up to a limit.
func (s *Store) bySlot(
	ctx context.Context, region string, limit int, order func(a, b Row) int, query string, args ...any,
) ([]vigil.Result, error) {
	found, err := readAll(ctx, s.homes.with(region), func(ctx context.Context, h *home) ([]Row, error) {
		return pg.Rows[Row](ctx, h, query, args...)
	})
	if err != nil {
		return nil, err
	}
	rows := inOrder(found, order)
	return resultsOf(rows[:min(len(rows), limit)])
}

// inOrder joins what databases have, each in an order.
func inOrder[T any](found [][]T, order func(a, b T) int) []T {
	if len(found) == 1 {
		return found[0]
	}
	all := slices.Concat(found...)
	slices.SortStableFunc(all, order)
	return all
}
