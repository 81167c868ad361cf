// SPDX-License-Identifier: Apache-2.0

package results

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/timing"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// A list of results is read day by day, newest first, because each day (UTC) is a
// partition: a statement about all of them is planned for longer than it runs. Within a
// day the newest time comes first. So the order is that of the times, except among
// results that were taken on a later day than their slot's.

// Bounds of the difference between the time of a result and its slot. A probe that is
// late takes the newest slot, so it is late by less than the longest interval, 30 days.
const (
	maxLate  = 32 * 24 * time.Hour
	maxEarly = 24 * time.Hour // clocks
)

const day = 24 * time.Hour

// DayOf returns the number of the day of a slot, counted from 1970.
func DayOf(slot time.Time) int64 {
	n := slot.Unix() / int64(day/time.Second)
	if slot.Unix() < 0 {
		n--
	}
	return n
}

// StartOf returns the first instant of a day that DayOf numbers.
func StartOf(n int64) time.Time { return time.Unix(n*int64(day/time.Second), 0).UTC() }

// listedResultRow is a result on a page of a list.
type listedResultRow struct {
	Row `bun:",extend"`

	Day       int64 `bun:"day,scanonly"`
	PageBytes int64 `bun:"page_bytes,scanonly"`
	PageLeft  int64 `bun:"page_left,scanonly"`
}

// cut reports whether rows after this one were left out of a page because of their size.
func (r *listedResultRow) cut() bool { return r.PageLeft > 0 }

func (r *listedResultRow) position() listing.PagePosition {
	return listing.PagePosition{Key: fmt.Sprintf("%d:%d", r.Day, r.Time.UnixMicro()), ID: r.ID}
}

// Results returns a page of the results of a check that match the filter, newest first,
// and the extent of the list. A page ends before its limit when it holds 8 MiB. A check
// that is not the organization's is a CodeNotFound error.
func (s *Store) Results(ctx context.Context, orgID, checkID uuid.UUID, f listing.ResultFilter) ([]vigil.Result, listing.Extent, error) {
	w := resultWalk{now: s.db.Instant(), check: checkID, f: f}
	var created time.Time
	if err := s.db.NewRaw("SELECT created_at FROM checks WHERE id = ? AND org_id = ? AND "+pg.NotDrill, checkID, orgID).
		Scan(ctx, &created); err != nil {
		return nil, listing.Extent{}, pg.Found("check", err)
	}
	w.floor = DayOf(created) - 1
	rows, total, err := s.listed(ctx, w)
	if err != nil {
		return nil, listing.Extent{}, pg.Wrap("list results", err)
	}
	rows, extent := w.finish(rows)
	extent.Total = total
	plain := make([]Row, len(rows))
	for i := range rows {
		plain[i] = rows[i].Row
	}
	results, err := resultsOf(plain)
	return results, extent, pg.Wrap("list results", err)
}

// listed reads the rows of a page, and one more where there is another page, and counts the list.
func (s *Store) listed(ctx context.Context, w resultWalk) (rows []listedResultRow, total int, err error) {
	from := s.homes.all
	if w.f.Region != "" {
		from = s.homes.with(w.f.Region)
	}
	if w.f.Offset > 0 && len(from) > 1 {
		return s.listedAfter(ctx, w)
	}
	type part struct {
		rows  []listedResultRow
		total int
	}
	parts, err := readAll(ctx, from, func(ctx context.Context, h *home) (p part, err error) {
		w := w
		w.db = h.DB
		if p.rows, err = w.page(ctx); err == nil {
			p.total, err = w.total(ctx)
		}
		return p, err
	})
	if err != nil {
		return nil, 0, err
	}
	lists := make([][]listedResultRow, len(parts))
	for i, p := range parts {
		lists[i], total = p.rows, min(total+p.total, listing.MaxTotal+1)
	}
	if len(lists) == 1 {
		return lists[0], total, nil
	}
	return w.join(lists), total, nil
}

