// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strconv"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
)

// ListQuery selects a page of a list that goes on by cursors.
type ListQuery struct {
	PageQuery
	Cursor string `query:"cursor" maxLength:"2000" doc:"The next_cursor of a page, to get the page after it. Rows that are created or deleted meanwhile neither repeat nor hide others. Send the same filters and sort again; not together with offset."`
}

// Cursor is the list that a page is part of: what its cursors are bound to.
type Cursor struct {
	list  []string
	total int // of a list whose page comes after a cursor
	given bool
}

// cursorText is a cursor before its encoding. It has no secret: its position only
// narrows what the caller may read anyway.
type cursorText struct {
	Key   string    `json:"k"`
	ID    uuid.UUID `json:"i"`
	Total int       `json:"n"`
	// Sum binds the others to the list, so that a cursor of another list is refused.
	Sum []byte `json:"s"`
}

const sumBytes = 9

func (c *cursorText) sum(list []string) []byte {
	text, _ := json.Marshal(append([]string{c.Key, c.ID.String(), strconv.Itoa(c.Total)}, list...)) // strings always encode
	sum := sha256.Sum256(text)
	return sum[:sumBytes]
}

// Open returns the page of a list. The list is named by its operation and everything
// that selects and sorts its rows: a cursor is refused for any other one.
func (q *ListQuery) Open(limit int64, list ...string) (listing.Page, *Cursor, error) {
	page := listing.Page{Limit: int(min(q.Limit, limit)), Offset: int(q.Offset)}
	cursor := &Cursor{list: list}
	if q.Cursor == "" {
		return page, cursor, nil
	}
	if q.Offset > 0 {
		return page, cursor, vigil.Invalid("offset", "must not be given together with cursor")
	}
	text, err := base64.RawURLEncoding.DecodeString(q.Cursor)
	var at cursorText
	if err != nil || json.Unmarshal(text, &at) != nil {
		return page, cursor, vigil.Invalid("cursor", "is not a cursor: use the next_cursor of a page as it is")
	}
	if string(at.Sum) != string(at.sum(list)) {
		return page, cursor, vigil.Invalid("cursor", "belongs to another list: send the filters and the sort of the page that it came with")
	}
	page.After = &listing.PagePosition{Key: at.Key, ID: at.ID}
	cursor.total, cursor.given = at.Total, true
	return page, cursor, nil
}

// NewPage shows a page of the list of a cursor.
func NewPage[R, T any](rows []R, extent listing.Extent, cursor *Cursor, show func(R) T) *Listing[T] {
	total := extent.Total
	if cursor.given {
		total = cursor.total
	}
	out := NewListing(rows, min(total, listing.MaxTotal), show)
	out.Body.Meta.TotalCapped = total > listing.MaxTotal
	if extent.Next != nil {
		out.Body.Meta.NextCursor = cursor.after(*extent.Next, total)
	}
	return out
}

func (c *Cursor) after(at listing.PagePosition, total int) string {
	text := cursorText{Key: at.Key, ID: at.ID, Total: total}
	text.Sum = text.sum(c.list)
	encoded, _ := json.Marshal(text) // strings and numbers always encode
	return base64.RawURLEncoding.EncodeToString(encoded)
}
