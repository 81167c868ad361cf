// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
)

type deleteAccountBody struct {
	Confirm  string `json:"confirm" maxLength:"254" doc:"The email address of the account." example:"ada@example.com"`
	Password string `json:"password,omitempty" maxLength:"128" writeOnly:"true" doc:"The account's password; needed where it has one."`
}

func (a *accounts) registerDelete(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method: http.MethodDelete, Path: "/v1/auth/me", ID: "delete-me", Tag: resource.TagAccount, Scope: account.ScopeAdmin, Own: true,
		Status: http.StatusNoContent, Audit: "account.delete", Errors: []int{http.StatusConflict, http.StatusTooManyRequests},
		Summary: "Delete your account",
		Description: "Ends your sessions, API keys, links and invitations at once, everywhere within 5 seconds. What you made stays " +
			"in the organization; its audit log shows a deleted user in place of your name. It cannot be undone. " +
			"The only owner of an organization cannot leave it (409): make another member an owner, or delete the organization.",
	}, a.deleteMe)
}

func (a *accounts) deleteMe(ctx context.Context, in *struct{ Body deleteAccountBody }) (*struct{}, error) {
	who := rest.CallerOf(ctx)
	user, err := a.store.User(ctx, who.User.ID)
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		return nil, vigil.Errorf(vigil.CodeUnauthorized, "The account of the credential has been deleted.")
	}
	if err != nil {
		return nil, err
	}
	if !strings.EqualFold(in.Body.Confirm, user.Email) {
		return nil, vigil.Invalid("confirm", "must be the email address of the account, which is %q", user.Email)
	}
	if err := a.requirePassword(ctx, user, in.Body.Password); err != nil {
		return nil, err
	}
	rest.AuditResource(ctx, user.ID)
	if err := a.store.DeleteAccount(ctx, user.OrgID, user.ID, who.Credential()); err != nil {
		return nil, err
	}
	a.auth.forgetUser(user.ID)
	rest.RequestOf(ctx).Log().LogAttrs(ctx, slog.LevelInfo, "account deleted",
		slog.String("user", user.ID.String()), slog.String("organization", user.OrgID.String()))
	a.mail.accountDeleted(ctx, user)
	return nil, nil //nolint:nilnil // Huma's way to answer without a body
}

// requirePassword refuses a request without the password of an account that has one.
func (a *accounts) requirePassword(ctx context.Context, user account.User, password string) error {
	if user.PasswordHash == "" {
		return nil
	}
	if password == "" {
		return vigil.Invalid("password", "is missing: the account has one, and its deletion needs it")
	}
	ok, err := a.logins.try(ctx, user.Email, user, password)
	if err == nil && !ok {
		err = vigil.Invalid("password", "is not the account's password")
	}
	return err
}
