// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil/internal/drills"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// noteLastDrill stores that a drill which ends now is the last one of its channels. Those that were
// deleted have none.
func noteLastDrill(ctx context.Context, tx bun.Tx, row *drillRow, now time.Time) error {
	_, err := tx.NewRaw(`INSERT INTO channel_drills (channel_id, org_id, drill_id, verdict, at)
		SELECT id, org_id, ?drill, ?verdict, ?now FROM channels WHERE org_id = ?org AND id = ANY(?channels) ORDER BY id FOR KEY SHARE
		ON CONFLICT (channel_id) DO UPDATE SET drill_id = EXCLUDED.drill_id, verdict = EXCLUDED.verdict, at = EXCLUDED.at`,
		pg.Named{
			"drill": row.ID, "verdict": row.Verdict, "now": pg.Micro(now), "org": row.OrgID, "channels": pgdialect.Array(row.ChannelIDs),
		}).Exec(ctx)
	if err != nil {
		return fmt.Errorf("store the last drill of the channels: %w", err)
	}
	return nil
}

// LastDrills returns the last drill of channels that has ended, by channel. One that had none is
// missing.
func (s *Store) LastDrills(ctx context.Context, orgID uuid.UUID, channels []uuid.UUID) (map[uuid.UUID]drills.Ended, error) {
	if len(channels) == 0 {
		return nil, nil
	}
	var rows []struct {
		ChannelID uuid.UUID `bun:"channel_id"`
		DrillID   uuid.UUID `bun:"drill_id"`
		Verdict   string    `bun:"verdict"`
		At        time.Time `bun:"at"`
	}
	err := s.db.NewRaw("SELECT channel_id, drill_id, verdict, at FROM channel_drills WHERE org_id = ? AND channel_id = ANY(?)",
		orgID, pgdialect.Array(channels)).Scan(ctx, &rows)
	if err != nil {
		return nil, pg.Wrap("read the last drills of channels", err)
	}
	known := make(map[uuid.UUID]drills.Ended, len(rows))
	for _, r := range rows {
		known[r.ChannelID] = drills.Ended{DrillID: r.DrillID, Verdict: drills.Verdict(r.Verdict), At: r.At.UTC()}
	}
	return known, nil
}

// drillNoticeClaim is how long a mail about a drill has to be sent before another process may send it.
const drillNoticeClaim = 2 * time.Minute

// ClaimDrillNotices returns up to limit drills that failed and whose owners are to be mailed. Another
// call does not return them for two minutes.
func (s *Store) ClaimDrillNotices(ctx context.Context, limit int) ([]drills.Drill, error) {
	now := s.db.Instant()
	var rows []drillRow
	err := s.db.NewRaw(`UPDATE drills AS dr SET notice_claimed_at = ?0 WHERE id IN (
			SELECT id FROM drills WHERE notice_due_at <= ?0 AND (notice_claimed_at IS NULL OR notice_claimed_at <= ?1)
			ORDER BY notice_due_at LIMIT ?2 FOR UPDATE SKIP LOCKED)
		RETURNING `+pg.ModelColumns[drillRow](s.db, "dr"), now, now.Add(-drillNoticeClaim), limit).Scan(ctx, &rows)
	if err != nil {
		return nil, pg.Wrap("claim mails about drills", err)
	}
	drills, err := pg.TryMap(rows, (*drillRow).drill)
	return drills, pg.Wrap("claim mails about drills", err)
}

// DrillNoticeMailed stores that the owners were mailed about a drill.
func (s *Store) DrillNoticeMailed(ctx context.Context, id uuid.UUID) error {
	_, err := s.db.NewRaw("UPDATE drills SET notice_due_at = NULL WHERE id = ?", id).Exec(ctx)
	return pg.Wrap("note the mail about a drill", err)
}
