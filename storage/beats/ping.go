// SPDX-License-Identifier: Apache-2.0

package beats

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// Store keeps pings.
type Store struct {
	db    *pg.DB
	batch batch
}

// New returns the pings of a database.
func New(db *pg.DB) *Store { return &Store{db: db} }

// pingColumns are the columns of a pingRow; @end is how many characters of the end of a body.
const pingColumns = "id, check_id, kind, exit_code, run, received_at, right(body, @end::int) AS body, bytes"

type pingRow struct {
	ID         int64
	CheckID    uuid.UUID
	Kind       string
	ExitCode   *int
	Run        *uuid.UUID
	ReceivedAt time.Time
	Body       string
	Bytes      int64
}

func (r *pingRow) ping() vigil.Ping {
	p := vigil.Ping{
		ID: r.ID, CheckID: r.CheckID, Kind: vigil.PingKind(r.Kind), ExitCode: r.ExitCode, At: r.ReceivedAt.UTC(), Body: r.Body, Bytes: r.Bytes,
	}
	if r.Run != nil {
		p.Run = *r.Run
	}
	return p
}

// pings reads pings by a condition and an order.
func (s *Store) pings(ctx context.Context, which string, named pg.Named) ([]vigil.Ping, error) {
	rows, err := pg.Rows[pingRow](ctx, s.db, "SELECT "+pingColumns+" FROM pings WHERE "+which, named)
	return pg.Map(rows, (*pingRow).ping), pg.Wrap("read pings", err)
}

// BodyEnd is how much of the end of a body is read, in characters.
const BodyEnd = 10 << 10

// PingsSince returns the newest pings of a check that were received at an instant or later, up to limit,
// oldest first. They are those that decide: without lines, and without bodies.
func (s *Store) PingsSince(ctx context.Context, checkID uuid.UUID, since time.Time, limit int) ([]vigil.Ping, error) {
	pings, err := s.pings(ctx, "check_id = @check AND received_at >= @since AND kind <> 'log' ORDER BY received_at DESC, id DESC LIMIT @limit",
		pg.Named{"check": checkID, "end": 0, "since": pg.Micro(since), "limit": limit})
	slices.Reverse(pings)
	return pings, err
}

// PingBody returns the end of the body of a ping, empty for one that is not kept any more.
func (s *Store) PingBody(ctx context.Context, id int64) (string, error) {
	body, err := pg.Row[string](ctx, s.db, "SELECT right(body, $2) FROM pings WHERE id = $1", id, BodyEnd)
	if pg.IsNoRow(err) {
		return "", nil
	}
	return body, pg.Wrap("read the body of a ping", err)
}

// NewestPings returns the newest pings of a check of the organization, the newest first. A check that
// is not the organization's, or no heartbeat, has none.
func (s *Store) NewestPings(ctx context.Context, orgID, checkID uuid.UUID, limit int) ([]vigil.Ping, error) {
	return s.pings(
		ctx,
		"check_id = (SELECT id FROM heartbeats WHERE id = @check AND org_id = @org) ORDER BY received_at DESC, id DESC LIMIT @limit",
		pg.Named{"check": checkID, "end": BodyEnd, "org": orgID, "limit": limit},
	)
}

// spansSince is how long spans matter: as long as the longest slot of a heartbeat.
const spansSince = "interval '100 days'"

// NewPings returns the pings that were committed since the call that a cursor is of, as PingsSince has
// them, none for an empty cursor, with the cursor of the next call, until when pings were answered and are known, and in
// which spans they were not answered. A ping that commits during the call may be returned twice. Next is empty when the
// cursor is of another database, so that the pings must be read again.
func (s *Store) NewPings(ctx context.Context, cursor string, spansUntil int64) (news vigil.PingNews, err error) {
	seen, err := pg.Row[struct {
		AnsweredAt time.Time
		SpansUntil int64
	}](ctx, s.db, `SELECT least((SELECT answered_at FROM ping_answers), `+received+`) AS answered_at,
		(SELECT coalesce(extract(epoch FROM max(to_at)) * 1000000, 0)::bigint FROM ping_spans) AS spans_until`)
	if err != nil {
		return vigil.PingNews{}, pg.Wrap("look until when pings were answered", err)
	}
	if cursor == "" || seen.SpansUntil != spansUntil {
		if news.Spans, err = s.spans(ctx); err != nil {
			return vigil.PingNews{}, err
		}
	}
	ahead, err := s.readNew(ctx, cursor, &news)
	if err != nil {
		return vigil.PingNews{}, pg.Wrap("look for pings", err)
	}
	if ahead {
		return vigil.PingNews{}, nil
	}
	news.Answered, news.SpansUntil = seen.AnsweredAt, seen.SpansUntil
	return news, nil
}

