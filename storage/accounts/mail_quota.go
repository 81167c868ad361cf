// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// MaxQuotaWindow is the longest window of a quota.
const MaxQuotaWindow = 24 * time.Hour

// ErrQuota ends a transaction whose mails a quota does not allow.
var ErrQuota = errors.New("a quota is used up")

// TakeMail counts one mail in every quota, over all processes. When one of them is used
// up, it counts nothing and returns the time until its window ends.
func (s *Store) TakeMail(ctx context.Context, quotas ...account.MailQuota) (wait time.Duration, err error) {
	err = s.db.Transact(ctx, nil, func(ctx context.Context, tx bun.Tx) (err error) {
		wait, err = s.TakeMailIn(ctx, tx, quotas)
		if err == nil && wait > 0 {
			return ErrQuota
		}
		return err
	})
	if errors.Is(err, ErrQuota) {
		return wait, nil
	}
	return wait, pg.Wrap("count a mail", err)
}

// ReturnMail takes back what TakeMail counted for a mail that was not sent. A window that ended meanwhile is left as it is.
func (s *Store) ReturnMail(ctx context.Context, quotas ...account.MailQuota) error {
	now := s.db.Instant()
	var errs []error
	for _, quota := range quotas {
		_, err := s.db.NewRaw("UPDATE mail_quotas SET used = used - 1 WHERE name = ? AND used > 0 AND started_at > ?",
			quota.Name, now.Add(-quota.Window)).Exec(ctx)
		errs = append(errs, err)
	}
	return pg.Wrap("take a mail back", errors.Join(errs...))
}

// TakeMailIn counts one mail for each mention of a quota, in a transaction. When it returns a wait, the
// transaction must be rolled back. Rows are locked in the order of their names, so that
// transactions do not wait for each other in a circle.
func (s *Store) TakeMailIn(ctx context.Context, tx bun.Tx, quotas []account.MailQuota) (wait time.Duration, err error) {
	quotas = slices.Clone(quotas)
	slices.SortFunc(quotas, func(a, b account.MailQuota) int { return cmp.Compare(a.Name, b.Name) })
	now := s.db.Instant()
	for len(quotas) > 0 {
		quota := quotas[0]
		mails := 1
		for mails < len(quotas) && quotas[mails].Name == quota.Name {
			mails++
		}
		quotas = quotas[mails:]
		var ends time.Time
		err := tx.NewRaw(`INSERT INTO mail_quotas AS q (name, started_at, used) VALUES (?name, ?now, ?mails)
			ON CONFLICT (name) DO UPDATE SET
				used = CASE WHEN q.started_at <= ?over THEN 0 ELSE q.used END + ?mails,
				started_at = CASE WHEN q.started_at <= ?over THEN ?now ELSE q.started_at END
			RETURNING CASE WHEN used > ?limit THEN started_at ELSE 'epoch' END`,
			pg.Named{
				"name": quota.Name, "now": now, "mails": mails, "over": now.Add(-quota.Window), "limit": quota.Limit,
			}).Scan(ctx, &ends)
		if err != nil {
			return 0, fmt.Errorf("count mails: %w", err)
		}
		if over := ends.Unix() != 0; over {
			wait = max(wait, ends.Add(quota.Window).Sub(now), time.Second)
		}
	}
	return wait, nil
}
