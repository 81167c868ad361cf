// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
)

// loginStore counts failed logins.
type loginStore interface {
	BeginLogin(ctx context.Context, email, origin string) (wait time.Duration, err error)
	EndLogin(ctx context.Context, email, origin string) error
	RecordAudit(ctx context.Context) error
}

// logins compares passwords, slower and slower after many failures.
type logins struct {
	store     loginStore
	passwords *passwords
	tasks     *resource.Tasks
}

// try compares a password; CodeRateLimited after many failures for an address from where the
// request comes from, or from all networks.
func (l logins) try(ctx context.Context, email string, user account.User, password string) (bool, error) {
	origin := rest.Origin(ctx, user.ID)
	wait, err := l.store.BeginLogin(ctx, email, origin)
	if err != nil {
		return false, err
	}
	if wait > 0 {
		return false, rest.ErrTooMany("Too many failed attempts for this address", rest.CeilSeconds(wait))
	}
	ok, err := l.passwords.matches(ctx, password, user.PasswordHash)
	if err != nil {
		return false, err
	}
	if !ok {
		l.noteFailure(ctx, user)
		return false, nil
	}
	return true, l.store.EndLogin(ctx, email, origin)
}

// noteFailure notes a wrong password in the audit log of the account, if there is one. It
// does so in the background: the time of an answer must not depend on the account.
func (l logins) noteFailure(ctx context.Context, user account.User) {
	if user.ID == uuid.Nil {
		return
	}
	ctx = rest.AboutAccount(ctx, "account.login_failed", user)
	l.tasks.Start(ctx, "note a failed login", l.store.RecordAudit)
}
