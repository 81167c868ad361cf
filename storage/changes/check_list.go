// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/storage/definitions"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// listedCheckRow is a check on a page of a list.
type listedCheckRow struct {
	definitions.CheckRow `bun:",extend"`

	SortName string `bun:"sort_name,scanonly"` // of a list that is sorted by name
	PageLeft int64  `bun:"page_left,scanonly"`
}

func checkOrder(sort listing.CheckSort, states *checkStates) pg.Order {
	column, descending := sort.Column()
	// Byte order is the same on every machine, and an index has that of the names.
	const name = `lower(%[1]s.name) COLLATE "C"`
	switch column {
	case string(listing.SortState):
		return pg.Order{Column: states.rank("%[1]s") + " || " + name, Descending: descending, Text: true}
	case string(listing.SortType):
		return pg.Order{Column: "%[1]s.type || ' ' || " + name, Descending: descending, Text: true}
	case string(listing.SortInterval):
		return pg.Order{Column: "lpad(%[1]s.interval_ms::text, 14, '0') || " + name, Descending: descending, Text: true}
	case string(listing.SortName):
		return pg.Order{Column: name, Descending: descending, Text: true}
	}
	return pg.Order{Column: "%s." + column, Descending: descending}
}

// Checks returns a page of an organization's checks that the filter selects, and the
// extent of the list. A page ends before its limit when it holds 8 MiB.
func (s *Store) Checks(ctx context.Context, orgID uuid.UUID, list listing.CheckList) ([]vigil.Check, listing.Extent, error) {
	checks, extent, err := s.listChecks(ctx, orgID, list)
	return checks, extent, pg.Wrap("list checks", err)
}

func (s *Store) listChecks(ctx context.Context, orgID uuid.UUID, list listing.CheckList) ([]vigil.Check, listing.Extent, error) {
	var states *checkStates
	var err error
	if column, _ := list.Sort.Column(); listing.CheckSort(column) == listing.SortState || list.State != "" {
		if states, err = s.readCheckStates(ctx, s.db, orgID); err != nil {
			return nil, listing.Extent{}, err
		}
	}
	selected, err := s.checkSelection(ctx, s.db, orgID, list.CheckFilter, states)
	if err != nil {
		return nil, listing.Extent{}, err
	}
	sorted := checkOrder(list.Sort, states)
	page, err := sorted.Window(selected().ColumnExpr("c.*"), "c", list.Page)
	if err != nil {
		return nil, listing.Extent{}, err
	}
	// The latest results are looked up for the rows of the page only.
	var rows []listedCheckRow
	query := s.db.NewSelect().
		TableExpr("(?) AS c", page).
		ColumnExpr("c.*").
		ColumnExpr(definitions.LatestHealth).
		Join(s.definitions.LatestResult())
	if sorted.Text {
		query = query.ColumnExpr("? AS sort_name", bun.Safe(fmt.Sprintf(sorted.Column, "c")))
	}
	err = s.db.BoundedPage(query, sorted.By("p"), "octet_length(p.config::text)").Scan(ctx, &rows)
	if err != nil {
		return nil, listing.Extent{}, err
	}
	var extent listing.Extent
	rows, extent.Next = pg.EndPage(rows, list.Page, func(r *listedCheckRow) bool { return r.PageLeft > 0 },
		func(r *listedCheckRow) listing.PagePosition { return checkPosition(list.Sort, r) })
	if extent.Total, err = s.db.PageTotal(ctx, selected(), list.Page); err != nil {
		return nil, listing.Extent{}, err
	}
	checks := make([]vigil.Check, len(rows))
	for i := range rows {
		if checks[i], err = s.definitions.Opened(&rows[i].CheckRow); err != nil {
			return nil, listing.Extent{}, err
		}
	}
	return checks, extent, nil
}

func checkPosition(sort listing.CheckSort, r *listedCheckRow) listing.PagePosition {
	switch column, _ := sort.Column(); column {
	case string(listing.SortName), string(listing.SortState), string(listing.SortType), string(listing.SortInterval):
		return listing.PagePosition{Key: r.SortName, ID: r.ID}
	case string(listing.SortUpdated):
		return pg.TimePosition(r.UpdatedAt, r.ID)
	}
	return pg.TimePosition(r.CreatedAt, r.ID)
}

// checkSelection returns a function that makes queries for the checks that a filter
// selects, with the alias c. States are needed for a filter by state only, and read when
// they are nil.
func (s *Store) checkSelection(
	ctx context.Context, db bun.IDB, orgID uuid.UUID, f listing.CheckFilter, states *checkStates,
) (func() *bun.SelectQuery, error) {
	if f.State != "" && states == nil {
		var err error
		if states, err = s.readCheckStates(ctx, db, orgID); err != nil {
			return nil, err
		}
	}
	var ill *illChecks
	if f.Health != "" {
		var err error
		if ill, err = s.readIllChecks(ctx, db, orgID); err != nil {
			return nil, err
		}
	}
	failing, err := s.failingWith(ctx, db, orgID, f)
	if err != nil {
		return nil, err
	}
	return func() *bun.SelectQuery {
		query := whereChecks(s.db.NewSelect().TableExpr("checks AS c"), orgID, f, failing)
		if f.Health != "" {
			query = ill.where(query, f.Health)
		}
		if f.State != "" {
			query = states.where(query, f.State)
		}
		return query
	}, nil
}

// whereChecks adds a filter to a query, except its health and state. failing are what failingWith finds.
func whereChecks(query *bun.SelectQuery, orgID uuid.UUID, f listing.CheckFilter, failing []uuid.UUID) *bun.SelectQuery {
	query = query.Where("c.org_id = ? AND c."+pg.NotDrill, orgID)
	if f.IDs != nil {
		query = query.Where("c.id = ANY(?::uuid[])", pgdialect.Array(f.IDs))
	}
	if f.Query != "" {
		query = whereFound(query, f, failing)
	}
	if f.Type != "" {
		query = query.Where("c.type = ?", string(f.Type))
	}
	if f.Enabled != nil {
		query = query.Where("c.enabled = ?", *f.Enabled)
	}
	if f.Region != "" {
		query = query.Where("? = ANY(c.regions)", f.Region)
	}
	for _, key := range f.Unlabeled {
		query = query.Where(`NOT c.labels \? ?`, key)
	}
	return definitions.WhereManaged(pg.WhereLabels(query, "c", f.Labels), "c", f.Managed)
}
