// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// total counts the results that the filter selects, up to one more than listing.MaxTotal.
// Without a range of times it adds up rollups, which are stored with the results, and
// counts results only where there is no rollup.
func (w *resultWalk) total(ctx context.Context) (int, error) {
	if w.f.After != nil {
		return 0, nil
	}
	if w.f.From != nil || w.f.To != nil {
		return w.count(ctx, StartOf(w.floor), time.Time{}, listing.MaxTotal+1)
	}
	// The newest days are enough for most checks that run often.
	const recentDays = 8
	recent, _, err := w.sumRollups(ctx, w.now.Add(-recentDays*day))
	if err != nil || recent > listing.MaxTotal {
		return listing.MaxTotal + 1, err
	}
	if err := w.findKept(ctx); err != nil {
		return 0, err
	}
	total, oldest, err := w.sumRollups(ctx, StartOf(w.kept))
	if err != nil || total > listing.MaxTotal {
		return listing.MaxTotal + 1, err
	}
	for _, gap := range [][2]time.Time{{StartOf(w.floor), StartOf(w.kept)}, {StartOf(w.kept), oldest}} {
		if gap[1].IsZero() || gap[0].Before(gap[1]) {
			n, err := w.count(ctx, gap[0], gap[1], listing.MaxTotal+1-total)
			if err != nil {
				return 0, err
			}
			total += n
		}
	}
	return total, nil
}

// count counts up to limit results with slots in [from, to); a zero to has no end.
func (w *resultWalk) count(ctx context.Context, from, to time.Time, limit int) (n int, err error) {
	query := w.filtered().ColumnExpr("1").Where("r.slot >= ?", from).Limit(int64(limit))
	if !to.IsZero() {
		query = query.Where("r.slot < ?", to)
	}
	err = w.db.NewRaw("SELECT count(*) FROM (?) AS counted", query).Scan(ctx, &n)
	return n, err
}

// sumRollups adds up the rollups since a time and returns the oldest hour among them, zero
// without any.
func (w *resultWalk) sumRollups(ctx context.Context, since time.Time) (total int, oldest time.Time, err error) {
	var hour bun.NullTime
	err = w.rollups(since).ColumnExpr("coalesce(sum(?), 0), min(u.hour)", bun.Safe(w.counted())).Scan(ctx, &total, &hour)
	return min(total, listing.MaxTotal+1), hour.Time, err
}

// rollups returns a query for the rollups since a time of the regions that the filter
// selects.
func (w *resultWalk) rollups(since time.Time) *bun.SelectQuery {
	query := w.db.NewSelect().TableExpr("result_rollups AS u").Where("u.check_id = ? AND u.hour >= ?", w.check, since)
	if w.f.Region != "" {
		query = query.Where("u.region = ?", w.f.Region)
	}
	return query
}

// counted is the column of rollups, in SQL, with the number of results that the filter
// selects.
func (w *resultWalk) counted() string {
	switch {
	case w.f.Success == nil:
		return "u.total + u.excluded"
	case *w.f.Success:
		return "u.successes + u.excluded_successes"
	}
	return "u.total + u.excluded - u.successes - u.excluded_successes"
}

// findKept finds the first day that has a partition of its own, or the floor when that is
// later.
func (w *resultWalk) findKept(ctx context.Context) error {
	if w.kept != 0 {
		return nil
	}
	w.kept = w.floor
	var name string
	err := w.db.NewRaw(`SELECT c.relname FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
		WHERE i.inhparent = 'results'::regclass AND starts_with(c.relname, ?) ORDER BY c.relname LIMIT 1`, partitionPrefix).Scan(ctx, &name)
	if pg.IsNoRow(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if first, err := time.Parse("20060102", strings.TrimPrefix(name, partitionPrefix)); err == nil {
		w.kept = max(w.floor, DayOf(first))
	}
	return nil
}
