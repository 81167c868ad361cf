// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
)

// maxPageBytes is how many bytes of large columns one page of a list holds. A page with
// larger rows has fewer rows than its limit, but at least one.
const maxPageBytes = 8 << 20

// order is how a list is sorted: by a column and, among equal ones, by id.
type order struct {
	column     string // SQL; %s is the alias of the table
	descending bool
	text       bool // the column is text; otherwise it is a time
}

// newest is the order of most lists.
func newest(column string) order { return order{column: "%s." + column, descending: true} }

// by returns the ORDER BY of the list.
func (o order) by(alias string) string {
	direction := ""
	if o.descending {
		direction = " DESC"
	}
	return fmt.Sprintf(o.column+direction+", %[1]s.id"+direction, alias)
}

// window restricts a query to a page, and one row more that shows whether the list goes
// on. A position with a key that is not of the column is a CodeInvalid error.
func (o order) window(query *bun.SelectQuery, alias string, page vigil.Page) (*bun.SelectQuery, error) {
	if page.After != nil {
		key, err := o.key(page.After)
		if err != nil {
			return nil, err
		}
		compare := ">"
		if o.descending {
			compare = "<"
		}
		query = query.Where(fmt.Sprintf("("+o.column+", %[1]s.id) "+compare+" (?, ?)", alias), key, page.After.ID)
	}
	return query.OrderExpr(o.by(alias)).Limit(int64(page.Limit) + 1).Offset(int64(page.Offset)), nil
}

func (o order) key(at *vigil.PagePosition) (any, error) {
	if o.text {
		return at.Key, nil
	}
	micros, err := strconv.ParseInt(at.Key, 10, 64)
	if err != nil || time.UnixMicro(micros).Year() > 9999 || time.UnixMicro(micros).Year() < 0 {
		return nil, vigil.Invalid("cursor", "is not valid: use the next_cursor of a page as it is")
	}
	return time.UnixMicro(micros).UTC(), nil
}

// timePosition is the position of a row in a list that is sorted by a time.
func timePosition(at time.Time, id uuid.UUID) vigil.PagePosition {
	return vigil.PagePosition{Key: strconv.FormatInt(at.UnixMicro(), 10), ID: id}
}

// endPage drops the row beyond the page, which order.window reads, and returns where the
// page ends; nil when the list ends there, too. cut reports whether rows after this one
// were left out of the page because of their size; nil for a list without such rows.
func endPage[R any](rows []R, page vigil.Page, cut func(*R) bool, position func(*R) vigil.PagePosition) ([]R, *vigil.PagePosition) {
	if len(rows) == 0 {
		return rows, nil
	}
	more := len(rows) > page.Limit
	rows = rows[:min(len(rows), page.Limit)]
	last := &rows[len(rows)-1]
	if more || cut != nil && cut(last) {
		at := position(last)
		return rows, &at
	}
	return rows, nil
}

// pageTotal counts the rows of a query for the extent of its list, up to one more than
// vigil.MaxTotal. It does not count for a page after a position.
func (s *Store) pageTotal(ctx context.Context, query *bun.SelectQuery, page vigil.Page) (total int, err error) {
	if page.After != nil {
		return 0, nil
	}
	bounded := query.ColumnExpr("1").Limit(vigil.MaxTotal + 1)
	if err := s.db.NewRaw("SELECT count(*) FROM (?) AS counted", bounded).Scan(ctx, &total); err != nil {
		return 0, fmt.Errorf("count: %w", err)
	}
	return total, nil
}

// smallRows is a list whose rows are small, so that a page of it always has all its rows.
type smallRows[R any] struct {
	what  string // for errors
	alias string // of the table
	order order
	// selected adds the conditions of the list to a query.
	selected func(*bun.SelectQuery) *bun.SelectQuery
	without  []string // columns that the list does not show
	columns  []string // SQL expressions that the list shows instead of all columns
	position func(*R) vigil.PagePosition
}

// page reads a page of the list, and the extent of the list.
func (l smallRows[R]) page(ctx context.Context, s *Store, page vigil.Page) ([]R, vigil.Extent, error) {
	var rows []R
	var extent vigil.Extent
	var err error
	if extent.Total, err = s.pageTotal(ctx, l.selected(s.db.NewSelect().Model((*R)(nil))), page); err != nil {
		return nil, vigil.Extent{}, wrap("count "+l.what, err)
	}
	query := s.db.NewSelect().Model(&rows)
	if len(l.without) > 0 {
		query = query.ExcludeColumn(l.without...)
	}
	for _, column := range l.columns {
		query = query.ColumnExpr(column)
	}
	if query, err = l.order.window(l.selected(query), l.alias, page); err != nil {
		return nil, vigil.Extent{}, err
	}
	if err := query.Scan(ctx); err != nil {
		return nil, vigil.Extent{}, wrap("list "+l.what, err)
	}
	rows, extent.Next = endPage(rows, page, nil, l.position)
	return rows, extent, nil
}

// newestFirst is the order of a list of rows with a column created_at.
func newestFirst() order { return newest("created_at") }

// boundedPage returns the query of a page without the rows that are beyond maxPageBytes.
// page is a query with its order, limit and offset. order is the same order, and size
// the bytes of a row; both are SQL about the rows of page, whose alias is p. The column
// page_left is how many rows of the page follow a row.
func (s *Store) boundedPage(page *bun.SelectQuery, order, size string) *bun.RawQuery {
	return s.db.NewRaw(`SELECT * FROM (
			SELECT p.*, row_number() OVER w AS page_row, sum(`+size+`) OVER w AS page_bytes, count(*) OVER () - row_number() OVER w AS page_left
			FROM (?) AS p WINDOW w AS (ORDER BY `+order+` ROWS UNBOUNDED PRECEDING)
		) AS bounded WHERE page_row = 1 OR page_bytes <= ? ORDER BY page_row`, page, maxPageBytes)
}
