// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"github.com/google/uuid"
)

// MaxTotal is the largest number of rows that a list counts.
const MaxTotal = 10_000

// Page is a window of a list.
type Page struct {
	Limit  int // maximum number of rows
	Offset int // rows to skip
	// After is the last row of the page before; nil begins at Offset.
	After *PagePosition
}

// PagePosition is the place of a row in an ordered list. It stays valid when rows are
// inserted or deleted, also when its own row is.
type PagePosition struct {
	Key string // value of the column that orders the list
	ID  uuid.UUID
}

// Extent describes the list that a page is part of.
type Extent struct {
	// Total is the number of rows in the list: MaxTotal+1 when there are more than
	// MaxTotal. A page after a position does not count, and has 0.
	Total int
	// Next is the last row of the page; nil when no row follows it.
	Next *PagePosition
}
