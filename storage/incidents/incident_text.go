// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// textsKept is how long a text is kept that no workflow has applied. A workflow that
// accepted a request retries for as long as Postgres is away.
const textsKept = 24 * time.Hour

// StoreIncidentText stores a text until it is applied. One that exists is kept. It
// fails with CodeNotFound when the incident was deleted.
func (s *Store) StoreIncidentText(ctx context.Context, text vigil.IncidentText) error {
	now := s.db.Instant()
	if _, err := s.db.NewRaw("DELETE FROM incident_texts WHERE created_at < ?", now.Add(-textsKept)).Exec(ctx); err != nil {
		return pg.Wrap("delete old texts", err)
	}
	_, err := s.db.NewRaw(`INSERT INTO incident_texts (id, incident_id, author, note, created_at) VALUES (?id, ?incident, ?author, ?note, ?now)
		ON CONFLICT DO NOTHING`,
		pg.Named{
			"id": text.ID, "incident": text.IncidentID, "author": vigil.CleanText(text.Author), "note": vigil.CleanText(text.Note), "now": now,
		}).Exec(ctx)
	if pg.Violates(err, "incident_texts_incident_id_fkey") {
		return vigil.NotFound("incident")
	}
	return pg.Wrap("store a text", err)
}

// takeText reads and deletes a text. Without an ID, and when the text was deleted, both are
// empty.
func takeText(ctx context.Context, tx bun.Tx, id uuid.UUID) (author, note string, err error) {
	if id == uuid.Nil {
		return "", "", nil
	}
	var row struct {
		Author string `bun:"author"`
		Note   string `bun:"note"`
	}
	err = tx.NewRaw("DELETE FROM incident_texts WHERE id = ? RETURNING author, note", id).Scan(ctx, &row)
	switch {
	case pg.IsNoRow(err):
		return "", "", nil
	case err != nil:
		return "", "", fmt.Errorf("read a text: %w", err)
	}
	return row.Author, row.Note, nil
}