// readNew reads the pings that were committed since a cursor, and the next one. It reports whether the cursor is of
// another database.
func (s *Store) readNew(ctx context.Context, cursor string, news *vigil.PingNews) (ahead bool, err error) {
	found, err := s.db.Pool.Query(ctx, `SELECT looks.now::text AS snapshot, ahead, id, check_id, kind, exit_code, run, received_at, bytes
		FROM (SELECT now.snapshot AS now, last.snapshot AS last, `+pg.IsAhead+` AS ahead FROM `+pg.Snapshots+`) AS looks
		LEFT JOIN pings ON kind <> 'log' AND `+pg.Committed("received_xid", "looks.last", "looks.now")+`
		ORDER BY received_at, id`, s.db.Prepared(), cursor)
	if err != nil {
		return false, err
	}
	var row struct {
		id, bytes  *int64
		check, run *uuid.UUID
		kind       *string
		exit       *int
		at         *time.Time
	}
	into := []any{&news.Cursor, &ahead, &row.id, &row.check, &row.kind, &row.exit, &row.run, &row.at, &row.bytes}
	_, err = pgx.ForEachRow(found, into, func() error {
		if row.id == nil {
			return nil // there is none
		}
		p := vigil.Ping{
			ID: *row.id, CheckID: *row.check, Kind: vigil.PingKind(*row.kind), ExitCode: row.exit, At: row.at.UTC(), Bytes: *row.bytes,
		}
		if row.run != nil {
			p.Run = *row.run
		}
		news.Pings = append(news.Pings, p)
		return nil
	})
	return ahead, err
}

func (s *Store) spans(ctx context.Context) ([]vigil.PingSpan, error) {
	rows, err := pg.Rows[struct{ FromAt, ToAt time.Time }](ctx, s.db,
		"SELECT from_at, to_at FROM ping_spans WHERE to_at > clock_timestamp() - "+spansSince+" ORDER BY from_at")
	spans := make([]vigil.PingSpan, len(rows))
	for i, row := range rows {
		spans[i] = vigil.PingSpan{From: row.FromAt, To: row.ToAt}
	}
	return spans, pg.Wrap("read when pings were not answered", err)
}

// MarkAnswering records that this process answers pings, and did so since the call before unless it
// is the first one. The time in which none did, when it was longer than pause, becomes a span. It does
// not wait for the disk: after a crash of the database the span begins earlier. While there are no
// heartbeats nothing is locked or written, and it returns false.
func (s *Store) MarkAnswering(ctx context.Context, pause time.Duration) (heartbeats bool, err error) {
	err = s.db.Probing.QueryRow(ctx, `WITH unawaited AS MATERIALIZED (
			SELECT set_config('synchronous_commit', 'off', true) AS setting
		), last AS MATERIALIZED (
			SELECT answered_at, clock_timestamp() AS now FROM ping_answers WHERE EXISTS (SELECT FROM heartbeats) FOR UPDATE
		), span AS (
			INSERT INTO ping_spans (from_at, to_at)
			SELECT answered_at, now FROM last WHERE now > answered_at + $1 * interval '1 millisecond' ON CONFLICT DO NOTHING
		), marked AS (
			UPDATE ping_answers SET answered_at = last.now FROM last, unawaited
			WHERE setting = 'off' AND last.now > ping_answers.answered_at
		)
		SELECT EXISTS (SELECT FROM last)`, pg.Milliseconds(pause)).Scan(&heartbeats)
	return heartbeats, pg.Wrap("record that pings are answered", err)
}
