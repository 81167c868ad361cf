// SPDX-License-Identifier: Apache-2.0

package pg

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
)

// MaxPageBytes is how many bytes of large columns one page of a list holds. A page with
// larger rows has fewer rows than its limit, but at least one.
const MaxPageBytes = 8 << 20

// Order is how a list is sorted: by a column and, among equal ones, by id.
type Order struct {
	Column     string // SQL; %s is the alias of the table
	Descending bool
	Text       bool // the column is text; otherwise it is a time
}

// Newest is the order of most lists.
func Newest(column string) Order { return Order{Column: "%s." + column, Descending: true} }

// By returns the ORDER BY of the list.
func (o Order) By(alias string) string {
	direction := ""
	if o.Descending {
		direction = " DESC"
	}
	return fmt.Sprintf(o.Column+direction+", %[1]s.id"+direction, alias)
}

// Window restricts a query to a page, and one row more that shows whether the list goes
// on. A position with a key that is not of the column is a CodeInvalid error.
func (o Order) Window(query *bun.SelectQuery, alias string, page listing.Page) (*bun.SelectQuery, error) {
	if page.After != nil {
		key, err := o.key(page.After)
		if err != nil {
			return nil, err
		}
		compare := ">"
		if o.Descending {
			compare = "<"
		}
		query = query.Where(fmt.Sprintf("("+o.Column+", %[1]s.id) "+compare+" (?, ?)", alias), key, page.After.ID)
	}
	return query.OrderExpr(o.By(alias)).Limit(int64(page.Limit) + 1).Offset(int64(page.Offset)), nil
}

func (o Order) key(at *listing.PagePosition) (any, error) {
	if o.Text {
		return at.Key, nil
	}
	micros, err := strconv.ParseInt(at.Key, 10, 64)
	if err != nil || time.UnixMicro(micros).Year() > 9999 || time.UnixMicro(micros).Year() < 0 {
		return nil, vigil.Invalid("cursor", "is not valid: use the next_cursor of a page as it is")
	}
	return time.UnixMicro(micros).UTC(), nil
}

// TimePosition is the position of a row in a list that is sorted by a time.
func TimePosition(at time.Time, id uuid.UUID) listing.PagePosition {
	return listing.PagePosition{Key: strconv.FormatInt(at.UnixMicro(), 10), ID: id}
}

// EndPage drops the row beyond the page, which order.window reads, and returns where the
// page ends; nil when the list ends there, too. cut reports whether rows after this one
// were left out of the page because of their size; nil for a list without such rows.
func EndPage[R any](rows []R, page listing.Page, cut func(*R) bool, position func(*R) listing.PagePosition) ([]R, *listing.PagePosition) {
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

// PageTotal counts the rows of a query for the extent of its list, up to one more than
// listing.MaxTotal. It does not count for a page after a position.
func (d *DB) PageTotal(ctx context.Context, query *bun.SelectQuery, page listing.Page) (total int, err error) {
	if page.After != nil {
		return 0, nil
	}
	bounded := query.ColumnExpr("1").Limit(listing.MaxTotal + 1)
	if err := d.NewRaw("SELECT count(*) FROM (?) AS counted", bounded).Scan(ctx, &total); err != nil {
		return 0, fmt.Errorf("count: %w", err)
	}
	return total, nil
}

// SmallRows is a list whose rows are small, so that a page of it always has all its rows.
type SmallRows[R any] struct {
	What  string // for errors
	Alias string // of the table
	Order Order
	// selected adds the conditions of the list to a query.
	Selected func(*bun.SelectQuery) *bun.SelectQuery
	Without  []string // columns that the list does not show
	Columns  []string // SQL expressions that the list shows instead of all columns
	Position func(*R) listing.PagePosition
}

// Page reads a page of the list, and the extent of the list.
func (l SmallRows[R]) Page(ctx context.Context, d *DB, page listing.Page) ([]R, listing.Extent, error) {
	var rows []R
	var extent listing.Extent
	var err error
	if extent.Total, err = d.PageTotal(ctx, l.Selected(d.NewSelect().Model((*R)(nil))), page); err != nil {
		return nil, listing.Extent{}, Wrap("count "+l.What, err)
	}
	query := d.NewSelect().Model(&rows)
	if len(l.Without) > 0 {
		query = query.ExcludeColumn(l.Without...)
	}
	for _, column := range l.Columns {
		query = query.ColumnExpr(column)
	}
	if query, err = l.Order.Window(l.Selected(query), l.Alias, page); err != nil {
		return nil, listing.Extent{}, err
	}
	if err := query.Scan(ctx); err != nil {
		return nil, listing.Extent{}, Wrap("list "+l.What, err)
	}
	rows, extent.Next = EndPage(rows, page, nil, l.Position)
	return rows, extent, nil
}

// NewestFirst is the order of a list of rows with a column created_at.
func NewestFirst() Order { return Newest("created_at") }

// BoundedPage returns the query of a page without the rows that are beyond MaxPageBytes.
// page is a query with its order, limit and offset. order is the same order, and size
// the bytes of a row; both are SQL about the rows of page, whose alias is p. The column
// page_left is how many rows of the page follow a row.
func (d *DB) BoundedPage(page *bun.SelectQuery, order, size string) *bun.RawQuery {
	return d.NewRaw(`SELECT * FROM (
			SELECT p.*, row_number() OVER w AS page_row, sum(`+size+`) OVER w AS page_bytes, count(*) OVER () - row_number() OVER w AS page_left
			FROM (?) AS p WINDOW w AS (ORDER BY `+order+` ROWS UNBOUNDED PRECEDING)
		) AS bounded WHERE page_row = 1 OR page_bytes <= ? ORDER BY page_row`, page, MaxPageBytes)
}
