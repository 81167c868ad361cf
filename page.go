// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"fmt"
	"slices"
	"strings"

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

// AuditFilter selects entries of the audit log. Zero members select all.
type AuditFilter struct {
	Resource   string // kind of resource: the part of an action before the dot
	ResourceID uuid.UUID
	UserID     uuid.UUID
	Page
}

// Precondition holds the revisions that a conditional change accepts: the If-Match header
// of RFC 9110. Nil accepts every revision, and an empty Precondition none.
type Precondition []int64

// Check returns a CodePrecondition error when the revision of a resource is not accepted.
// Kind names the resource for people, such as "check"; the details have the revision.
func (m Precondition) Check(kind string, revision int64) error {
	if m == nil || slices.Contains(m, revision) {
		return nil
	}
	named := "no revision of it"
	if len(m) > 0 {
		texts := make([]string, len(m))
		for i, accepted := range m {
			texts[i] = fmt.Sprintf(`"%d"`, accepted)
		}
		named = strings.Join(texts, ", ")
	}
	err := Errorf(
		CodePrecondition,
		`The %s has changed: its revision is "%d", and If-Match names %s. Nothing was changed. `+
			`Read the %s again, then repeat the request with its ETag.`,
		kind,
		revision,
		named,
		kind,
	)
	err.Details = map[string]any{"revision": revision}
	return err
}
