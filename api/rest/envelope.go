// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"strconv"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
)

// Envelope wraps every successful body.
type Envelope[T any] struct {
	Data T `json:"data"`
}

// Answer is what a handler of one resource returns.
type Answer[T any] struct {
	Body Envelope[T]
}

// NewAnswer wraps a resource.
func NewAnswer[T any](v T) *Answer[T] {
	return &Answer[T]{Body: Envelope[T]{Data: v}}
}

// List wraps every successful body that holds a list.
type List[T any] struct {
	Data []T  `json:"data"`
	Meta Meta `json:"meta"`
}

// Meta describes the whole of a list of which a page is shown.
type Meta struct {
	Total       string  `json:"total" pattern:"^[0-9]+$" example:"42" doc:"How many there are in all, as a string. A page after a cursor has the total of the first page."`
	TotalCapped bool    `json:"total_capped,omitempty" doc:"There are more than total says; it counts up to 10000."`
	NextCursor  string  `json:"next_cursor,omitempty" doc:"Send it as cursor to get the next page; absent when no row follows, and in lists without cursors."`
	Counts      *Counts `json:"counts,omitempty" doc:"Numbers of checks by state, when counts=true was sent."`

	Groups       []CheckGroup `json:"groups,omitempty" maxItems:"1001" doc:"Numbers of checks by the values of a label, in the order of the values, when group_by was sent. The checks without the label come last."`
	GroupsCapped bool         `json:"groups_capped,omitempty" doc:"There are more values than groups shows: it has 1000."`
	LabelKeys    []LabelKey   `json:"label_keys,omitempty" maxItems:"100" doc:"Keys of labels, the most common first, when label_keys=true was sent."`
}

// CheckGroup counts the checks that have one value of a label, with the filters of the list except health,
// state and enabled.
type CheckGroup struct {
	Value    *string `json:"value" doc:"The value of the label; null for the checks without the label."`
	Total    int64   `json:"total"`
	Failing  int64   `json:"failing" doc:"In the state failing: the newest result of some region failed."`
	Warning  int64   `json:"warning" doc:"In the state warning: every newest result passed, and an incident is open."`
	Passing  int64   `json:"passing" doc:"In the state passing."`
	Unknown  int64   `json:"unknown" doc:"In the state unknown: without a recent result."`
	Disabled int64   `json:"disabled"`
}

// ShowCheckGroup shows a group of checks.
func ShowCheckGroup(g listing.CheckGroup) CheckGroup {
	out := CheckGroup{
		Total: g.Total, Failing: g.Failing, Warning: g.Warning, Passing: g.Passing, Unknown: g.Unknown, Disabled: g.Disabled,
	}
	if g.Labeled {
		out.Value = &g.Value
	}
	return out
}

// LabelKey is the key of a label, and how many checks have it.
type LabelKey struct {
	Key    string `json:"key" example:"team"`
	Checks int64  `json:"checks"`
}

// Counts are the numbers of checks by state, with the filters of the list except health,
// state and enabled.
type Counts struct {
	Healthy   int64 `json:"healthy" doc:"Enabled, and the latest result succeeded."`
	Unhealthy int64 `json:"unhealthy" doc:"Enabled, and the latest result failed."`
	Unknown   int64 `json:"unknown" doc:"Enabled, and without a recent result."`
	Disabled  int64 `json:"disabled"`
	Failing   int64 `json:"failing" doc:"In the state failing: the newest result of some region failed."`
	Warning   int64 `json:"warning" doc:"In the state warning: every newest result passed, and an incident is open."`
	Passing   int64 `json:"passing" doc:"In the state passing."`
}

// Listing is what a handler of a list returns.
type Listing[T any] struct {
	Body List[T]
}

// NewListing shows a page of rows, of which there are total in all.
func NewListing[R, T any](rows []R, total int, show func(R) T) *Listing[T] {
	out := &Listing[T]{Body: List[T]{Data: make([]T, 0, len(rows)), Meta: Meta{Total: strconv.Itoa(total)}}}
	for _, row := range rows {
		out.Body.Data = append(out.Body.Data, show(row))
	}
	return out
}

// MaxPage is the largest page of most lists (spec section 8).
const MaxPage = 100

// PageQuery selects a page of a list. It is exported, as is everything that is
// embedded in a body or in parameters, because Huma passes over what is not.
type PageQuery struct {
	Limit  int64 `query:"limit" default:"50" minimum:"1" doc:"How many to show. More than 100 is read as 100. A page of very large rows (8 MiB) has fewer: go on at offset plus the number of rows received."`
	Offset int64 `query:"offset" default:"0" minimum:"0" doc:"How many to skip, counted from the newest."`
}

// Page returns the page with its limit bounded.
func (p *PageQuery) Page() listing.Page {
	return listing.Page{Limit: int(min(p.Limit, MaxPage)), Offset: int(p.Offset)}
}

// Cut returns a page of rows that are all in memory.
func Cut[T any](rows []T, page listing.Page) []T {
	rows = rows[min(page.Offset, len(rows)):]
	return rows[:min(page.Limit, len(rows))]
}

// IDPath is the id of a resource in a path.
type IDPath struct {
	ID string `path:"id" format:"uuid" doc:"The id of the resource."`
}

// Parse reads the id. What is no UUID in its usual form names nothing that
// exists.
func (p *IDPath) Parse(resource string) (uuid.UUID, error) {
	return ParseID(p.ID, resource)
}

// IdempotencyKey is the header of operations that a client may repeat.
type IdempotencyKey struct {
	Key string `header:"Idempotency-Key" maxLength:"255" pattern:"^[!-~]+$" doc:"A key of your choice, of visible ASCII characters. A request that repeats an earlier one with the same key is the same request, also while the first is still under way."`
}

// ResourceID is the id for the audit log; zero when it is malformed.
func (p *IDPath) ResourceID() uuid.UUID {
	id, _ := p.Parse("")
	return id
}

// ParseID reads an id in the usual form of a UUID; anything else is not found.
func ParseID(text, resource string) (uuid.UUID, error) {
	const length = len("00000000-0000-0000-0000-000000000000")
	id, err := uuid.Parse(text)
	if err != nil || len(text) != length {
		return uuid.UUID{}, vigil.NotFound(resource)
	}
	return id, nil
}
