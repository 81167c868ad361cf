package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"vigil"
	"vigil/api/rest"
)

// verificationStore is what confirming an address, and changing an address or a
// password, need of the database.
type verificationStore interface {
	UserByEmail(ctx context.Context, email string) (vigil.User, error)
	User(ctx context.Context, id uuid.UUID) (vigil.User, error)
	Organization(ctx context.Context, id uuid.UUID) (vigil.Organization, error)
	PendingEmail(ctx context.Context, userID uuid.UUID) (string, error)
	VerifyEmail(ctx context.Context, hash []byte) (user vigil.User, previous string, err error)
	SetPassword(ctx context.Context, userID uuid.UUID, hash string) (vigil.User, error)
}

type verifications struct {
	store     verificationStore
	auth      *authenticator
	passwords *passwords
	logins    logins
	mail      *accountMail
	tasks     *tasks
}

type verifyBody struct {
	Token string `json:"token" minLength:"1" maxLength:"200" doc:"The token of the mailed link."`
}

type verifiedView struct {
	Message string   `json:"message" example:"The email address is confirmed."`
	User    userView `json:"user"`
}

type emailBody struct {
	NewEmail string `json:"new_email" format:"email" maxLength:"254" example:"ada@example.org"`
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
	CurrentPassword string `json:"current_password,omitempty" maxLength:"128" writeOnly:"true" doc:"Needed when the account has a password."`
	NewPassword     string `json:"new_password" minLength:"8" maxLength:"128" writeOnly:"true"`
}

func (v *verifications) register(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: "/v1/auth/verify", ID: "verify-email", Tag: tagAccount, Open: true, Audit: "account.verify",
		Summary: "Confirm an email address with the token of a mailed link",
		Errors:  []int{http.StatusConflict},
	}, v.verify)
	rest.Register(r, rest.Operation{
		Method:      http.MethodPut,
		Path:        "/v1/auth/email",
		ID:          "change-email",
		Tag:         tagAccount,
		Scope:       vigil.ScopeAdmin,
		Audit:       "account.email_change",
		Summary:     "Change the email address",
		Description: "The address changes when the link that is mailed to it is used; the old address is notified.",
	}, v.changeEmail)
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: "/v1/auth/resend-verification", ID: "resend-verification", Tag: tagAccount, Scope: vigil.ScopeAdmin,
		Audit:   "account.resend_verification",
		Summary: "Resend the verification link",
	}, v.resend)
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: "/v1/auth/recover", ID: "recover-access", Tag: tagAccount, Open: true, Audit: rest.NotAudited,
		Summary:     "Send a recovery link",
		Description: "The answer is the same whether or not an account has the address.",
	}, v.recoverAccess)
	rest.Register(r, rest.Operation{
		Method:      http.MethodPut,
		Path:        "/v1/auth/password",
		ID:          "change-password",
		Tag:         tagAccount,
		Scope:       vigil.ScopeAdmin,
		Audit:       "account.password_change",
		Summary:     "Change the password, or set the first one",
		Description: "Ends every session and returns a new token. API keys are not affected.",
	}, v.changePassword)
}

func (v *verifications) verify(ctx context.Context, in *struct{ Body verifyBody }) (*rest.Answer[verifiedView], error) {
	user, err := v.use(ctx, in.Body.Token)
	if err != nil {
		return nil, err
	}
	return rest.NewAnswer(verifiedView{Message: "The email address is confirmed.", User: showUser(user)}), nil
}

// use makes a mailed address the user's, and notifies the address that it
// replaces.
func (v *verifications) use(ctx context.Context, token string) (vigil.User, error) {
	user, previous, err := v.store.VerifyEmail(ctx, hashToken(token))
	if err != nil {
		return vigil.User{}, err
	}
	v.auth.forgetUser(user.ID)
	if !strings.EqualFold(previous, user.Email) {
		v.mail.sendReplaced(ctx, previous)
	}
	return user, nil
}

func (v *verifications) changeEmail(ctx context.Context, in *struct{ Body emailBody }) (*rest.Answer[pendingView], error) {
	email, err := rest.CleanEmail("new_email", in.Body.NewEmail)
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
	switch owner, err := v.store.UserByEmail(ctx, email); {
	case err == nil && owner.ID != user.ID:
		return nil, vigil.Invalid("new_email", "already has an account")
	case err != nil && vigil.ErrorCode(err) != vigil.CodeNotFound:
		return nil, err
	}
	return v.sendPending(ctx, user, email)
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
	return v.sendPending(ctx, user, email)
}

// sendPending mails a link to an address that is to be confirmed.
func (v *verifications) sendPending(ctx context.Context, user vigil.User, email string) (*rest.Answer[pendingView], error) {
	if wait := v.mail.window.Count(user.ID.String()); wait > 0 {
		return nil, rest.ErrTooMany("This account asked for many mails", wait)
	}
	if err := v.mail.sendVerification(ctx, user, email); err != nil {
		return nil, err
	}
	return rest.NewAnswer(pendingView{Message: "A link to confirm the address was sent to it.", PendingEmail: &email}), nil
}

// recoverAccess answers at once and the same in every case; whether there is an
// account shows in nothing but the mail.
func (v *verifications) recoverAccess(ctx context.Context, in *struct{ Body recoverBody }) (*rest.Answer[messageView], error) {
	email, err := rest.CleanEmail("email", in.Body.Email)
	if err != nil {
		return nil, err
	}
	v.tasks.start(ctx, "recover access", func(ctx context.Context) error {
		return v.mail.recover(ctx, email, "Someone, probably you, asked for access.")
	})
	return rest.NewAnswer(messageView{Message: "If an account has this address, a link to sign in is on its way there."}), nil
}

func (v *verifications) changePassword(ctx context.Context, in *struct{ Body passwordBody }) (*rest.Answer[authView], error) {
	user, err := v.store.User(ctx, rest.CallerOf(ctx).User.ID)
	if err != nil {
		return nil, err
	}
	if user.PasswordHash != "" {
		ok, err := v.logins.try(ctx, user.Email, user, in.Body.CurrentPassword)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, vigil.Invalid("current_password", "is not the account's password")
		}
	}
	hash, err := v.passwords.hash(ctx, in.Body.NewPassword)
	if err != nil {
		return nil, err
	}
	if user, err = v.store.SetPassword(ctx, user.ID, hash); err != nil {
		return nil, err
	}
	v.auth.forgetUser(user.ID)
	org, err := v.store.Organization(ctx, user.OrgID)
	if err != nil {
		return nil, err
	}
	return v.auth.session(user, org)
}
