// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/location"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// ResourceLocation names a location in errors.
const ResourceLocation = "location"

type locationRow struct {
	bun.BaseModel `bun:"table:locations,alias:l"`

	ID          uuid.UUID    `bun:"id,pk,type:uuid"`
	OrgID       *uuid.UUID   `bun:"org_id,type:uuid"` // NULL for a public region
	Key         string       `bun:"key"`
	Name        string       `bun:"name"`
	Labels      vigil.Labels `bun:"labels,type:jsonb"`
	TokenHash   []byte       `bun:"token_hash"`
	TokenPrefix string       `bun:"token_prefix"`
	Version     int64        `bun:"version"`
	CreatedAt   time.Time    `bun:"created_at"`
	UpdatedAt   time.Time    `bun:"updated_at"`
	RotatedAt   time.Time    `bun:"rotated_at"`
	SeenAt      *time.Time   `bun:"seen_at"`
	SilentSince *time.Time   `bun:"silent_since"`
}

func (r *locationRow) location() location.Location {
	l := location.Location{
		ID: r.ID, Key: r.Key, Name: r.Name, TokenPrefix: r.TokenPrefix, Version: r.Version,
		CreatedAt: r.CreatedAt.UTC(), UpdatedAt: r.UpdatedAt.UTC(), RotatedAt: r.RotatedAt.UTC(), State: location.Never,
	}
	if r.OrgID != nil {
		l.OrgID = *r.OrgID
	}
	if len(r.Labels) > 0 {
		l.Labels = r.Labels
	}
	return l
}

// Insert stores a new location of an organization, which the caller has locked, and returns its
// token, of which the hash alone is stored. Zero IDs and times are filled in. A key that the
// organization has is a CodeConflict error with another key in the details as suggested_key.
func Insert(ctx context.Context, tx bun.Tx, l location.Location, now time.Time) (location.Location, string, error) {
	if err := refuseTaken(ctx, tx, l.OrgID, l.Key); err != nil {
		return location.Location{}, "", err
	}
	token := newToken()
	row := locationRow{
		ID: pg.IDOrNew(l.ID), OrgID: &l.OrgID, Key: l.Key, Name: l.Name, Labels: stored(l.Labels), TokenHash: TokenHash(token),
		TokenPrefix: token[:tokenShown], Version: 1, CreatedAt: now, UpdatedAt: now, RotatedAt: now,
	}
	if _, err := tx.NewInsert().Model(&row).Exec(ctx); err != nil {
		return location.Location{}, "", fmt.Errorf("insert: %w", err)
	}
	return row.location(), token, nil
}

func stored(labels vigil.Labels) vigil.Labels {
	if labels == nil {
		return vigil.Labels{} // the column is never NULL
	}
	return labels
}

func refuseTaken(ctx context.Context, tx bun.Tx, orgID uuid.UUID, key string) error {
	names, err := readNames(ctx, tx, orgID)
	if err != nil {
		return err
	}
	taken := func(key string) bool { _, known := names[key]; return known }
	if !taken(key) {
		return nil
	}
	other := location.Another(key, taken)
	refusal := vigil.Errorf(vigil.CodeConflict, "The organization has a location with the key %s; %s is free: give it as key.", key, other)
	refusal.Details = map[string]any{"member": "key", "suggested_key": other}
	return refusal
}

// LocationNames returns the names of the organization's locations, by key.
func (s *Store) LocationNames(ctx context.Context, orgID uuid.UUID) (location.Names, error) {
	names, err := readNames(ctx, s.db, orgID)
	return names, pg.Wrap("read the names of locations", err)
}

func readNames(ctx context.Context, db bun.IDB, orgID uuid.UUID) (location.Names, error) {
	var rows []struct{ Key, Name string }
	if err := db.NewRaw("SELECT key, name FROM locations WHERE org_id = ?", orgID).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("read the locations: %w", err)
	}
	names := make(location.Names, len(rows))
	for _, row := range rows {
		names[row.Key] = row.Name
	}
	return names, nil
}

// Location finds a location of the organization. An unknown one is a CodeNotFound error.
func (s *Store) Location(ctx context.Context, orgID, id uuid.UUID) (location.Location, error) {
	row, err := readLocation(ctx, s.db.NewSelect(), orgID, id)
	if err != nil {
		return location.Location{}, err
	}
	shown, err := s.complete(ctx, []locationRow{row})
	if err != nil {
		return location.Location{}, pg.Wrap("read a location", err)
	}
	return shown[0], nil
}

func readLocation(ctx context.Context, query *bun.SelectQuery, orgID, id uuid.UUID) (locationRow, error) {
	var row locationRow
	err := query.Model(&row).Where("l.id = ? AND l.org_id = ?", id, orgID).Scan(ctx)
	return row, pg.Found(ResourceLocation, err)
}

// Locations returns a page of an organization's locations that the filter selects, newest first, and
// the extent of the list.
func (s *Store) Locations(
	ctx context.Context, orgID uuid.UUID, f listing.LocationFilter,
) ([]location.Location, listing.Extent, error) {
	rows, extent, err := pg.SmallRows[locationRow]{
		What: "locations", Alias: "l", Order: pg.NewestFirst(),
		Selected: func(query *bun.SelectQuery) *bun.SelectQuery {
			query = query.Where("l.org_id = ?", orgID)
			if f.Query != "" {
				query = query.Where("strpos(lower(l.name), lower(?)) > 0 OR strpos(l.key, lower(?)) > 0", f.Query, f.Query)
			}
			return pg.WhereLabels(query, "l", f.Labels)
		},
		Position: func(r *locationRow) listing.PagePosition { return pg.TimePosition(r.CreatedAt, r.ID) },
	}.Page(ctx, s.db, f.Page)
	if err != nil {
		return nil, listing.Extent{}, err
	}
	shown, err := s.complete(ctx, rows)
	return shown, extent, pg.Wrap("list locations", err)
}

