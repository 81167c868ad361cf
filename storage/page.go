package storage

import "github.com/uptrace/bun"

// maxPageBytes is how many bytes of large columns one page of a list holds. A page with
// larger rows has fewer rows than its limit, but at least one.
const maxPageBytes = 8 << 20

// boundedPage returns the query of a page without the rows that are beyond maxPageBytes.
// page is a query with its order, limit and offset. order is the same order, and size
// the bytes of a row; both are SQL about the rows of page, whose alias is p.
func (s *Store) boundedPage(page *bun.SelectQuery, order, size string) *bun.RawQuery {
	return s.db.NewRaw(`SELECT * FROM (
			SELECT p.*, row_number() OVER w AS page_row, sum(`+size+`) OVER w AS page_bytes FROM (?) AS p
			WINDOW w AS (ORDER BY `+order+` ROWS UNBOUNDED PRECEDING)
		) AS bounded WHERE page_row = 1 OR page_bytes <= ? ORDER BY page_row`, page, maxPageBytes)
}

// newestFirst is the order of most pages.
const newestFirst = "p.created_at DESC, p.id DESC"
