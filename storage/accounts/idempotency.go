// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/idempotency"
	"github.com/vigil-monitor/vigil/storage/pg"
)

const (
	// IdempotencyRetention is how long a key and its answer are kept.
	IdempotencyRetention = 24 * time.Hour
	// idempotencyTakeover is after what time a request without an answer counts as lost with
	// its process. It is longer than any request that has a key.
	idempotencyTakeover = 2 * time.Minute
	// idempotencyRetry is the Retry-After, in seconds, while the first request runs.
	idempotencyRetry = 2
)

// BeginRequest starts an execution of a request, unless its key was used within the last
// 24 hours: then it returns the stored answer of the first execution. A key of another
// request is a CodeInvalid error. While the first execution runs, it is a CodeConflict
// error with vigil.RetryDetail; an execution that has not answered for two minutes is lost and
// replaced.
func (s *Store) BeginRequest(ctx context.Context, r *idempotency.Request) (answer []byte, err error) {
	now := s.db.Instant()
	res, err := s.db.NewRaw(`INSERT INTO idempotency_keys AS k (org_id, key, fingerprint, token, started_at)
		VALUES (?org, ?key, ?fingerprint, ?token, ?now)
		ON CONFLICT (org_id, key) DO UPDATE
		SET fingerprint = excluded.fingerprint, token = excluded.token, started_at = excluded.started_at, answer = NULL
		WHERE k.started_at <= ?expired OR (k.answer IS NULL AND k.fingerprint = excluded.fingerprint AND k.started_at <= ?lost)`,
		pg.Named{
			"org": r.OrgID, "key": r.Key, "fingerprint": r.Fingerprint, "token": r.Token, "now": now,
			"expired": now.Add(-IdempotencyRetention), "lost": now.Add(-idempotencyTakeover),
		}).Exec(ctx)
	if err != nil {
		return nil, pg.Wrap("store the idempotency key", err)
	}
	if n, err := res.RowsAffected(); err != nil || n > 0 {
		return nil, pg.Wrap("store the idempotency key", err)
	}
	var row struct {
		Fingerprint []byte  `bun:"fingerprint"`
		Answer      *string `bun:"answer"`
	}
	err = s.db.NewRaw("SELECT fingerprint, answer FROM idempotency_keys WHERE org_id = ? AND key = ?", r.OrgID, r.Key).Scan(ctx, &row)
	switch {
	case pg.IsNoRow(err): // the first execution has failed in between
		return nil, errRequestRuns()
	case err != nil:
		return nil, pg.Wrap("read the idempotency key", err)
	case !bytes.Equal(row.Fingerprint, r.Fingerprint):
		return nil, vigil.Invalid("Idempotency-Key", "was used for another request within the last 24 hours; use a new key")
	case row.Answer == nil:
		return nil, errRequestRuns()
	}
	return []byte(*row.Answer), nil
}

func errRequestRuns() error {
	return &vigil.Error{
		Code:    vigil.CodeConflict,
		Message: "A request with the same Idempotency-Key is still running. Repeat this one in a moment.",
		Details: map[string]any{vigil.RetryDetail: idempotencyRetry},
	}
}

// KeepAnswer stores the answer of the request of ctx with what the transaction creates.
// When another execution has replaced this one, it is an error, so that the transaction
// ends without effect. Without a request it does nothing.
func KeepAnswer(ctx context.Context, tx bun.Tx, created any) error {
	r := idempotency.FromContext(ctx)
	if r == nil || r.Render == nil {
		return nil
	}
	answer, err := r.Render(created)
	if err != nil {
		return fmt.Errorf("render the answer: %w", err)
	}
	return storeAnswer(ctx, tx, r, answer)
}

// FinishRequest stores the answer of an execution that creates nothing.
func (s *Store) FinishRequest(ctx context.Context, r *idempotency.Request, answer []byte) error {
	return pg.Wrap("store the answer", storeAnswer(ctx, s.db, r, answer))
}

func storeAnswer(ctx context.Context, db bun.IDB, r *idempotency.Request, answer []byte) error {
	res, err := db.NewRaw("UPDATE idempotency_keys SET answer = ? WHERE org_id = ? AND key = ? AND token = ? AND answer IS NULL",
		string(answer), r.OrgID, r.Key, r.Token).Exec(ctx)
	if err != nil {
		return fmt.Errorf("store the answer: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return cmp.Or(err, errRequestRuns())
	}
	r.Kept = true
	return nil
}

// AbandonRequest releases the key of an execution that failed, so that the request can be
// repeated. A stored answer stays.
func (s *Store) AbandonRequest(ctx context.Context, r *idempotency.Request) error {
	_, err := s.db.NewRaw("DELETE FROM idempotency_keys WHERE org_id = ? AND key = ? AND token = ? AND answer IS NULL",
		r.OrgID, r.Key, r.Token).Exec(ctx)
	return pg.Wrap("release the idempotency key", err)
}
