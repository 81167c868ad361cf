// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// Sessions keeps the sessions of browsers. The data of one are a account.SessionData; its
// token must be a hash. The methods are those that the session library asks for.
type Sessions struct{ store *Store }

// Sessions returns the store of browsers' sessions.
func (s *Store) Sessions() *Sessions { return &Sessions{store: s} }

// seenEvery is how much later the end of a session must be for its row to change when
// nothing else did, so that not each request writes.
const seenEvery = time.Minute

// FindCtx returns the data of a session; found is false when there is none, or it has ended.
func (s *Sessions) FindCtx(ctx context.Context, token string) (data []byte, found bool, err error) {
	err = s.store.db.NewRaw("SELECT data FROM sessions WHERE token = ? AND ended_at IS NULL AND expires_at > ?",
		token, s.store.db.Instant()).Scan(ctx, &data)
	if pg.IsNoRow(err) {
		return nil, false, nil
	}
	return data, err == nil, pg.Wrap("read a session", err)
}

// CommitCtx stores the data of a session until expiry. One that has ended stays ended,
// and one of a user who is gone is not stored.
func (s *Sessions) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	var content account.SessionData
	if err := json.Unmarshal(data, &content); err != nil {
		return fmt.Errorf("read the data of a session: %w", err)
	}
	var userID *uuid.UUID
	if id, err := uuid.Parse(content.Values[account.SessionUser]); err == nil {
		userID = &id
	}
	id, err := uuid.Parse(content.Values[account.SessionID])
	if err != nil {
		id = uuid.New()
	}
	// What conflicts is locked, and so written, even where nothing of it changes: a row with nothing new is not inserted.
	_, err = s.store.db.NewRaw(`INSERT INTO sessions AS s (token, id, user_id, data, address, user_agent, created_at, seen_at, expires_at)
		SELECT ?token, ?id::uuid, ?user::uuid, ?data, ?address, ?agent, ?now::timestamptz, ?now::timestamptz, ?expires::timestamptz
		WHERE NOT EXISTS (SELECT FROM sessions AS known
			WHERE known.token = ?token AND known.data = ?data AND known.expires_at > ?expires::timestamptz - make_interval(secs => ?seen_every_s))
		ON CONFLICT (token) DO UPDATE SET id = excluded.id, user_id = excluded.user_id, data = excluded.data,
			address = excluded.address, user_agent = excluded.user_agent, seen_at = excluded.seen_at, expires_at = excluded.expires_at
		WHERE s.ended_at IS NULL`,
		pg.Named{
			"token": token, "id": id, "user": userID, "data": data, "address": content.Values[account.SessionAddress],
			"agent": content.Values[account.SessionAgent], "now": s.store.db.Instant(), "expires": pg.Micro(expiry),
			"seen_every_s": seenEvery.Seconds(),
		}).Exec(ctx)
	if pg.Violates(err, "sessions_user_id_fkey") {
		return nil
	}
	return pg.Wrap("store a session", err)
}

// DeleteCtx ends a session.
func (s *Sessions) DeleteCtx(ctx context.Context, token string) error {
	_, err := s.store.db.NewRaw(endSessions+" WHERE token = ?1 AND ended_at IS NULL", s.store.db.Instant(), token).Exec(ctx)
	return pg.Wrap("end a session", err)
}

// endSessions ends sessions without their data; its argument is the present time. Their
// rows are deleted as expired ones.
const endSessions = "UPDATE sessions SET ended_at = ?0, expires_at = ?0, data = ''"

// Find is FindCtx without a context.
func (s *Sessions) Find(token string) (data []byte, found bool, err error) {
	return s.FindCtx(context.Background(), token)
}

// Commit is CommitCtx without a context.
func (s *Sessions) Commit(token string, data []byte, expiry time.Time) error {
	return s.CommitCtx(context.Background(), token, data, expiry)
}

// Delete is DeleteCtx without a context.
func (s *Sessions) Delete(token string) error { return s.DeleteCtx(context.Background(), token) }

type sessionRow struct {
	bun.BaseModel `bun:"table:sessions,alias:s"`

	ID        uuid.UUID `bun:"id,type:uuid"`
	CreatedAt time.Time `bun:"created_at"`
	SeenAt    time.Time `bun:"seen_at"`
	ExpiresAt time.Time `bun:"expires_at"`
	Address   string    `bun:"address"`
	UserAgent string    `bun:"user_agent"`
}

// UserSessions returns a page of the sessions of a user that have not ended, the one that
// was used last first, and their number.
func (s *Store) UserSessions(ctx context.Context, userID uuid.UUID, page listing.Page) ([]account.Session, int, error) {
	var rows []sessionRow
	total, err := s.db.NewSelect().Model(&rows).Where("s.user_id = ? AND s.ended_at IS NULL AND s.expires_at > ?", userID, s.db.Instant()).
		OrderExpr("s.seen_at DESC, s.id").Limit(int64(page.Limit)).Offset(int64(page.Offset)).ScanAndCount(ctx)
	if err != nil {
		return nil, 0, pg.Wrap("list the sessions of a user", err)
	}
	sessions := make([]account.Session, len(rows))
	for i, row := range rows {
		sessions[i] = account.Session{
			ID: row.ID, CreatedAt: row.CreatedAt, SeenAt: row.SeenAt, ExpiresAt: row.ExpiresAt, Address: row.Address, UserAgent: row.UserAgent,
		}
	}
	return sessions, int(total), nil
}

// SessionLasts reports whether a session of a user has not ended.
func (s *Store) SessionLasts(ctx context.Context, userID, id uuid.UUID) (bool, error) {
	lasts, err := s.db.NewSelect().Model((*sessionRow)(nil)).
		Where("s.user_id = ? AND s.id = ? AND s.ended_at IS NULL AND s.expires_at > ?", userID, id, s.db.Instant()).Exists(ctx)
	return lasts, pg.Wrap("look for a session", err)
}

// EndSession ends a session of a user; an unknown one is a CodeNotFound error.
func (s *Store) EndSession(ctx context.Context, userID, id uuid.UUID) error {
	return s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		res, err := tx.NewRaw(endSessions+" WHERE user_id = ?1 AND id = ?2 AND ended_at IS NULL AND expires_at > ?0",
			s.db.Instant(), userID, id).Exec(ctx)
		return pg.RequireAffected("session", "end a session", res, err)
	})
}

// EndSessions ends every session and session token of a user.
func (s *Store) EndSessions(ctx context.Context, userID uuid.UUID) error {
	return s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		user, err := lockUser(ctx, tx, userID)
		if err != nil {
			return err
		}
		return s.raiseSessionVersion(ctx, tx, &user)
	})
}

// raiseSessionVersion ends every session of a user whose lock the caller holds.
func (s *Store) raiseSessionVersion(ctx context.Context, tx bun.Tx, user *account.User) error {
	user.SessionVersion++
	_, err := tx.NewRaw("UPDATE users SET session_version = ? WHERE id = ?", user.SessionVersion, user.ID).Exec(ctx)
	if err != nil {
		return fmt.Errorf("raise the session version: %w", err)
	}
	_, err = tx.NewRaw(endSessions+" WHERE user_id = ?1 AND ended_at IS NULL", s.db.Instant(), user.ID).Exec(ctx)
	return pg.Wrap("end the sessions", err)
}
