// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
)

// verificationStore is what confirming an address, and changing an address or a
// password, need of the database.
type verificationStore interface {
	UserByEmail(ctx context.Context, email string) (account.User, error)
	User(ctx context.Context, id uuid.UUID) (account.User, error)
	Organization(ctx context.Context, id uuid.UUID) (account.Organization, error)
	PendingEmail(ctx context.Context, userID uuid.UUID) (string, error)
	VerificationInfo(ctx context.Context, hash []byte) (account.VerificationInfo, error)
	// VerifyEmail ends everything that gave access to the account before, with end.
	VerifyEmail(ctx context.Context, hash []byte, end bool) (user account.User, previous string, err error)
	SetPassword(ctx context.Context, userID uuid.UUID, previous, hash string) (account.User, error)
	emailChangeStore
}

type verifications struct {
	store     verificationStore
	auth      *Authenticator
	passwords *passwords
	logins    logins
	mail      *accountMail
	tasks     *resource.Tasks
}

type tokenBody struct {
	Token string `json:"token" minLength:"1" maxLength:"200" doc:"The token of the mailed link."`
}

type verifyBody struct {
	Token          string `json:"token" minLength:"1" maxLength:"200" doc:"The token of the mailed link."`
	EndCredentials bool   `json:"end_credentials,omitempty" doc:"End every API key, session, password and pending link that the account has, for an account that someone else made. The address gets a link to sign in."`
}

type verifiedView struct {
	Message string   `json:"message" example:"The email address is confirmed."`
	User    userView `json:"user"`
}

// inspectedView is what the owner of an address needs to know before confirming it.
type inspectedView struct {
	Email          string       `json:"email" format:"email" doc:"The address that the link confirms."`
	First          bool         `json:"first" doc:"Whether no address of the account was confirmed before."`
	CreatedAt      time.Time    `json:"created_at" doc:"When the account was made."`
	CreatedAddress string       `json:"created_address" doc:"IP address that the account was made from; empty when it is not known." example:"192.0.2.1"`
	Keys           []keySummary `json:"keys" doc:"API keys of the account, newest first, up to 100; none unless first."`
}

// keySummary identifies a key to its owner.
type keySummary struct {
	Name      string    `json:"name" example:"deployment"`
	KeyPrefix string    `json:"key_prefix" example:"vgl_8mKq2VxT"`
	CreatedAt time.Time `json:"created_at"`
}

func showInspected(info account.VerificationInfo) inspectedView {
	view := inspectedView{
		Email: info.Email, First: !info.User.EmailVerified, Keys: []keySummary{},
		CreatedAt: info.User.CreatedAt.UTC(), CreatedAddress: info.User.CreatedAddress,
	}
	if view.First {
		for _, key := range info.Keys {
			view.Keys = append(view.Keys, keySummary{Name: key.Name, KeyPrefix: key.Prefix, CreatedAt: key.CreatedAt.UTC()})
		}
	}
	return view
}

// pendingView says which address has yet to be confirmed.
type pendingView struct {
	Message      string  `json:"message" example:"A link to confirm the address was sent to it."`
	PendingEmail *string `json:"pending_email" doc:"The address that becomes the account's when its link is used; null when none is pending."`
}

type recoverBody struct {
	Email string `json:"email" format:"email" maxLength:"254" example:"ada@example.com"`
}

type messageView struct {
	Message string `json:"message"`
}

type passwordBody struct {
	CurrentPassword string `json:"current_password,omitempty" maxLength:"128" writeOnly:"true" doc:"The present password."`
	NewPassword     string `json:"new_password" minLength:"8" maxLength:"128" writeOnly:"true"`
}

func (v *verifications) Register(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: "/v1/auth/verify", ID: "verify-email", Tag: resource.TagAccount, Open: true, Audit: "account.verify",
		Summary: "Confirm an email address with the token of a mailed link",
		Errors:  []int{http.StatusConflict},
	}, v.verify)
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: "/v1/auth/verify/inspect", ID: "inspect-verification", Tag: resource.TagAccount, Open: true,
		Audit:       rest.NotAudited,
		Summary:     "Describe the account behind a verification link",
		Description: "The token stays valid.",
	}, func(ctx context.Context, in *struct{ Body tokenBody }) (*rest.Answer[inspectedView], error) {
		info, err := v.store.VerificationInfo(ctx, hashToken(in.Body.Token))
		if err != nil {
			return nil, err
		}
		return rest.NewAnswer(showInspected(info)), nil
	})
	v.registerEmailChange(r)
	rest.Register(r, rest.Operation{
		Method:  http.MethodPost,
		Path:    "/v1/auth/resend-verification",
		ID:      "resend-verification",
		Tag:     resource.TagAccount,
		Scope:   account.ScopeAdmin,
		Own:     true,
		Audit:   "account.resend_verification",
		Summary: "Resend the verification link",
	}, v.resend)
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: "/v1/auth/recover", ID: "recover-access", Tag: resource.TagAccount, Open: true, Audit: rest.NotAudited,
		Summary: "Send a recovery link",
		Description: "The answer is the same whether or not an account has the address. Using the link ends every API key, session, " +
			"password and pending link that the account had.",
	}, v.recoverAccess)
	rest.Register(r, rest.Operation{
		Method:  http.MethodPut,
		Path:    "/v1/auth/password",
		ID:      "change-password",
		Tag:     resource.TagAccount,
		Scope:   account.ScopeAdmin,
		Own:     true,
		Audit:   "account.password_change",
		Summary: "Change the password",
		Description: "Ends every session and returns a new token. API keys are not affected. The owner is mailed. " +
			"An account without a password gets its first one from a recovery link.",
	}, v.changePassword)
}

