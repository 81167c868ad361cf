package api

import (
	"context"
	"time"

	"vigil"
	"vigil/api/rest"
)

// loginStore counts failed logins.
type loginStore interface {
	BeginLogin(ctx context.Context, email string) (wait time.Duration, err error)
	EndLogin(ctx context.Context, email string) error
}

// logins compares passwords, slower and slower after many failures.
type logins struct {
	store     loginStore
	passwords *passwords
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
	if err != nil || !ok {
		return false, err
	}
	return true, l.store.EndLogin(ctx, email)
}
