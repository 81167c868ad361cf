// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"net/http"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
)

// emailChangeStore is what a change of an account's address needs of the database.
type emailChangeStore interface {
	RequestEmailChange(ctx context.Context, by account.Credential, tokens ...account.Token) error
	EmailChange(ctx context.Context, hash []byte) (account.EmailChange, error)
	// ApproveEmailChange stores the hash of the token that the new address gets.
	ApproveEmailChange(ctx context.Context, hash, verify []byte) (account.EmailChange, error)
	StopEmailChange(ctx context.Context, hash []byte) (account.EmailChange, error)
}

type emailBody struct {
	NewEmail string `json:"new_email" format:"email" maxLength:"254" example:"ada@example.org"`
	Password string `json:"password,omitempty" maxLength:"128" writeOnly:"true" doc:"The account's password. Without it, a confirmed address must allow the change by a link that is mailed to it."`
}

func (v *verifications) registerEmailChange(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method:  http.MethodPut,
		Path:    "/v1/auth/email",
		ID:      "change-email",
		Tag:     resource.TagAccount,
		Scope:   account.ScopeAdmin,
		Own:     true,
		Audit:   "account.email_change",
		Summary: "Change the email address",
		Description: "The address changes when the link that is mailed to it is used. Once the present address is confirmed, " +
			"the change needs `password`, or first a link that is mailed to the present address; that address is mailed in both cases, " +
			"with a link that stops the change. Where mail leaves the machine, the answer does not say whether another account has the " +
			"new address: the mail to it does.",
		Errors: []int{http.StatusTooManyRequests},
	}, v.changeEmail)
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: "/v1/auth/email/approve", ID: "approve-email-change", Tag: resource.TagAccount, Open: true,
		Audit:       actionApproveChange,
		Summary:     "Allow a change of the email address with the token that was mailed to the present one",
		Description: "The link that confirms the new address is mailed to it then. The token can stop the change until that link is used.",
	}, func(ctx context.Context, in *struct{ Body tokenBody }) (*rest.Answer[pendingView], error) {
		change, err := v.approveChange(ctx, in.Body.Token)
		if err != nil {
			return nil, err
		}
		return rest.NewAnswer(pendingView{Message: sentToNew, PendingEmail: &change.NewEmail}), nil
	})
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: "/v1/auth/email/stop", ID: "stop-email-change", Tag: resource.TagAccount, Open: true,
		Audit:   actionStopChange,
		Summary: "Stop a change of the email address with the token that was mailed to the present one",
	}, func(ctx context.Context, in *struct{ Body tokenBody }) (*rest.Answer[pendingView], error) {
		if _, err := v.store.StopEmailChange(ctx, hashToken(in.Body.Token)); err != nil {
			return nil, err
		}
		return rest.NewAnswer(pendingView{Message: "The email address stays as it is."}), nil
	})
}

// Messages of pendingView.
const (
	sentToNew     = "A link to confirm the address was sent to it."
	sentToPresent = "A link to allow the change was sent to the account's present address; the new address gets its own link afterwards."
)

func (v *verifications) changeEmail(ctx context.Context, in *struct{ Body emailBody }) (*rest.Answer[pendingView], error) {
	email, err := rest.CleanAccountEmail("new_email", in.Body.NewEmail)
	if err != nil {
		return nil, err
	}
	user, err := v.store.User(ctx, rest.CallerOf(ctx).User.ID)
	if err != nil {
		return nil, err
	}
	if email == user.Email && user.EmailVerified {
		return nil, vigil.Invalid("new_email", "is the account's address already")
	}
	if err := v.requireFree(ctx, user, email); err != nil {
		return nil, err
	}
	if user.EmailVerified && in.Body.Password != "" {
		ok, err := v.logins.try(ctx, user.Email, user, in.Body.Password)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, vigil.Invalid("password", "is not the account's password")
		}
	}
	return v.requestChange(ctx, user, email, in.Body.Password != "")
}

// requireFree refuses an address of another account where mail does not leave the machine.
// Elsewhere the mail to the address says so, and the answer does not.
func (v *verifications) requireFree(ctx context.Context, user account.User, email string) error {
	if v.mail.leaves() {
		return nil
	}
	owner, err := v.store.UserByEmail(ctx, email)
	switch {
	case err == nil && owner.ID != user.ID:
		return vigil.Invalid("new_email", "already has an account")
	case err != nil && vigil.ErrorCode(err) != vigil.CodeNotFound:
		return err
	}
	return nil
}

// requestChange mails the links of a change. A confirmed address takes part in it: it can
// stop the change, and must allow it unless the request proved the password.
func (v *verifications) requestChange(
	ctx context.Context,
	user account.User,
	email string,
	proved bool,
) (*rest.Answer[pendingView], error) {
	recipient := email
	if user.EmailVerified && !proved {
		recipient = user.Email
	}
	if err := v.mail.admit(ctx, account.LinkQuotas(user.ID, recipient)); err != nil {
		return nil, err
	}
	confirm, verify, err := v.mail.newToken(account.TokenVerify, user, email)
	if err != nil {
		return nil, err
	}
	stop, change, err := v.mail.newToken(account.TokenChange, user, user.Email)
	if err != nil {
		return nil, err
	}
	change.NewEmail, change.Approved = email, proved
	var tokens []account.Token
	if user.EmailVerified {
		tokens = append(tokens, change)
	}
	if proved || !user.EmailVerified {
		tokens = append(tokens, verify)
	}
	if err := v.store.RequestEmailChange(ctx, rest.CallerOf(ctx).Credential(), tokens...); err != nil {
		return nil, err
	}
	if user.EmailVerified {
		v.mail.mailChange(ctx, user, email, stop, proved)
	}
	if user.EmailVerified && !proved {
		return rest.NewAnswer(pendingView{Message: sentToPresent, PendingEmail: &email}), nil
	}
	v.mail.mailVerification(ctx, user.ID, email, confirm)
	return rest.NewAnswer(pendingView{Message: sentToNew, PendingEmail: &email}), nil
}

// approveChange lets the new address of a requested change be confirmed.
func (v *verifications) approveChange(ctx context.Context, token string) (account.EmailChange, error) {
	hash := hashToken(token)
	change, err := v.store.EmailChange(ctx, hash)
	if err != nil {
		return change, err
	}
	if err := v.mail.admit(ctx, account.LinkQuotas(change.User.ID, change.NewEmail)); err != nil {
		return change, err
	}
	confirm, verify, err := v.mail.newToken(account.TokenVerify, change.User, change.NewEmail)
	if err != nil {
		return change, err
	}
	if change, err = v.store.ApproveEmailChange(ctx, hash, verify.Hash); err != nil {
		return change, err
	}
	v.mail.mailVerification(ctx, change.User.ID, change.NewEmail, confirm)
	return change, nil
}
