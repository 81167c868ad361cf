// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// withPage changes what belongs to a page of the organization and is not in its definition, and returns
// the page. Its version grows, so that what is kept of it is read again.
func (s *Store) withPage(
	ctx context.Context, orgID, id uuid.UUID, what string, change func(context.Context, bun.Tx, *overview.StatusPage) error,
) (page overview.StatusPage, err error) {
	err = s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := lockStatusPage(ctx, tx, orgID, id); err != nil {
			return err
		}
		if page, err = readStatusPage(ctx, tx.NewSelect(), orgID, id); err != nil {
			return err
		}
		if err := change(ctx, tx, &page); err != nil {
			return err
		}
		// A page of files stays as they want it: none of this is in them.
		if _, err := tx.NewRaw(`UPDATE status_pages SET version = version + 1, updated_at = ?0,
				applied_version = CASE WHEN applied_version = version THEN version + 1 ELSE applied_version END WHERE id = ?1`,
			s.db.Instant(), id).Exec(ctx); err != nil {
			return fmt.Errorf("raise the version: %w", err)
		}
		page, err = readStatusPage(ctx, tx.NewSelect(), orgID, id)
		return err
	})
	if err != nil {
		return overview.StatusPage{}, pg.Wrap(what, err)
	}
	return page, nil
}

// SetStatusPassword stores the argon2id hash of the password that readers of a page need; empty: none.
func (s *Store) SetStatusPassword(ctx context.Context, orgID, id uuid.UUID, hash string) (overview.StatusPage, error) {
	return s.withPage(ctx, orgID, id, "set the password of a status page", func(ctx context.Context, tx bun.Tx, _ *overview.StatusPage) error {
		_, err := tx.NewRaw("UPDATE status_pages SET password_hash = ? WHERE id = ?", hash, id).Exec(ctx)
		return err
	})
}

// SetStatusLogo stores the picture of a page; nil: none.
func (s *Store) SetStatusLogo(ctx context.Context, orgID, id uuid.UUID, logo *overview.Logo) (overview.StatusPage, error) {
	return s.withPage(ctx, orgID, id, "set the logo of a status page", func(ctx context.Context, tx bun.Tx, _ *overview.StatusPage) error {
		if logo == nil {
			_, err := tx.NewRaw("DELETE FROM status_page_logos WHERE page_id = ?", id).Exec(ctx)
			return err
		}
		_, err := tx.NewRaw(`INSERT INTO status_page_logos (page_id, media_type, image) VALUES (?0, ?1, ?2)
			ON CONFLICT (page_id) DO UPDATE SET media_type = EXCLUDED.media_type, image = EXCLUDED.image`, id, logo.MediaType, logo.Image).
			Exec(ctx)
		return err
	})
}

// VerifyStatusHost notes that a page may have its host, as DNS has shown. A page that had it before, of
// any organization, has it no more. A host that the page has not any more is a CodeConflict error.
func (s *Store) VerifyStatusHost(ctx context.Context, orgID, id uuid.UUID, host string) (overview.StatusPage, error) {
	return s.withPage(
		ctx,
		orgID,
		id,
		"verify the host of a status page",
		func(ctx context.Context, tx bun.Tx, page *overview.StatusPage) error {
			if page.Host != host {
				return vigil.Errorf(vigil.CodeConflict, "The host of the status page has changed meanwhile; ask again.")
			}
			if page.HostVerifiedAt != nil {
				return nil
			}
			if _, err := tx.NewRaw("UPDATE status_pages SET host_verified_at = NULL WHERE host = ? AND host_verified_at IS NOT NULL", host).
				Exec(ctx); err != nil {
				return err
			}
			_, err := tx.NewRaw("UPDATE status_pages SET host_verified_at = ? WHERE id = ?", s.db.Instant(), id).Exec(ctx)
			return err
		},
	)
}
