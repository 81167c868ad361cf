package api

import (
	"strconv"

	"github.com/google/uuid"

	"vigil"
)

// envelope wraps every successful body.
type envelope[T any] struct {
	Data T `json:"data"`
}

// answerOf is what a handler of one resource returns.
type answerOf[T any] struct {
	Body envelope[T]
}

// answering wraps a resource.
func answering[T any](v T) *answerOf[T] {
	return &answerOf[T]{Body: envelope[T]{Data: v}}
}

// list wraps every successful body that holds a list.
type list[T any] struct {
	Data []T  `json:"data"`
	Meta meta `json:"meta"`
}

// meta describes the whole of a list of which a page is shown.
type meta struct {
	Total string `json:"total" pattern:"^[0-9]+$" example:"42" doc:"How many there are in all, as a string."`
}

// listOf is what a handler of a list returns.
type listOf[T any] struct {
	Body list[T]
}

// listing shows a page of rows, of which there are total in all.
func listing[R, T any](rows []R, total int, show func(R) T) *listOf[T] {
	out := &listOf[T]{Body: list[T]{Data: make([]T, 0, len(rows)), Meta: meta{Total: strconv.Itoa(total)}}}
	for _, row := range rows {
		out.Body.Data = append(out.Body.Data, show(row))
	}
	return out
}

// Page sizes (spec section 8).
const maxPage = 100

// PageQuery selects a page of a list. It is exported, as is everything that is
// embedded in a body or in parameters, because Huma passes over what is not.
type PageQuery struct {
	Limit  int64 `query:"limit" default:"50" minimum:"1" doc:"How many to show. More than 100 is read as 100."`
	Offset int64 `query:"offset" default:"0" minimum:"0" doc:"How many to pass over, counted from the newest."`
}

func (p *PageQuery) page() vigil.Page {
	return vigil.Page{Limit: int(min(p.Limit, maxPage)), Offset: int(p.Offset)}
}

// cut returns the page of rows that are all at hand.
func cut[T any](rows []T, page vigil.Page) []T {
	rows = rows[min(page.Offset, len(rows)):]
	return rows[:min(page.Limit, len(rows))]
}

// IDPath is the id of a resource in a path.
type IDPath struct {
	ID string `path:"id" format:"uuid" doc:"The id of the resource."`
}

// parse reads the id. What is no UUID in its usual form names nothing that
// exists.
func (p *IDPath) parse(resource string) (uuid.UUID, error) {
	return parseID(p.ID, resource)
}

// resourceID is the id for the audit log; zero when it is malformed.
func (p *IDPath) resourceID() uuid.UUID {
	id, _ := p.parse("")
	return id
}

func parseID(text, resource string) (uuid.UUID, error) {
	const length = len("00000000-0000-0000-0000-000000000000")
	id, err := uuid.Parse(text)
	if err != nil || len(text) != length {
		return uuid.UUID{}, vigil.NotFound(resource)
	}
	return id, nil
}
