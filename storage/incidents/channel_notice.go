// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil/internal/channelhealth"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// channelNews is what a mail to the owners of an organization says of a channel.
type channelNews struct {
	row            *deliveryRow
	gone           bool // the receiver wants no more messages
	since          time.Time
	reason         string // why attempts fail
	lost, fellBack int    // messages that were given up, and how many of them another channel got
}

// noteOwners stores that a mail to the owners is due. One that was not sent yet gets the news as well.
func noteOwners(ctx context.Context, tx bun.Tx, n *channelNews, now time.Time) error {
	_, err := tx.NewRaw(`INSERT INTO channel_notices AS n
			(channel_id, org_id, channel_name, gone, since, last_error, lost, fell_back, due_at)
		VALUES (?channel, ?org, ?name, ?gone, ?since, ?reason, ?lost, ?fell_back, ?now)
		ON CONFLICT (channel_id) DO UPDATE SET channel_name = EXCLUDED.channel_name,
			gone = EXCLUDED.gone OR (n.gone AND n.due_at IS NOT NULL),
			since = CASE WHEN n.due_at IS NULL THEN EXCLUDED.since ELSE least(n.since, EXCLUDED.since) END,
			last_error = EXCLUDED.last_error, lost = n.lost + EXCLUDED.lost, fell_back = n.fell_back + EXCLUDED.fell_back,
			news = n.news + 1, due_at = coalesce(n.due_at, EXCLUDED.due_at)`,
		pg.Named{
			"channel": n.row.ChannelID, "org": n.row.OrgID, "name": n.row.ChannelName, "gone": n.gone, "since": n.since,
			"reason": n.reason, "lost": n.lost, "fell_back": n.fellBack, "now": now,
		}).Exec(ctx)
	return pg.Wrap("note a mail to the owners", err)
}

// noticePause is how long after a mail about a channel the next one is sent.
const noticePause = 24 * time.Hour

// noticeClaim is how long a mail to the owners has to be sent before another process may send it.
const noticeClaim = 2 * time.Minute

// calmOwners withdraws a mail that waits for the day to be over, when the channel delivers again
// and nothing was given up meanwhile.
func calmOwners(ctx context.Context, tx bun.Tx, channel uuid.UUID, now time.Time) error {
	_, err := tx.NewRaw(`UPDATE channel_notices SET due_at = NULL
		WHERE channel_id = ? AND due_at IS NOT NULL AND lost = 0 AND NOT gone AND mailed_at > ?`, channel, now.Add(-noticePause)).Exec(ctx)
	return pg.Wrap("withdraw a mail to the owners", err)
}

// ClaimChannelNotices returns up to limit mails to owners that are due: one for a channel in a
// day. Another call does not return them for two minutes.
func (s *Store) ClaimChannelNotices(ctx context.Context, limit int) ([]channelhealth.Notice, error) {
	now := s.db.Instant()
	var rows []struct {
		ChannelID   uuid.UUID `bun:"channel_id,type:uuid"`
		OrgID       uuid.UUID `bun:"org_id,type:uuid"`
		ChannelName string    `bun:"channel_name"`
		Gone        bool      `bun:"gone"`
		Since       time.Time `bun:"since"`
		LastError   string    `bun:"last_error"`
		Lost        int       `bun:"lost"`
		FellBack    int       `bun:"fell_back"`
		News        int64     `bun:"news"`
		Mails       int64     `bun:"mails"`
		State       string    `bun:"state"`
		Known       bool      `bun:"known"`
	}
	err := s.db.NewRaw(`WITH due AS (
			UPDATE channel_notices SET claimed_at = ?0 WHERE channel_id IN (
				SELECT channel_id FROM channel_notices WHERE due_at <= ?0 AND (mailed_at IS NULL OR mailed_at <= ?1)
					AND (claimed_at IS NULL OR claimed_at <= ?2)
				ORDER BY due_at LIMIT ?3 FOR UPDATE SKIP LOCKED)
			RETURNING *
		)
		SELECT n.channel_id, n.org_id, n.channel_name, n.gone, n.since, n.last_error, n.lost, n.fell_back, n.news, n.mails,
			coalesce(h.state, 'ok') AS state, c.id IS NOT NULL AS known
		FROM due AS n LEFT JOIN channels AS c ON c.id = n.channel_id LEFT JOIN channel_health AS h ON h.channel_id = n.channel_id`,
		now, now.Add(-noticePause), now.Add(-noticeClaim), limit).Scan(ctx, &rows)
	if err != nil {
		return nil, pg.Wrap("claim mails to owners", err)
	}
	notices := make([]channelhealth.Notice, len(rows))
	for i, r := range rows {
		notices[i] = channelhealth.Notice{
			ChannelID: r.ChannelID, OrgID: r.OrgID, ChannelName: r.ChannelName, Gone: r.Gone, Since: r.Since.UTC(), LastError: r.LastError,
			Lost: r.Lost, FellBack: r.FellBack, State: channelhealth.State(r.State), Deleted: !r.Known, Number: r.Mails + 1, News: r.News,
		}
	}
	return notices, nil
}

// ChannelNoticeMailed stores that a mail was sent. What came since it was claimed is for the next
// one.
func (s *Store) ChannelNoticeMailed(ctx context.Context, n channelhealth.Notice) error {
	_, err := s.db.NewRaw(`UPDATE channel_notices
		SET mailed_at = ?now, mails = ?number, lost = lost - ?lost, fell_back = fell_back - ?fell_back, claimed_at = NULL,
			due_at = CASE WHEN news = ?news THEN NULL ELSE due_at END
		WHERE channel_id = ?channel AND mails = ?number - 1`,
		pg.Named{
			"now": s.db.Instant(), "number": n.Number, "lost": n.Lost, "fell_back": n.FellBack, "news": n.News, "channel": n.ChannelID,
		}).Exec(ctx)
	return pg.Wrap("note the mail about a channel", err)
}
