// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/internal/secret"
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// readerFields are the secret members of the column config of readers.
func readerFields() secret.Fields {
	return secret.Fields{Members: map[string]secret.Fields{"url": {Secret: true}, "secret": {Secret: true}}}
}

// readerRow is a reader as Postgres stores it.
type readerRow struct {
	ID          uuid.UUID       `bun:"id,type:uuid"`
	OrgID       uuid.UUID       `bun:"org_id,type:uuid"`
	PageID      uuid.UUID       `bun:"page_id,type:uuid"`
	Type        string          `bun:"type"`
	Address     string          `bun:"address"`
	Config      json.RawMessage `bun:"config"`
	CreatedAt   time.Time       `bun:"created_at"`
	ConfirmedAt *time.Time      `bun:"confirmed_at"`
}

const readerColumns = "r.id, r.org_id, r.page_id, r.type, r.address, r.config, r.created_at, r.confirmed_at"

type readerConfig struct {
	URL    string `json:"url"`
	Secret string `json:"secret"`
}

func (s *Store) reader(row *readerRow) (overview.Reader, error) {
	reader := overview.Reader{
		ID: row.ID, OrgID: row.OrgID, PageID: row.PageID, Kind: row.Type, Address: row.Address, CreatedAt: row.CreatedAt.UTC(),
		ConfirmedAt: row.ConfirmedAt,
	}
	if row.Type != overview.ReaderWebhook {
		return reader, nil
	}
	plain, err := s.Keyring.OpenSecrets(readerFields(), row.Config)
	if err != nil {
		return reader, fmt.Errorf("open the address of reader %s: %w", row.ID, err)
	}
	var config readerConfig
	err = json.Unmarshal(plain, &config)
	reader.Address, reader.Secret = config.URL, config.Secret
	return reader, err
}

// AskReader stores that somebody wants the messages of a page, and a message that asks to confirm it. What
// is known already, and was asked lately, changes nothing, so that no one learns who reads a page. The
// quotas of mails count those questions; one that is used up, and a page or plan that takes no more readers, are
// CodeRateLimited and CodePlanLimit errors.
func (s *Store) AskReader(ctx context.Context, r overview.Reader) error {
	config := []byte("{}")
	host, address := "", r.Address
	if r.Kind == overview.ReaderWebhook {
		plain, err := json.Marshal(readerConfig{r.Address, r.Secret})
		if err != nil {
			return err
		}
		if config, err = s.Keyring.SealSecrets(readerFields(), plain); err != nil {
			return fmt.Errorf("seal the address of a reader: %w", err)
		}
		if parsed, err := url.Parse(r.Address); err == nil {
			host = parsed.Host
		}
		address = ""
	}
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		tier, err := accounts.LockOrganization(ctx, tx, r.OrgID)
		if err != nil {
			return err
		}
		now := s.db.Instant()
		var known []struct {
			ID        uuid.UUID  `bun:"id,type:uuid"`
			AskedAt   time.Time  `bun:"asked_at"`
			Confirmed *time.Time `bun:"confirmed_at"`
		}
		if err := tx.NewRaw("SELECT id, asked_at, confirmed_at FROM status_page_readers WHERE page_id = ? AND digest = ? FOR UPDATE",
			r.PageID, r.Digest()).Scan(ctx, &known); err != nil {
			return fmt.Errorf("look for the reader: %w", err)
		}
		if len(known) > 0 {
			if known[0].Confirmed != nil || known[0].AskedAt.After(now.Add(-overview.ReaderAskedAgain)) {
				return nil
			}
			r.ID = known[0].ID
			if _, err := tx.NewRaw("UPDATE status_page_readers SET asked_at = ?, config = ?::jsonb WHERE id = ?", now, string(config), r.ID).
				Exec(ctx); err != nil {
				return fmt.Errorf("note the question: %w", err)
			}
			return s.noteConfirm(ctx, tx, &r, now)
		}
		if err := s.roomForReader(ctx, tx, tier, &r); err != nil {
			return err
		}
		if _, err := tx.NewRaw(`INSERT INTO status_page_readers (id, org_id, page_id, type, address, host, config, digest, created_at, asked_at)
			VALUES (?id, ?org, ?page, ?type, ?address, ?host, ?config::jsonb, ?digest, ?now, ?now)`,
			pg.Named{
				"id": r.ID, "org": r.OrgID, "page": r.PageID, "type": r.Kind, "address": address, "host": host, "config": string(config),
				"digest": r.Digest(), "now": now,
			}).Exec(ctx); err != nil {
			return fmt.Errorf("store the reader: %w", err)
		}
		return s.noteConfirm(ctx, tx, &r, now)
	})
	return pg.Wrap("ask a reader", err)
}

func (s *Store) roomForReader(ctx context.Context, tx bun.Tx, tier account.Tier, r *overview.Reader) error {
	if err := accounts.CheckRoom(ctx, tx, tier, account.LimitSubscribers, r.OrgID, 1); err != nil {
		return err
	}
	var open int
	if err := tx.NewRaw("SELECT count(*) FROM status_page_readers WHERE page_id = ? AND confirmed_at IS NULL", r.PageID).
		Scan(ctx, &open); err != nil {
		return fmt.Errorf("count the readers who have to confirm: %w", err)
	}
	if open >= overview.MaxOpenReaders {
		return vigil.Errorf(vigil.CodeRateLimited, "Too many readers have asked lately.")
	}
	return nil
}

