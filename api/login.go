package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"vigil"
	"vigil/api/rest"
)

// loginStore counts failed logins.
type loginStore interface {
	BeginLogin(ctx context.Context, email string) (wait time.Duration, err error)
	EndLogin(ctx context.Context, email string) error
	RecordAudit(ctx context.Context) error
}

// logins compares passwords, slower and slower after many failures.
type logins struct {
	store     loginStore
	passwords *passwords
	tasks     *tasks
}

// try compares a password; CodeRateLimited after many failures for an address.
func (l logins) try(ctx context.Context, email string, user vigil.User, password string) (bool, error) {
	wait, err := l.store.BeginLogin(ctx, email)
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
	return true, l.store.EndLogin(ctx, email)
}

// noteFailure notes a wrong password in the audit log of the account, if there is one. It
// does so in the background: the time of an answer must not depend on the account.
func (l logins) noteFailure(ctx context.Context, user vigil.User) {
	if user.ID == uuid.Nil {
		return
	}
	ctx = rest.AboutAccount(ctx, "account.login_failed", user)
	l.tasks.start(ctx, "note a failed login", l.store.RecordAudit)
}
