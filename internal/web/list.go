// SPDX-License-Identifier: Apache-2.0

package web

import (
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
)

// listPage is how many rows a list shows at once.
const listPage = 50

// filterURL returns the address of the page with a parameter changed, and on its first
// page. An empty value drops the parameter.
func (r *request) filterURL(name, value string) string {
	query := r.URL.Query()
	query.Del("cursor")
	query.Del(name)
	if value != "" {
		query.Set(name, value)
	}
	if len(query) == 0 {
		return r.URL.Path
	}
	return r.URL.Path + "?" + query.Encode()
}

// cursor returns the place in a list that the address names; nil for its start.
func (r *request) cursor() *string {
	if at := r.URL.Query().Get("cursor"); at != "" {
		return &at
	}
	return nil
}

// older is the address of the rows after those that are shown; empty when there are none.
func (r *request) older(meta client.Meta) string {
	if meta.NextCursor == nil {
		return ""
	}
	query := r.URL.Query()
	query.Set("cursor", *meta.NextCursor)
	return r.URL.Path + "?" + query.Encode()
}

// oneOf returns a parameter of the address when it is one of the values, and otherwise
// nothing, so that a mistyped address shows everything.
func (r *request) oneOf(name string, values ...string) string {
	value := r.URL.Query().Get(name)
	if slices.Contains(values, value) {
		return value
	}
	return ""
}

// idParameter returns a parameter of the address that is an id; nil without one.
func (r *request) idParameter(name string) *uuid.UUID {
	id, err := uuid.Parse(r.URL.Query().Get(name))
	if err != nil {
		return nil
	}
	return &id
}

// filtered reports whether the address selects some rows.
func (r *request) filtered(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return r.URL.Query().Get(name) != "" })
}

// ifMatch is the revision that the form was made from, as If-Match has it: a change that
// was made meanwhile is not overwritten. A form without one overwrites.
func (f *form) ifMatch() *string {
	if revision := f.get("revision"); revision != "" {
		tag := strconv.Quote(revision)
		return &tag
	}
	return nil
}

// pager leads to the other rows of a list.
type pager struct {
	Older, First string // addresses; empty where there is nothing
	Shown        string
}

func (r *request) pager(meta client.Meta, shown int, noun string) pager {
	p := pager{Older: r.older(meta)}
	if r.cursor() != nil {
		p.First = r.filterURL("cursor", "")
	}
	total := totalOf(meta)
	p.Shown = counted(total, noun)
	if meta.TotalCapped != nil && *meta.TotalCapped {
		p.Shown = "more than " + p.Shown
	}
	if int64(shown) < total {
		p.Shown = number(int64(shown)) + " of " + p.Shown
	}
	return p
}

// revisionOf is the revision of what was read; 0 when it has none.
func revisionOf(revision *int64) int64 {
	if revision == nil {
		return 0
	}
	return *revision
}
