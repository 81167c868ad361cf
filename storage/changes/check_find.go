// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/storage/pg"
	"github.com/vigil-monitor/vigil/storage/results"
)

// whereFound restricts a query of checks to those that the text of the filter finds, or that fail with it. It
// compares texts and no patterns, so that nothing in the text stands for something else.
func whereFound(query *bun.SelectQuery, f listing.CheckFilter, failing []uuid.UUID) *bun.SelectQuery {
	return query.Where(`(strpos(c.search, lower(?0)) > 0
		OR strpos(lower(c.labels::text), lower(?3)) > 0
			AND EXISTS (SELECT FROM jsonb_each_text(c.labels) AS l WHERE strpos(lower(l.key || '=' || l.value), lower(?0)) > 0)
		OR c.regions && ?1::text[]
		OR c.id = ANY(?2::uuid[]))`, f.Query, pgdialect.Array(append([]string{}, f.Places...)), pgdialect.Array(failing), insideJSON(f.Query))
}

// insideJSON is the longest part of a text that stands in a key or a value of JSON as it is. Labels are looked at one
// by one only where it is found in them as a whole, which takes a tenth of the time.
func insideJSON(text string) (longest string) {
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == '=' || r == '"' || r == '\\' || unicode.IsControl(r) })
	for _, part := range parts {
		if len(part) > len(longest) {
			longest = part
		}
	}
	return longest
}

// failingWith returns the checks with a region whose newest result failed with an error that has the text of the
// filter. An index has the regions that fail; their results are looked up by their key, within bounds that leave
// few partitions to plan for.
func (s *Store) failingWith(ctx context.Context, db bun.IDB, orgID uuid.UUID, f listing.CheckFilter) ([]uuid.UUID, error) {
	failing := []uuid.UUID{}
	if f.Query == "" {
		return failing, nil
	}
	var loops []struct {
		CheckID  uuid.UUID
		Region   string
		LastSlot time.Time
	}
	err := db.NewRaw(`SELECT check_id, region, last_slot FROM check_regions
		WHERE org_id = ? AND health = 'unhealthy' AND active AND last_slot IS NOT NULL`, orgID).Scan(ctx, &loops)
	if err != nil || len(loops) == 0 {
		return failing, err
	}
	keys := make([]results.Key, len(loops))
	for i, loop := range loops {
		keys[i] = results.Key{CheckID: loop.CheckID, Region: loop.Region, Slot: loop.LastSlot}
	}
	found, err := s.results.WithError(ctx, db, keys, f.Query)
	return append(failing, found...), err
}

// CheckGroups counts an organization's checks by the values of a label and by their state, in the order of
// the values, up to listing.MaxGroups of them; the checks without the label come last. more reports that there are more
// values. The filter's Health, State and Enabled have no effect.
func (s *Store) CheckGroups(
	ctx context.Context, orgID uuid.UUID, f listing.CheckFilter, key string,
) (groups []listing.CheckGroup, more bool, err error) {
	f.Enabled = nil
	states, err := s.readCheckStates(ctx, s.db, orgID)
	if err != nil {
		return nil, false, pg.Wrap("count checks by label", err)
	}
	failing, err := s.failingWith(ctx, s.db, orgID, f)
	if err != nil {
		return nil, false, pg.Wrap("count checks by label", err)
	}
	var rows []struct {
		Value                                      *string
		Total, Failing, Warning, Unknown, Disabled int64
	}
	err = whereChecks(s.db.NewSelect().TableExpr("checks AS c"), orgID, f, failing).
		ColumnExpr("c.labels->>? AS value, count(*) AS total", key).
		ColumnExpr("count(*) FILTER (WHERE NOT c.enabled) AS disabled").
		ColumnExpr("count(*) FILTER (WHERE c.enabled AND c.id = ANY(?::uuid[])) AS failing", pgdialect.Array(states.failing)).
		ColumnExpr("count(*) FILTER (WHERE c.enabled AND c.id = ANY(?::uuid[])) AS warning", pgdialect.Array(states.warning)).
		ColumnExpr("count(*) FILTER (WHERE c.enabled AND c.id = ANY(?::uuid[])) AS unknown", pgdialect.Array(states.unknown)).
		GroupExpr("1").OrderExpr(`lower(c.labels->>?) COLLATE "C" NULLS LAST, (c.labels->>?) COLLATE "C"`, key, key).Scan(ctx, &rows)
	if err != nil {
		return nil, false, pg.Wrap("count checks by label", err)
	}
	for _, row := range rows {
		if row.Value != nil && len(groups) == listing.MaxGroups {
			more = true
			continue
		}
		group := listing.CheckGroup{
			Labeled: row.Value != nil, Total: row.Total, Failing: row.Failing, Warning: row.Warning, Unknown: row.Unknown, Disabled: row.Disabled,
			Passing: row.Total - row.Failing - row.Warning - row.Unknown - row.Disabled,
		}
		if group.Labeled {
			group.Value = *row.Value
		}
		groups = append(groups, group)
	}
	return groups, more, nil
}

// LabelKeys returns the keys of labels that an organization's checks have, the most common first, up to
// listing.MaxLabelKeys.
func (s *Store) LabelKeys(ctx context.Context, orgID uuid.UUID) ([]listing.LabelKey, error) {
	keys := []listing.LabelKey{}
	err := s.db.NewRaw(`SELECT k AS key, count(*) AS checks FROM checks AS c, jsonb_object_keys(c.labels) AS k
		WHERE c.org_id = ? AND c.`+pg.NotDrill+` GROUP BY 1 ORDER BY 2 DESC, k COLLATE "C" LIMIT ?`, orgID, listing.MaxLabelKeys).Scan(ctx, &keys)
	return keys, pg.Wrap("list the keys of labels", err)
}

// SelectedChecks returns the ids of the checks that a filter selects, and fewer than all when there are more
// than listing.MaxTotal: then one more than those.
func (s *Store) SelectedChecks(ctx context.Context, orgID uuid.UUID, f listing.CheckFilter) ([]uuid.UUID, error) {
	selected, err := s.checkSelection(ctx, s.db, orgID, f, nil)
	if err != nil {
		return nil, pg.Wrap("list checks", err)
	}
	var ids []uuid.UUID
	err = selected().ColumnExpr("c.id").Limit(listing.MaxTotal+1).Scan(ctx, &ids)
	return ids, pg.Wrap("list checks", err)
}