// noteConfirm stores the message that asks a reader to confirm, within the quotas.
func (s *Store) noteConfirm(ctx context.Context, tx bun.Tx, r *overview.Reader, now time.Time) error {
	if r.Kind == overview.ReaderEmail {
		wait, err := s.TakeMailIn(ctx, tx, account.ReaderQuotas(r.PageID, r.Address))
		if err != nil {
			return err
		}
		if wait > 0 {
			return vigil.Errorf(vigil.CodeRateLimited, "Too many mails were asked for.")
		}
	}
	id := uuid.New()
	if _, err := tx.NewRaw(`INSERT INTO status_page_notes (id, page_id, key, kind, title, body, at, created_at)
		VALUES (?id, ?page, ?key, ?kind, '', '', ?now, ?now)`,
		pg.Named{"id": id, "page": r.PageID, "key": "confirm/" + id.String(), "kind": overview.NoteConfirm, "now": now}).Exec(ctx); err != nil {
		return fmt.Errorf("store the question: %w", err)
	}
	_, err := tx.NewRaw("INSERT INTO status_page_messages (note_id, reader_id, at, next_attempt_at) VALUES (?, ?, ?, ?)", id, r.ID, now, now).
		Exec(ctx)
	return pg.Wrap("store the message", err)
}

// StatusReader finds a reader and the title of its page. One that is gone is a CodeNotFound error.
func (s *Store) StatusReader(ctx context.Context, id uuid.UUID) (overview.Reader, string, error) {
	var row struct {
		readerRow

		Title string `bun:"title"`
	}
	err := s.db.NewRaw("SELECT "+readerColumns+`, sp.title
		FROM status_page_readers AS r JOIN status_pages AS sp ON sp.id = r.page_id WHERE r.id = ?`, id).Scan(ctx, &row)
	if err != nil {
		return overview.Reader{}, "", pg.Found("subscriber", err)
	}
	reader, err := s.reader(&row.readerRow)
	return reader, row.Title, pg.Wrap("read a subscriber", err)
}

// ConfirmReader notes that a reader wants the messages. One who has confirmed keeps the time.
func (s *Store) ConfirmReader(ctx context.Context, id uuid.UUID) error {
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		var org uuid.UUID
		if err := tx.NewRaw("SELECT org_id FROM status_page_readers WHERE id = ?", id).Scan(ctx, &org); err != nil {
			return pg.Found("subscriber", err)
		}
		tier, err := accounts.LockOrganization(ctx, tx, org)
		if err != nil {
			return err
		}
		var confirmed bool
		if err := tx.NewRaw("SELECT confirmed_at IS NOT NULL FROM status_page_readers WHERE id = ? FOR UPDATE", id).
			Scan(ctx, &confirmed); err != nil {
			return pg.Found("subscriber", err)
		}
		if confirmed {
			return nil
		}
		if err := accounts.CheckRoom(ctx, tx, tier, account.LimitSubscribers, org, 1); err != nil {
			return err
		}
		_, err = tx.NewRaw("UPDATE status_page_readers SET confirmed_at = ? WHERE id = ?", s.db.Instant(), id).Exec(ctx)
		return err
	})
	return pg.Wrap("confirm a subscriber", err)
}

// RemoveReader deletes a reader with its messages. One that is gone already is no error.
func (s *Store) RemoveReader(ctx context.Context, id uuid.UUID) error {
	_, err := s.db.NewRaw("DELETE FROM status_page_readers WHERE id = ?", id).Exec(ctx)
	return pg.Wrap("remove a subscriber", err)
}

// StatusReaders returns up to limit of the confirmed readers of a page of the organization, the oldest first, after a
// given one; uuid.Nil begins. An unknown page is a CodeNotFound error.
func (s *Store) StatusReaders(ctx context.Context, orgID, pageID, after uuid.UUID, limit int) ([]overview.Reader, error) {
	if _, err := s.StatusPage(ctx, orgID, pageID); err != nil {
		return nil, err
	}
	var rows []readerRow
	err := s.db.NewRaw("SELECT "+readerColumns+` FROM status_page_readers AS r
		WHERE r.page_id = ? AND r.confirmed_at IS NOT NULL AND r.id > ? ORDER BY r.id LIMIT ?`, pageID, after, limit).Scan(ctx, &rows)
	if err != nil {
		return nil, pg.Wrap("list the subscribers", err)
	}
	readers := make([]overview.Reader, len(rows))
	for i := range rows {
		if readers[i], err = s.reader(&rows[i]); err != nil {
			return nil, pg.Wrap("list the subscribers", err)
		}
	}
	return readers, nil
}

// DeleteStatusReader deletes a reader of a page of the organization; an unknown one is a CodeNotFound error.
func (s *Store) DeleteStatusReader(ctx context.Context, orgID, pageID, id uuid.UUID) error {
	res, err := s.db.NewRaw("DELETE FROM status_page_readers WHERE id = ? AND page_id = ? AND org_id = ?", id, pageID, orgID).Exec(ctx)
	if err != nil {
		return pg.Wrap("remove a subscriber", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return vigil.NotFound("subscriber")
	}
	return nil
}