// join joins the pages of several databases to one, by the rules of read.
func (w *resultWalk) join(lists [][]listedResultRow) []listedResultRow {
	var cut []listedResultRow // the last rows of lists that were cut off: what follows them is not known
	left := int64(0)
	for _, rows := range lists {
		if len(rows) > 0 && rows[len(rows)-1].cut() {
			cut = append(cut, rows[len(rows)-1])
		}
		for i := len(rows) - 1; i > 0; i-- {
			rows[i].PageBytes -= rows[i-1].PageBytes // of one row again
		}
		if len(rows) > 0 {
			left += rows[len(rows)-1].PageLeft
		}
	}
	order := func(a, b listedResultRow) int {
		return cmp.Or(cmp.Compare(b.Day, a.Day), b.Time.Compare(a.Time), vigil.CompareIDs(b.ID, a.ID))
	}
	all := inOrder(lists, order)
	n, sum := 0, int64(0)
	for n < min(len(all), w.f.Limit+1) {
		if slices.ContainsFunc(cut, func(last listedResultRow) bool { return order(last, all[n]) < 0 }) {
			break
		}
		if sum += all[n].PageBytes; n > 0 && sum > pg.MaxPageBytes {
			break
		}
		all[n].PageBytes, all[n].PageLeft = sum, left+int64(len(all)-n-1)
		n++
	}
	return all[:n]
}

// skipPage is how many rows listedAfter passes over at a time.
const skipPage = 500

// listedAfter is the page of a client that counts rows, of several databases: it passes over the pages before.
func (s *Store) listedAfter(ctx context.Context, w resultWalk) (rows []listedResultRow, total int, err error) {
	skip, limit := w.f.Offset, w.f.Limit
	w.f.Offset = 0
	for first := true; ; first = false {
		if w.f.Limit = limit; skip > 0 {
			w.f.Limit = min(skip, skipPage)
		}
		page, n, err := s.listed(ctx, w)
		if err != nil {
			return nil, 0, err
		}
		if first {
			total = n
		}
		if skip == 0 {
			return page, total, nil
		}
		rows, next := pg.EndPage(page, w.f.Page, (*listedResultRow).cut, (*listedResultRow).position)
		if next == nil {
			return nil, total, nil
		}
		skip -= len(rows)
		w.f.After = next
	}
}

// resultWalk reads a page of results of a database from the newest day to the oldest.
type resultWalk struct {
	db    *pg.DB
	now   time.Time
	check uuid.UUID
	f     listing.ResultFilter
	// floor is the first day that may have results.
	floor int64
	// kept is the first day with a partition of its own; the default partition may have
	// older results. Zero until findKept.
	kept int64
}

// page reads a page of the newest results first: two days with what is newer than both, and older days
// only while these do not fill it. So the common question touches few partitions.
func (w *resultWalk) page(ctx context.Context) ([]listedResultRow, error) {
	if w.f.Offset > 0 {
		return w.pageAtOffset(ctx)
	}
	from, members, err := w.begin()
	if err != nil {
		return nil, err
	}
	for low := max(from-1, w.floor); from >= low; from-- {
		members = append(members, w.days(from, from+1))
	}
	rows, err := w.read(ctx, members, nil)
	if err == nil && !w.ends(rows) && from >= w.floor {
		return w.readOlder(ctx, rows, from)
	}
	return rows, err
}

// maxDays is how many days a statement reads at most.
const maxDays = 64

