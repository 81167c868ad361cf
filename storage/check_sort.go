// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// figure is what a list of checks is sorted by; known is false for a check without it.
type figure struct {
	id    uuid.UUID
	value float64
	known bool
}

// figuresAtOnce is how many checks the figures are read of in one set of statements.
const figuresAtOnce = 1000

// Checks returns a page of an organization's checks that the filter selects, and the extent of the list. A
// page ends before its limit when it holds 8 MiB. An order by a figure of more than listing.MaxTotal checks is a
// CodeInvalid error.
func (s *Store) Checks(ctx context.Context, orgID uuid.UUID, list listing.CheckList) ([]vigil.Check, listing.Extent, error) {
	if !list.Sort.Figure() {
		return s.changeStore.Checks(ctx, orgID, list)
	}
	ids, err := s.SelectedChecks(ctx, orgID, list.CheckFilter)
	if err != nil {
		return nil, listing.Extent{}, err
	}
	column, descending := list.Sort.Column()
	if len(ids) > listing.MaxTotal {
		return nil, listing.Extent{}, vigil.Invalid("sort", "%s sorts up to %d checks: narrow the list by filters", column, listing.MaxTotal)
	}
	order, err := s.figuresOf(ctx, orgID, ids, listing.CheckSort(column))
	if err != nil {
		return nil, listing.Extent{}, pg.Wrap("sort checks", err)
	}
	compare := compareFigures(descending)
	slices.SortFunc(order, compare)
	extent := listing.Extent{Total: len(order)}
	if list.After != nil {
		extent.Total = 0
		after, err := figureAt(list.After)
		if err != nil {
			return nil, listing.Extent{}, err
		}
		at, _ := slices.BinarySearchFunc(order, after, compare)
		if at < len(order) && compare(order[at], after) == 0 {
			at++
		}
		order = order[at:]
	}
	order = order[min(list.Offset, len(order)):]
	shown := order[:min(list.Limit, len(order))]
	checks, err := s.checksInOrder(ctx, orgID, shown)
	if err != nil {
		return nil, listing.Extent{}, err
	}
	if n := len(shown); n > 0 && (len(order) > n || len(checks) < n) {
		last := shown[n-1]
		if len(checks) > 0 && checks[len(checks)-1].ID != last.id { // deleted meanwhile, or too large for the page
			last = shown[slices.IndexFunc(shown, func(f figure) bool { return f.id == checks[len(checks)-1].ID })]
		}
		if last.id != order[len(order)-1].id {
			extent.Next = &listing.PagePosition{Key: last.key(), ID: last.id}
		}
	}
	return checks, extent, nil
}

// compareFigures sorts by the figure and then by id; checks without one come last.
func compareFigures(descending bool) func(a, b figure) int {
	return func(a, b figure) int {
		if a.known != b.known {
			if a.known {
				return -1
			}
			return 1
		}
		by := cmp.Or(cmp.Compare(a.value, b.value), bytes.Compare(a.id[:], b.id[:]))
		if descending {
			return -by
		}
		return by
	}
}

// key is the figure as a position has it.
func (f figure) key() string {
	if !f.known {
		return ""
	}
	return strconv.FormatFloat(f.value, 'g', -1, 64)
}

func figureAt(at *listing.PagePosition) (figure, error) {
	if at.Key == "" {
		return figure{id: at.ID}, nil
	}
	value, err := strconv.ParseFloat(at.Key, 64)
	if err != nil {
		return figure{}, vigil.Invalid("cursor", "is not valid: use the next_cursor of a page as it is")
	}
	return figure{id: at.ID, value: value, known: true}, nil
}