func (v *verifications) verify(ctx context.Context, in *struct{ Body verifyBody }) (*rest.Answer[verifiedView], error) {
	user, err := v.use(ctx, in.Body.Token, in.Body.EndCredentials)
	if err != nil {
		return nil, err
	}
	message := "The email address is confirmed."
	if in.Body.EndCredentials {
		message = endedMessage
	}
	return rest.NewAnswer(verifiedView{Message: message, User: showUser(user)}), nil
}

const endedMessage = "The email address is confirmed. Every API key, session and password of the account has ended; " +
	"a link to sign in was sent to the address."

// use makes a mailed address the user's, and notifies the address that it replaces. With
// end it ends the access that the account had before, and mails a link to sign in.
func (v *verifications) use(ctx context.Context, token string, end bool) (account.User, error) {
	user, previous, err := v.store.VerifyEmail(ctx, hashToken(token), end)
	if err != nil {
		return account.User{}, err
	}
	v.auth.forgetUser(user.ID)
	if !strings.EqualFold(previous, user.Email) {
		v.mail.sendReplaced(ctx, previous)
	}
	if end {
		v.tasks.Start(ctx, "mail a sign-in link after a verification", func(ctx context.Context) error {
			return v.mail.recover(ctx, user.Email, "You ended the access of the person who made this account.")
		})
	}
	return user, nil
}

func (v *verifications) resend(ctx context.Context, _ *struct{}) (*rest.Answer[pendingView], error) {
	user, err := v.store.User(ctx, rest.CallerOf(ctx).User.ID)
	if err != nil {
		return nil, err
	}
	if user.EmailVerified {
		return rest.NewAnswer(pendingView{Message: "The email address is confirmed already; nothing was sent."}), nil
	}
	email, err := v.store.PendingEmail(ctx, user.ID)
	if err != nil {
		return nil, err
	}
	if email == "" {
		email = user.Email
	}
	if err := v.mail.admit(ctx, account.LinkQuotas(user.ID, email)); err != nil {
		return nil, err
	}
	if err := v.mail.sendVerification(ctx, user, email); err != nil {
		return nil, err
	}
	return rest.NewAnswer(pendingView{Message: sentToNew, PendingEmail: &email}), nil
}

// recoverAccess answers at once and the same in every case; whether there is an
// account shows in nothing but the mail.
func (v *verifications) recoverAccess(ctx context.Context, in *struct{ Body recoverBody }) (*rest.Answer[messageView], error) {
	email, err := rest.CleanEmail("email", in.Body.Email)
	if err != nil {
		return nil, err
	}
	v.tasks.Start(ctx, "recover access", func(ctx context.Context) error {
		return v.mail.recover(ctx, email, "Someone, probably you, asked for access.")
	})
	return rest.NewAnswer(messageView{Message: "If an account has this address, a link to sign in is on its way there."}), nil
}

func (v *verifications) changePassword(ctx context.Context, in *struct{ Body passwordBody }) (*rest.Answer[authView], error) {
	user, err := v.store.User(ctx, rest.CallerOf(ctx).User.ID)
	if err != nil {
		return nil, err
	}
	if user.PasswordHash == "" {
		return nil, vigil.Errorf(vigil.CodeForbidden,
			"The account has no password, and an API key alone cannot set one. POST /v1/auth/recover mails a link that can.")
	}
	ok, err := v.logins.try(ctx, user.Email, user, in.Body.CurrentPassword)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, vigil.Invalid("current_password", "is not the account's password")
	}
	hash, err := v.passwords.hash(ctx, in.Body.NewPassword)
	if err != nil {
		return nil, err
	}
	if user, err = v.store.SetPassword(ctx, user.ID, user.PasswordHash, hash); err != nil {
		return nil, err
	}
	v.auth.forgetUser(user.ID)
	v.mail.passwordChanged(ctx, user)
	org, err := v.store.Organization(ctx, user.OrgID)
	if err != nil {
		return nil, err
	}
	return v.auth.session(user, org)
}
