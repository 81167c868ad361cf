// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// messageClaim is how long an attempt has before another process may make it. It is longer than an
// attempt can take.
const messageClaim = 2 * time.Minute

// PagesWithReaders returns the slugs of the enabled pages that have subscribers and may have something to tell: an incident
// that is open or ended in the last NoteAge, maintenance that has begun and did, or a beginning whose end was not notified.
func (s *Store) PagesWithReaders(ctx context.Context) ([]string, error) {
	if found, err := pg.Any(ctx, s.db, "status_page_readers WHERE confirmed_at IS NOT NULL ORDER BY org_id"); err != nil || !found {
		return nil, err
	}
	var slugs []string
	now := s.db.Instant()
	err := s.db.NewRaw(`SELECT sp.slug FROM status_pages AS sp WHERE sp.enabled AND sp.subscriptions
		AND EXISTS (SELECT FROM status_page_readers AS r WHERE r.page_id = sp.id AND r.confirmed_at IS NOT NULL)
		AND (EXISTS (SELECT FROM status_page_checks AS c JOIN incidents AS i ON i.check_id = c.check_id
			WHERE c.page_id = sp.id AND (i.status <> 'resolved' OR i.resolved_at > ?1))
		OR EXISTS (SELECT FROM maintenance_occurrences AS o
			WHERE o.org_id = sp.org_id AND o.removed_at IS NULL AND o.starts_at <= ?0 AND o.ends_at > ?1)
		OR EXISTS (SELECT FROM status_page_notes AS b WHERE b.page_id = sp.id AND b.kind IN ('incident.begins', 'maintenance.begins')
			AND NOT EXISTS (SELECT FROM status_page_notes AS e
				WHERE e.page_id = sp.id AND e.key = regexp_replace(b.key, '/begins$', '/ends'))))
		ORDER BY sp.slug`, now, now.Add(-overview.NoteAge)).Scan(ctx, &slugs)
	return slugs, pg.Wrap("list the pages with subscribers", err)
}

// TellReaders stores what a page has to tell, and a message to each reader who had confirmed when it
// happened. What was notified already is not notified again, by any process, and however often. It returns how
// many notes are new.
func (s *Store) TellReaders(ctx context.Context, pageID uuid.UUID, notes []overview.Note) (fresh int, err error) {
	now := s.db.Instant()
	for _, note := range notes {
		err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
			id := uuid.New()
			res, err := tx.NewRaw(`INSERT INTO status_page_notes (id, page_id, key, kind, title, body, at, created_at)
				VALUES (?id, ?page, ?key, ?kind, ?title, ?body, ?at, ?now) ON CONFLICT (page_id, key) DO NOTHING`,
				pg.Named{
					"id": id, "page": pageID, "key": note.Key, "kind": note.Kind, "title": note.Title, "body": note.Body, "at": pg.Micro(note.At),
					"now": now,
				}).Exec(ctx)
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err != nil || n == 0 {
				return err
			}
			fresh++
			_, err = tx.NewRaw(`INSERT INTO status_page_messages (note_id, reader_id, at, next_attempt_at)
				SELECT ?0, r.id, ?1, ?2 FROM status_page_readers AS r WHERE r.page_id = ?3 AND r.confirmed_at <= ?1`,
				id, pg.Micro(note.At), now, pageID).Exec(ctx)
			return err
		})
		if err != nil {
			return fresh, pg.Wrap("tell the subscribers", err)
		}
	}
	return fresh, nil
}

// Notes returns what a page has notified, by key.
func (s *Store) Notes(ctx context.Context, pageID uuid.UUID) (map[string]overview.Note, error) {
	var rows []struct{ Key, Title string }
	if err := s.db.NewRaw("SELECT key, title FROM status_page_notes WHERE page_id = ? AND kind <> ?", pageID, overview.NoteConfirm).
		Scan(ctx, &rows); err != nil {
		return nil, pg.Wrap("read what was notified", err)
	}
	notified := make(map[string]overview.Note, len(rows))
	for _, row := range rows {
		notified[row.Key] = overview.Note{Key: row.Key, Title: row.Title}
	}
	return notified, nil
}