// readOlder goes on from a day. Rollups say which days have results: they are stored with
// the results. What is older than the oldest rollup is read at the end.
func (w *resultWalk) readOlder(ctx context.Context, rows []listedResultRow, from int64) ([]listedResultRow, error) {
	if err := w.findKept(ctx); err != nil {
		return nil, err
	}
	days, oldest, err := w.rollupDays(ctx, from)
	if err != nil {
		return nil, err
	}
	for len(days) > 0 && !w.ends(rows) {
		n, sum := 1, days[0].N
		for n < len(days) && sum < int64(w.f.Limit+1-len(rows)) && days[0].Day-days[n].Day < maxDays {
			sum += days[n].N
			n++
		}
		found, err := w.read(ctx, []*bun.SelectQuery{w.days(days[n-1].Day, days[0].Day+1)}, rows)
		if err != nil {
			return nil, err
		}
		rows, days = append(rows, found...), days[n:]
	}
	if w.ends(rows) {
		return rows, nil
	}
	var members []*bun.SelectQuery
	if upper := timing.Earlier(oldest, StartOf(from+1)); StartOf(w.kept).Before(upper) {
		members = append(members, w.where("r.slot >= ? AND r.slot < ?", StartOf(w.kept), upper))
	}
	if w.floor < min(w.kept, from+1) { // the default partition only
		members = append(members, w.days(w.floor, min(w.kept, from+1)))
	}
	found, err := w.read(ctx, members, rows)
	return append(rows, found...), err
}

// resultDay is a day and about how many results of it the filter selects.
type resultDay struct{ Day, N int64 }

// rollupDays returns the days up to from that have results, newest first, and the oldest
// hour that has a rollup; a time after all of them without any.
func (w *resultWalk) rollupDays(ctx context.Context, from int64) (days []resultDay, oldest time.Time, err error) {
	oldest = StartOf(from + 1)
	var rows []struct {
		Day, N int64
		Oldest time.Time
	}
	err = w.rollups(StartOf(w.kept)).Where("u.hour < ?", StartOf(from+1)).
		ColumnExpr("floor(extract(epoch FROM u.hour) / 86400)::bigint AS day, sum(?)::bigint AS n, min(u.hour) AS oldest", bun.Safe(w.counted())).
		GroupExpr("1").OrderExpr("1 DESC").Scan(ctx, &rows)
	for _, row := range rows {
		oldest = row.Oldest
		if row.N > 0 {
			days = append(days, resultDay{row.Day, row.N})
		}
	}
	return days, oldest, err
}

// ends reports whether the rows are enough: one more than asked for says that there is another page.
func (w *resultWalk) ends(rows []listedResultRow) bool {
	return len(rows) > w.f.Limit || len(rows) > 0 && rows[len(rows)-1].PageLeft > 0
}

// begin returns the first day to read, and the query for what is newer than all days.
func (w *resultWalk) begin() (from int64, members []*bun.SelectQuery, err error) {
	if w.f.From != nil {
		w.floor = max(w.floor, DayOf(w.f.From.Add(-maxLate)))
	}
	if w.f.After == nil {
		from = DayOf(w.now)
		if w.f.To == nil || DayOf(w.f.To.Add(maxEarly)) > from {
			members = append(members, w.where("r.slot >= ?", StartOf(from+1)))
		} else {
			from = DayOf(w.f.To.Add(maxEarly))
		}
		return from, members, nil
	}
	var micros int64
	if _, err := fmt.Sscanf(w.f.After.Key, "%d:%d", &from, &micros); err != nil || from < -1e6 || from > 1e7 {
		return 0, nil, vigil.Invalid("cursor", "is not valid: use the next_cursor of a page as it is")
	}
	first := w.days(from, from+1).Where("(r.time, r.id) < (?, ?)", time.UnixMicro(micros).UTC(), w.f.After.ID)
	return from - 1, append(members, first), nil
}

// days returns the query for the results of the days in [from, to).
func (w *resultWalk) days(from, to int64) *bun.SelectQuery {
	return w.where("r.slot >= ? AND r.slot < ?", StartOf(from), StartOf(to))
}

// where returns the query for the newest results whose slots are in a range of days.
func (w *resultWalk) where(slots string, args ...any) *bun.SelectQuery {
	const dayNumber = "floor(extract(epoch FROM r.slot) / 86400)::bigint"
	query := w.filtered().ColumnExpr(dayNumber+" AS day").Where(slots, args...).Limit(int64(w.f.Limit) + 1)
	if len(args) == 2 && args[1].(time.Time).Sub(args[0].(time.Time)) == day { //nolint:forcetypeassert,gosec // bounds of days
		return query.OrderExpr("r.time DESC, r.id DESC") // an index has this order
	}
	return query.OrderExpr("day DESC, r.time DESC, r.id DESC")
}

