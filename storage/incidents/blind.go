// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/events"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// RecordBlindRegions records which regions are blind by the leases that were renewed within
// silence, and which are not any more. It does nothing when the lease is of an older fence.
func (s *Store) RecordBlindRegions(ctx context.Context, lease fleet.SweepLease, silence time.Duration) error {
	blind, err := s.loops.BlindRegions(ctx, silence)
	if err != nil {
		return err
	}
	open, err := pg.Rows[string](ctx, s.db, "SELECT region FROM blind_regions WHERE ended_at IS NULL")
	if err != nil {
		return pg.Wrap("read the blind regions", err)
	}
	regions, since, ended := make([]string, 0, len(blind)), make([]time.Time, 0, len(blind)), []string{}
	for region, at := range blind {
		regions, since = append(regions, region), append(since, at)
	}
	for _, region := range open {
		if _, still := blind[region]; still {
			delete(blind, region)
		} else {
			ended = append(ended, region)
		}
	}
	if len(blind) == 0 && len(ended) == 0 {
		return nil
	}
	return pg.Wrap("record the blind regions", s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewRaw("UPDATE blind_regions SET ended_at = ? WHERE ended_at IS NULL AND region = ANY(?::text[]) AND ?",
			s.db.Instant(), pgdialect.Array(ended), loops.Fenced(lease)).Exec(ctx)
		if err != nil {
			return fmt.Errorf("end: %w", err)
		}
		_, err = tx.NewRaw(`WITH begun AS (
				INSERT INTO blind_regions (region, since) SELECT b.region, b.since
				FROM unnest(?::text[], ?::timestamptz[]) AS b (region, since) WHERE ?
				ON CONFLICT (region) WHERE ended_at IS NULL DO NOTHING RETURNING id, region
			)
			INSERT INTO blind_organizations (blind_id, org_id) SELECT DISTINCT begun.id, c.org_id
			FROM begun JOIN check_regions AS r ON r.region = begun.region AND r.active JOIN checks AS c ON c.id = r.check_id AND c.enabled
				JOIN organizations AS o ON o.id = c.org_id AND o.deleted_at IS NULL`,
			pgdialect.Array(regions), pgdialect.Array(since), loops.Fenced(lease)).Exec(ctx)
		if err != nil {
			return fmt.Errorf("begin: %w", err)
		}
		return nil
	}))
}

// blindOrganization is a time in which a region is blind, of one organization.
type blindOrganization struct {
	BlindID uuid.UUID  `bun:"blind_id"`
	OrgID   uuid.UUID  `bun:"org_id"`
	Region  string     `bun:"region"`
	Since   time.Time  `bun:"since"`
	EndedAt *time.Time `bun:"ended_at"`
	Begun   bool       `bun:"begun"`
}

// PublishBlindRegions publishes the beginnings and ends of the times in which regions are blind
// that are not published yet, for up to limit organizations, and returns for how many there were
// some. Each is published once, also when this is repeated.
func (s *Store) PublishBlindRegions(ctx context.Context, limit int) (int, error) {
	rows, err := pg.Rows[blindOrganization](ctx, s.db, `SELECT o.blind_id, o.org_id, o.begun, b.region, b.since, b.ended_at
		FROM blind_organizations AS o JOIN blind_regions AS b ON b.id = o.blind_id
		WHERE NOT o.ended AND (NOT o.begun OR b.ended_at IS NOT NULL) ORDER BY b.since, o.org_id LIMIT $1`, limit)
	if err != nil {
		return 0, pg.Wrap("read the events of blind regions", err)
	}
	var errs []error
	for i := range rows {
		var err error // of this row alone
		row := &rows[i]
		if !row.Begun {
			err = s.publishBlind(ctx, row, "begun", row.begin())
		}
		if err == nil && row.EndedAt != nil {
			err = s.publishBlind(ctx, row, "ended", row.end())
		}
		errs = append(errs, err)
	}
	return len(rows), pg.Wrap("publish that a region is blind", errors.Join(errs...))
}

// publishBlind publishes an event of an organization once: the mark and the event are one transaction.
func (s *Store) publishBlind(ctx context.Context, row *blindOrganization, published string, about events.SystemContent) error {
	return s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		res, err := tx.NewRaw("UPDATE blind_organizations SET ?0 = true WHERE blind_id = ?1 AND org_id = ?2 AND NOT ?0",
			bun.Ident(published), row.BlindID, row.OrgID).Exec(ctx)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		return s.PublishSystem(ctx, tx, about)
	})
}

func (b *blindOrganization) begin() events.SystemContent {
	about := b.about(vigil.EventRegionBlind, b.Since)
	about.Title = b.name() + ": a worker has lost its line"
	about.Body = fmt.Sprintf("No canary answers since %s. Failures of public targets are missed slots there until one does.",
		b.Since.UTC().Format(time.RFC3339))
	return about
}

func (b *blindOrganization) end() events.SystemContent {
	about := b.about(vigil.EventRegionSighted, *b.EndedAt)
	about.Title = b.name() + ": the line is back"
	about.Body = fmt.Sprintf("It was lost for %s. Failures of public targets count again.",
		max(0, b.EndedAt.Sub(b.Since)).Round(time.Second))
	return about
}

func (b *blindOrganization) about(kind vigil.EventType, at time.Time) events.SystemContent {
	var sighted *time.Time
	if kind == vigil.EventRegionSighted {
		sighted = new(at.UTC())
	}
	return events.SystemContent{
		Type: kind, OrgID: b.OrgID, SubjectID: uuid.NewSHA1(b.BlindID, b.OrgID[:]), Time: at, Since: b.Since, Severity: vigil.Warning,
		Data: map[string]any{
			"region":      map[string]any{"key": b.Region, "name": b.name()},
			"blind_since": b.Since.UTC(), "sighted_at": sighted,
		},
		Variables: map[string]string{"region": b.Region},
	}
}

// name of the region, for people.
func (b *blindOrganization) name() string {
	if region, ok := vigil.RegionByKey(b.Region); ok {
		return region.Name
	}
	return b.Region
}