// ClaimReaderMessages returns up to limit messages that are due, for each reader the earliest alone.
// Another call does not return them for two minutes. One whose last attempt was cut short after it had
// begun to hand the message over ends as unknown, since it may have arrived.
func (s *Store) ClaimReaderMessages(ctx context.Context, limit int) ([]overview.ReaderMessage, error) {
	now := s.db.Instant()
	_, err := s.db.NewRaw(`UPDATE status_page_messages SET status = 'unknown', finished_at = ?0, error = 'the attempt was cut short'
		WHERE status = 'pending' AND handed_at IS NOT NULL AND claimed_at <= ?1`, now, now.Add(-messageClaim)).Exec(ctx)
	if err != nil {
		return nil, pg.Wrap("end messages that were cut short", err)
	}
	var rows []struct {
		readerRow

		NoteID    uuid.UUID `bun:"note_id,type:uuid"`
		Key       string    `bun:"key"`
		Kind      string    `bun:"kind"`
		Title     string    `bun:"title"`
		Body      string    `bun:"body"`
		At        time.Time `bun:"at"`
		PageTitle string    `bun:"page_title"`
		Slug      string    `bun:"slug"`
		Host      string    `bun:"host"`
		Attempts  int       `bun:"attempts"`
	}
	err = s.db.NewRaw(`WITH due AS (
			UPDATE status_page_messages AS m SET claimed_at = ?0, handed_at = NULL, attempts = attempts + 1
			WHERE (m.note_id, m.reader_id) IN (
				SELECT d.note_id, d.reader_id FROM status_page_messages AS d
				WHERE d.status = 'pending' AND d.next_attempt_at <= ?0 AND (d.claimed_at IS NULL OR d.claimed_at <= ?1)
					AND NOT EXISTS (SELECT FROM status_page_messages AS e
						WHERE e.reader_id = d.reader_id AND e.status = 'pending' AND (e.at, e.note_id) < (d.at, d.note_id))
				ORDER BY d.next_attempt_at LIMIT ?2 FOR UPDATE SKIP LOCKED)
			RETURNING *
		)
		SELECT `+readerColumns+`, n.id AS note_id, n.key, n.kind, n.title, n.body, n.at, sp.title AS page_title, sp.slug,
			CASE WHEN sp.host_verified_at IS NOT NULL THEN sp.host ELSE '' END AS host, due.attempts
		FROM due JOIN status_page_notes AS n ON n.id = due.note_id JOIN status_page_readers AS r ON r.id = due.reader_id
			JOIN status_pages AS sp ON sp.id = n.page_id ORDER BY n.at`,
		now, now.Add(-messageClaim), limit).Scan(ctx, &rows)
	if err != nil {
		return nil, pg.Wrap("claim messages to subscribers", err)
	}
	messages := make([]overview.ReaderMessage, 0, len(rows))
	for i := range rows {
		row := &rows[i]
		reader, err := s.reader(&row.readerRow)
		if err != nil {
			return messages, pg.Wrap("claim messages to subscribers", err)
		}
		messages = append(messages, overview.ReaderMessage{
			NoteID: row.NoteID, Reader: reader, PageTitle: row.PageTitle, Slug: row.Slug, Host: row.Host, Attempt: row.Attempts,
			Note: overview.Note{Key: row.Key, Kind: row.Kind, Title: row.Title, Body: row.Body, At: row.At.UTC()},
		})
	}
	return messages, nil
}

// HandReaderMessage notes that an attempt begins to hand a message over. A reader who was removed meanwhile is a
// CodeNotFound error: the message must not be sent.
func (s *Store) HandReaderMessage(ctx context.Context, noteID, readerID uuid.UUID) error {
	res, err := s.db.NewRaw(`UPDATE status_page_messages SET handed_at = ?
		WHERE note_id = ? AND reader_id = ? AND status = 'pending' AND handed_at IS NULL`, s.db.Instant(), noteID, readerID).Exec(ctx)
	if err != nil {
		return pg.Wrap("note an attempt", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return vigil.NotFound("message")
	}
	return nil
}

// ReaderMessageEnded stores the outcome of an attempt.
func (s *Store) ReaderMessageEnded(ctx context.Context, noteID, readerID uuid.UUID, outcome overview.ReaderOutcome) error {
	now := s.db.Instant()
	status, finished := "delivered", &now
	next, uncounted := now, 0
	if outcome.Unsent {
		uncounted = 1
	}
	switch {
	case outcome.Unknown:
		status = "unknown"
	case (outcome.Failed || outcome.Unsent) && outcome.NextAttemptAt != nil:
		status, finished, next = "pending", nil, pg.Micro(*outcome.NextAttemptAt)
	case outcome.Failed:
		status = "failed"
	}
	_, err := s.db.NewRaw(`UPDATE status_page_messages SET status = ?status, finished_at = ?finished, next_attempt_at = ?next,
			claimed_at = NULL, handed_at = NULL, attempts = attempts - ?uncounted, error = ?error
		WHERE note_id = ?note AND reader_id = ?reader AND status = 'pending'`,
		pg.Named{
			"status": status, "finished": finished, "next": next, "error": vigil.Truncate(vigil.CleanText(outcome.Error), 500), "note": noteID,
			"reader": readerID, "uncounted": uncounted,
		}).Exec(ctx)
	return pg.Wrap("store the outcome of a message", err)
}

// DropReaders deletes readers who did not confirm in time, and what was notified long ago.
func (s *Store) DropReaders(ctx context.Context) error {
	now := s.db.Instant()
	for _, old := range []struct {
		query  string
		before time.Time
	}{
		{"DELETE FROM status_page_readers WHERE confirmed_at IS NULL AND asked_at < ?", now.Add(-overview.ReaderAsked)},
		{"DELETE FROM status_page_notes WHERE created_at < ?", now.Add(-overview.NotesKept)},
	} {
		if _, err := s.db.NewRaw(old.query, old.before).Exec(ctx); err != nil {
			return pg.Wrap("drop old subscribers", fmt.Errorf("%s: %w", old.query, err))
		}
	}
	return nil
}
