// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// keyEndClaim is how long a process that began to mail about the end of a key has for it.
// Then another one may do it, with the same message id.
const keyEndClaim = 10 * time.Minute

// ClaimKeyEnds returns up to limit API keys that end within account.KeyEndNotice and whose
// owners were not mailed about it, and claims them for 10 minutes: call KeyEndMailed when
// the mail of one was sent. A key that was made within that time before its end is left
// out: its owner was mailed the end when it was made.
func (s *Store) ClaimKeyEnds(ctx context.Context, limit int) ([]account.KeyEnd, error) {
	now := s.db.Instant()
	var ids []uuid.UUID
	err := s.db.NewRaw(`UPDATE api_keys SET end_claimed_at = ?now WHERE id IN (
			SELECT id FROM api_keys WHERE end_mailed_at IS NULL AND expires_at > ?now AND expires_at <= ?until
				AND expires_at - created_at > make_interval(secs => ?notice_s)
				AND (end_claimed_at IS NULL OR end_claimed_at <= ?unclaimed)
			ORDER BY expires_at LIMIT ?limit FOR UPDATE SKIP LOCKED)
		RETURNING id`,
		pg.Named{
			"now": now, "until": now.Add(account.KeyEndNotice), "notice_s": account.KeyEndNotice.Seconds(),
			"unclaimed": now.Add(-keyEndClaim), "limit": limit,
		}).Scan(ctx, &ids)
	if err != nil || len(ids) == 0 {
		return nil, pg.Wrap("claim the ends of API keys", err)
	}
	ends := make([]account.KeyEnd, 0, len(ids))
	for _, id := range ids {
		var row keyRow
		err := s.db.NewSelect().Model(&row).Relation("User").Where("k.id = ?", id).Scan(ctx)
		if pg.IsNoRow(err) {
			continue // revoked meanwhile
		}
		if err != nil {
			return ends, pg.Wrap("read an API key that ends", err)
		}
		ends = append(ends, account.KeyEnd{Key: row.key(), Owner: row.User.User()})
	}
	return ends, nil
}

// KeyEndMailed stores that the owner of a key was mailed about its end.
func (s *Store) KeyEndMailed(ctx context.Context, id uuid.UUID) error {
	_, err := s.db.NewRaw("UPDATE api_keys SET end_mailed_at = ? WHERE id = ?", s.db.Instant(), id).Exec(ctx)
	return pg.Wrap("note the mail about the end of an API key", err)
}
