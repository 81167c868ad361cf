// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// LeaseRate reserves up to want requests in an organization's current rate window, which
// allows limit requests over all processes. When the window has ended, this lease starts
// a new one. Windows are measured by the database's clock, which all processes share.
func (s *Store) LeaseRate(ctx context.Context, orgID uuid.UUID, want, limit int64) (account.RateLease, error) {
	var row struct {
		Granted   int64   `bun:"granted"`
		Leased    int64   `bun:"leased"`
		Remaining float64 `bun:"remaining"` // seconds
	}
	window := account.RateWindow.Seconds()
	// now() has the same value everywhere in a statement.
	err := s.db.NewRaw(`INSERT INTO rate_windows AS w (org_id, started, leased, granted)
		VALUES (?0, now(), least(?1, ?2), least(?1, ?2))
		ON CONFLICT (org_id) DO UPDATE SET
			started = CASE WHEN w.started + make_interval(secs => ?3) <= now() THEN now() ELSE w.started END,
			leased = CASE WHEN w.started + make_interval(secs => ?3) <= now() THEN least(?1, ?2)
				ELSE greatest(w.leased, least(w.leased + ?1, ?2)) END,
			granted = CASE WHEN w.started + make_interval(secs => ?3) <= now() THEN least(?1, ?2)
				ELSE greatest(0, least(w.leased + ?1, ?2) - w.leased) END
		RETURNING granted, leased, extract(epoch FROM w.started - clock_timestamp())::float8 + ?3 AS remaining`,
		orgID, want, limit, window).Scan(ctx, &row)
	if err != nil {
		return account.RateLease{}, pg.Wrap("lease requests", err)
	}
	return account.RateLease{
		Granted: row.Granted,
		Left:    max(0, limit-row.Leased),
		Ends:    time.Duration(max(0, row.Remaining) * float64(time.Second)),
	}, nil
}