// read runs the queries of several days, and drops rows beyond the size of a page.
func (w *resultWalk) read(ctx context.Context, members []*bun.SelectQuery, before []listedResultRow) ([]listedResultRow, error) {
	if len(members) == 0 {
		return nil, nil
	}
	used, limit := int64(0), w.f.Limit+1-len(before)
	if len(before) > 0 {
		used = before[len(before)-1].PageBytes
	}
	all := w.db.NewSelect().TableExpr("(?) AS m", members[0]).ColumnExpr("m.*")
	for _, member := range members[1:] {
		all = all.UnionAll(w.db.NewSelect().TableExpr("(?) AS m", member).ColumnExpr("m.*"))
	}
	var rows []listedResultRow
	const order = "day DESC, time DESC, id DESC"
	err := w.db.NewRaw(`SELECT * FROM (
			SELECT p.*, row_number() OVER w AS page_row, ? + sum(`+w.size()+`) OVER w AS page_bytes,
				count(*) OVER () - row_number() OVER w AS page_left
			FROM (SELECT * FROM (?) AS days ORDER BY `+order+` LIMIT ?) AS p WINDOW w AS (ORDER BY `+order+` ROWS UNBOUNDED PRECEDING)
		) AS bounded WHERE page_row = 1 OR page_bytes <= ? ORDER BY page_row`, used, all, limit, pg.MaxPageBytes).Scan(ctx, &rows)
	return rows, err
}

// resultSize is SQL for the bytes of the large columns of a result.
const resultSize = "coalesce(octet_length(p.metadata::text), 0) + coalesce(octet_length(p.error_message), 0)"

// size is SQL for the bytes of the large columns of a result that are read.
func (w *resultWalk) size() string {
	if w.f.WithEvidence {
		return resultSize + " + coalesce(octet_length(p.evidence::text), 0)"
	}
	return resultSize
}

// pageAtOffset is the page of a client that counts rows: it passes over all rows before.
func (w *resultWalk) pageAtOffset(ctx context.Context) (rows []listedResultRow, err error) {
	page := w.filtered().ColumnExpr("floor(extract(epoch FROM r.slot) / 86400)::bigint AS day").
		OrderExpr("r.time DESC, r.id DESC").Limit(int64(w.f.Limit) + 1).Offset(int64(w.f.Offset))
	err = w.db.BoundedPage(page, "p.time DESC, p.id DESC", w.size()).Scan(ctx, &rows)
	return rows, err
}

// finish ends the page, and sorts it by time: the order that people see.
func (w *resultWalk) finish(rows []listedResultRow) ([]listedResultRow, listing.Extent) {
	var extent listing.Extent
	rows, extent.Next = pg.EndPage(rows, w.f.Page, (*listedResultRow).cut, (*listedResultRow).position)
	slices.SortStableFunc(rows, func(a, b listedResultRow) int {
		return cmp.Or(b.Time.Compare(a.Time), vigil.CompareIDs(b.ID, a.ID))
	})
	return rows, extent
}

// filtered selects the results that the filter asks for. A bound of the time is also one of the slot,
// which leaves few partitions: a result is at most maxEarly before its slot and maxLate after it.
func (w *resultWalk) filtered() *bun.SelectQuery {
	query := w.db.NewSelect().TableExpr("results AS r").ColumnExpr(Columns).Where("r.check_id = ?", w.check)
	if w.f.WithEvidence {
		query = query.ColumnExpr("r.evidence")
	}
	if w.f.From != nil {
		query = query.Where("r.time >= ?", *w.f.From).Where("r.slot >= ?", w.f.From.Add(-maxLate))
	}
	if w.f.To != nil {
		query = query.Where("r.time < ?", *w.f.To).Where("r.slot < ?", w.f.To.Add(maxEarly))
	}
	if w.f.Region != "" {
		query = query.Where("r.region = ?", w.f.Region)
	}
	if w.f.Success != nil {
		query = query.Where("r.success = ?", *w.f.Success)
	}
	return query
}