// checksInOrder reads checks in the order of their figures. It ends before a check that is too large for the
// page, but not before the first one.
func (s *Store) checksInOrder(ctx context.Context, orgID uuid.UUID, order []figure) ([]vigil.Check, error) {
	if len(order) == 0 {
		return nil, nil
	}
	ids := make([]uuid.UUID, len(order))
	for i := range order {
		ids[i] = order[i].id
	}
	read := func(ids []uuid.UUID) ([]vigil.Check, listing.Extent, error) {
		return s.changeStore.Checks(ctx, orgID, listing.CheckList{
			CheckFilter: listing.CheckFilter{IDs: ids}, Sort: listing.SortName, Page: listing.Page{Limit: len(ids)},
		})
	}
	found, extent, err := read(ids)
	if err != nil {
		return nil, err
	}
	if extent.Next != nil && !slices.ContainsFunc(found, func(c vigil.Check) bool { return c.ID == ids[0] }) {
		first, _, err := read(ids[:1])
		return first, err
	}
	checks := make([]vigil.Check, 0, len(ids))
	for _, id := range ids {
		at := slices.IndexFunc(found, func(c vigil.Check) bool { return c.ID == id })
		if at < 0 {
			if extent.Next != nil {
				break
			}
			continue
		}
		checks = append(checks, found[at])
	}
	return checks, nil
}

// figuresOf reads a figure of checks: the one that a list of checks shows.
func (s *Store) figuresOf(ctx context.Context, orgID uuid.UUID, ids []uuid.UUID, sort listing.CheckSort) ([]figure, error) {
	order := make([]figure, 0, len(ids))
	for some := range slices.Chunk(ids, figuresAtOnce) {
		var known map[uuid.UUID]float64
		var err error
		switch sort {
		case listing.SortSeen:
			known, err = s.seenOf(ctx, some)
		default:
			known, err = s.summaryFigures(ctx, orgID, some, sort)
		}
		if err != nil {
			return nil, err
		}
		for _, id := range some {
			value, ok := known[id]
			order = append(order, figure{id: id, value: value, known: ok})
		}
	}
	return order, nil
}

// seenOf reads when checks were last checked, in microseconds since 1970.
func (s *Store) seenOf(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]float64, error) {
	found, err := s.db.Pool.Query(ctx, `SELECT c.id, extract(epoch FROM latest.last_time)::float8 * 1000000
		FROM checks AS c `+s.LatestResult()+` WHERE c.id = ANY($1::text[]::uuid[]) AND latest.last_time IS NOT NULL`, pg.UUIDTexts(ids))
	if err != nil {
		return nil, err
	}
	known := make(map[uuid.UUID]float64, len(ids))
	var id uuid.UUID
	var at float64
	_, err = pgx.ForEachRow(found, []any{&id, &at}, func() error { known[id] = at; return nil })
	return known, err
}

// summaryFigures reads the part of the summaries of checks that a figure needs.
func (s *Store) summaryFigures(
	ctx context.Context,
	orgID uuid.UUID,
	ids []uuid.UUID,
	sort listing.CheckSort,
) (map[uuid.UUID]float64, error) {
	now := s.db.Instant()
	sums, err := s.startSummaries(ctx, orgID, ids, now)
	if err != nil {
		return nil, err
	}
	switch sort {
	case listing.SortP95:
		if err := sums.readResults(ctx, s, now); err != nil {
			return nil, err
		}
		err = sums.readRollups(ctx, s)
	case listing.SortUptime:
		err = sums.readUptime(ctx, s, now)
	default: // what is known of the regions is read already
	}
	if err != nil {
		return nil, err
	}
	known := make(map[uuid.UUID]float64, len(ids))
	for id, sum := range sums {
		switch sort {
		case listing.SortP95:
			if out := sum.finish(id); out.P95MS != nil {
				known[id] = *out.P95MS
			}
		case listing.SortUptime:
			if sum.total > 0 {
				known[id] = float64(sum.successes) / float64(sum.total)
			}
		default:
			passing := 0
			for _, region := range sum.health {
				if region.Health == vigil.Healthy {
					passing++
				}
			}
			known[id] = float64(passing) / float64(len(sum.health))
		}
	}
	return known, nil
}