// UpdateLocation changes the name and the labels of a location of the organization: change edits a
// copy of what is stored, and may return an error, which UpdateLocation returns unchanged. A change that
// leaves it equal is none. An unknown one is a CodeNotFound error.
func (s *Store) UpdateLocation(
	ctx context.Context, orgID, id uuid.UUID, change func(*location.Location) error,
) (location.Location, error) {
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		row, err := readLocation(ctx, tx.NewSelect().For("NO KEY UPDATE"), orgID, id)
		if err != nil {
			return err
		}
		after := row.location()
		after.Labels = maps.Clone(after.Labels)
		if err := change(&after); err != nil {
			return err
		}
		if after.Name == row.Name && maps.Equal(after.Labels, row.Labels) {
			return nil
		}
		_, err = tx.NewRaw("UPDATE locations SET name = ?, labels = ?, version = version + 1, updated_at = ? WHERE id = ?",
			after.Name, stored(after.Labels), s.db.Instant(), id).Exec(ctx)
		return pg.Wrap("store", err)
	})
	if err != nil {
		return location.Location{}, pg.Wrap("update a location", err)
	}
	return s.Location(ctx, orgID, id)
}

// RotateLocationToken gives a location of the organization another token; the one before is not known any
// more. An unknown location is a CodeNotFound error.
func (s *Store) RotateLocationToken(ctx context.Context, orgID, id uuid.UUID) (l location.Location, token string, err error) {
	token = newToken()
	err = s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		now := s.db.Instant()
		res, err := tx.NewRaw(`UPDATE locations SET token_hash = ?hash, token_prefix = ?prefix, version = version + 1, rotated_at = ?now,
			updated_at = ?now WHERE id = ?id AND org_id = ?org`, pg.Named{
			"hash": TokenHash(token), "prefix": token[:tokenShown], "now": now, "id": id, "org": orgID,
		}).Exec(ctx)
		return pg.RequireAffected(ResourceLocation, "store", res, err)
	})
	if err != nil {
		return location.Location{}, "", pg.Wrap("rotate the token of a location", err)
	}
	l, err = s.Location(ctx, orgID, id)
	return l, token, err
}

// shownChecks is how many checks an error names.
const shownChecks = 5

// DeleteLocation deletes a location of the organization and its agents; its token is not known any
// more. Checks that name it are a CodeConflict error that says which. An unknown location is a CodeNotFound
// error, and a version that match does not accept a CodePrecondition error.
//
// The lock of the row keeps checks from naming it meanwhile: an edit that names a location locks it
// against deletion, see RequireKeys.
func (s *Store) DeleteLocation(ctx context.Context, orgID, id uuid.UUID, match vigil.Precondition) error {
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		row, err := readLocation(ctx, tx.NewSelect().For("UPDATE"), orgID, id)
		if err != nil {
			return err
		}
		if err := match.Check(ResourceLocation, row.Version); err != nil {
			return err
		}
		if err := refuseNamed(ctx, tx, &row); err != nil {
			return err
		}
		_, err = tx.NewRaw("DELETE FROM locations WHERE id = ?", id).Exec(ctx)
		return pg.Wrap("delete", err)
	})
	return pg.Wrap("delete a location", err)
}

func refuseNamed(ctx context.Context, tx bun.Tx, row *locationRow) error {
	var naming []struct {
		ID    uuid.UUID
		Name  string
		Total int64
	}
	err := tx.NewRaw(`SELECT id, name, count(*) OVER () AS total FROM checks WHERE org_id = ? AND ? = ANY(regions)
		ORDER BY name, id LIMIT ?`, row.OrgID, row.Key, shownChecks).Scan(ctx, &naming)
	if err != nil {
		return fmt.Errorf("find the checks of the location: %w", err)
	}
	if len(naming) == 0 {
		return nil
	}
	names, ids := make([]string, len(naming)), make([]string, len(naming))
	for i, check := range naming {
		names[i], ids[i] = check.Name, check.ID.String()
	}
	total := naming[0].Total
	noun, others := "checks name", ""
	if total == 1 {
		noun = "check names"
	}
	if more := total - int64(len(naming)); more > 0 {
		others = fmt.Sprintf(" and %d more", more)
	}
	refusal := vigil.Errorf(vigil.CodeConflict, "%d %s the location in regions: %s%s. Give them other regions, or delete them.",
		total, noun, strings.Join(names, ", "), others)
	refusal.Details = map[string]any{"checks": total, "check_ids": ids}
	return refusal
}

// RequireKeys locks locations of an organization against deletion until the end of the transaction, and
// returns those of the keys that it has not, in the order of the keys.
func RequireKeys(ctx context.Context, tx bun.Tx, orgID uuid.UUID, keys []string) (missing []string, err error) {
	var found []string
	err = tx.NewRaw("SELECT key FROM locations WHERE org_id = ? AND key = ANY(?) ORDER BY id FOR KEY SHARE", orgID, pgdialect.Array(keys)).
		Scan(ctx, &found)
	if err != nil {
		return nil, fmt.Errorf("lock the locations: %w", err)
	}
	known := make(map[string]bool, len(found))
	for _, key := range found {
		known[key] = true
	}
	for _, key := range keys {
		if !known[key] {
			missing = append(missing, key)
		}
	}
	return missing, nil
}

// NamesIn is LocationNames in a transaction.
func NamesIn(ctx context.Context, tx bun.Tx, orgID uuid.UUID) (location.Names, error) {
	return readNames(ctx, tx, orgID)
}
