// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// reportChunk is how many checks of a report are summed at a time, so that the memory that it takes does
// not grow with the checks.
const reportChunk = 100

// Report sums the uptime and the incidents of checks of the organization in a span, and visits the row of
// each check, by name. An error of visit ends it. A span that is not over yet ends at the present; one that
// is wrong is a CodeInvalid error.
func (s *Store) Report(
	ctx context.Context, orgID uuid.UUID, q overview.ReportQuery, visit func(*overview.ReportRow) error,
) (overview.Report, error) {
	report, err := s.report(ctx, orgID, q, visit)
	return report, pg.Wrap("make a report", err)
}

// reportReader makes a report in one snapshot.
type reportReader struct {
	view

	org    uuid.UUID
	now    time.Time
	query  overview.ReportQuery
	report overview.Report
}

func (s *Store) report(
	ctx context.Context, orgID uuid.UUID, q overview.ReportQuery, visit func(*overview.ReportRow) error,
) (overview.Report, error) {
	now := s.db.Instant()
	span, err := q.Span.Until(now)
	if err != nil {
		return overview.Report{}, err
	}
	q.Span = span
	r := reportReader{org: orgID, now: now, query: q, report: overview.Report{Span: span, From: overview.Exact, To: overview.Exact}}
	for _, edge := range span.Edges() {
		r.report.Edges = append(r.report.Edges, pg.Micro(edge.UTC()))
	}
	r.report.Days = make([]overview.Figures, len(r.report.Edges)-1)
	var end func()
	if r.view, end, err = s.snapshot(ctx, s.homes.all); err != nil {
		return overview.Report{}, err
	}
	defer end()
	rows, err := r.checks(ctx)
	if err != nil {
		return overview.Report{}, err
	}
	if q.Days && len(rows) > overview.MaxDayChecks {
		return overview.Report{}, vigil.Invalid("days", "can be shown of at most %d checks at once, and these are %d: narrow label",
			overview.MaxDayChecks, len(rows))
	}
	r.report.Checks = int64(len(rows))
	for len(rows) > 0 {
		n := min(reportChunk, len(rows))
		if len(r.homes) > 1 { // whose hours are joined here
			n = min(reportChunk/10, len(rows))
		}
		if err := r.chunk(ctx, rows[:n], visit); err != nil {
			return overview.Report{}, err
		}
		rows = rows[n:]
	}
	for n := range r.report.Days {
		r.report.Add(&r.report.Days[n])
	}
	return r.report, nil
}

// checks returns the checks of the report without their figures.
func (r *reportReader) checks(ctx context.Context) ([]overview.ReportRow, error) {
	keys, values, fixed := []string{}, []string{}, []bool{}
	for _, label := range r.query.Labels {
		value := ""
		if label.Value != nil {
			value = *label.Value
		}
		keys, values, fixed = append(keys, label.Key), append(values, value), append(fixed, label.Value != nil)
	}
	found, err := r.tx.Query(ctx, `SELECT c.id, c.name FROM checks AS c WHERE c.org_id = @org AND c.`+pg.NotDrill+`
		AND NOT EXISTS (SELECT FROM unnest(@keys::text[], @values::text[], @fixed::bool[]) AS l (key, value, fixed)
			WHERE (CASE WHEN l.fixed THEN c.labels->>l.key = l.value ELSE c.labels->>l.key IS NOT NULL END) IS NOT TRUE)
		ORDER BY lower(c.name), c.id`,
		pgx.QueryExecModeDescribeExec, pg.Named{"org": r.org, "keys": keys, "values": values, "fixed": fixed})
	if err != nil {
		return nil, fmt.Errorf("find the checks: %w", err)
	}
	var rows []overview.ReportRow
	var row overview.ReportRow
	_, err = pgx.ForEachRow(found, []any{&row.CheckID, &row.Name}, func() error {
		rows = append(rows, row)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find the checks: %w", err)
	}
	return rows, nil
}

// chunk sums some checks and visits them.
func (r *reportReader) chunk(ctx context.Context, rows []overview.ReportRow, visit func(*overview.ReportRow) error) error {
	ids := make([]uuid.UUID, len(rows))
	at := make(map[uuid.UUID]int, len(rows))
	for i := range rows {
		ids[i], at[rows[i].CheckID] = rows[i].CheckID, i
	}
	t := tallies{edges: r.report.Edges, now: r.now}
	if err := t.read(ctx, r.view, r.org, ids); err != nil {
		return err
	}
	days := make([][]overview.Figures, len(rows))
	for i := range days {
		days[i] = make([]overview.Figures, len(r.report.Days))
		for n, precision := range map[int]*overview.Precision{0: &r.report.From, len(r.report.Days): &r.report.To} {
			if t.edge(ids[i], n).Precision == overview.ByHour {
				*precision = overview.ByHour
			}
		}
	}
	for key, sum := range t.sums {
		days[at[key.check]][key.segment].Tally.Add(*sum)
	}
	if err := r.incidents(ctx, ids, func(check uuid.UUID, day int) *overview.Figures { return &days[at[check]][day] }); err != nil {
		return err
	}
	for i := range rows {
		row := rows[i]
		for n := range days[i] {
			row.Add(&days[i][n])
			r.report.Days[n].Add(&days[i][n])
		}
		if r.query.Days {
			row.Days = days[i]
		}
		if err := visit(&row); err != nil {
			return err
		}
	}
	return nil
}

// incidents adds the incidents of checks to the figures of the days on which they began.
func (r *reportReader) incidents(ctx context.Context, ids []uuid.UUID, figures func(check uuid.UUID, day int) *overview.Figures) error {
	found, err := r.tx.Query(ctx, `SELECT check_id, width_bucket(started_at, @edges::timestamptz[]) - 1,
			started_at, acknowledged_at, resolved_at
		FROM incidents WHERE org_id = @org AND check_id = ANY(@checks::uuid[]) AND started_at >= @from AND started_at < @to`,
		pgx.QueryExecModeDescribeExec, pg.Named{
			"org": r.org, "checks": ids, "edges": r.report.Edges, "from": r.report.Edges[0], "to": r.report.Edges[len(r.report.Edges)-1],
		})
	if err != nil {
		return fmt.Errorf("read incidents: %w", err)
	}
	var check uuid.UUID
	var day int
	var started time.Time
	var acknowledged, resolved *time.Time
	_, err = pgx.ForEachRow(found, []any{&check, &day, &started, &acknowledged, &resolved}, func() error {
		f := figures(check, day)
		f.Incidents++
		if acknowledged != nil {
			f.Acknowledged++
			f.ToAcknowledge = append(f.ToAcknowledge, acknowledged.Sub(started))
		}
		if resolved != nil {
			f.Resolved++
			f.ToResolve = append(f.ToResolve, resolved.Sub(started))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read incidents: %w", err)
	}
	return nil
}
