package api

import (
	"context"
	"net/http"
	"strings"

	"vigil"
)

type verifyBody struct {
	Token string `json:"token" minLength:"1" maxLength:"200" doc:"What the link in the mail carries."`
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

func (s *Server) registerVerification() {
	register(s, operation{
		method: http.MethodPost, path: "/v1/auth/verify", id: "verify-email", tag: tagAccount, open: true, audit: "account.verify",
		summary: "Confirm an email address with the token of a mailed link",
		errors:  []int{http.StatusConflict},
	}, s.verify)
	register(s, operation{
		method: http.MethodPut, path: "/v1/auth/email", id: "change-email", tag: tagAccount, audit: "account.email_change",
		summary:     "Change the email address",
		description: "The address changes when the link that is mailed to it is used; the old address is told.",
	}, s.changeEmail)
	register(s, operation{
		method: http.MethodPost, path: "/v1/auth/resend-verification", id: "resend-verification", tag: tagAccount, audit: "account.resend_verification",
		summary: "Send a new link to confirm the email address",
	}, s.resend)
	register(s, operation{
		method: http.MethodPost, path: "/v1/auth/recover", id: "recover-access", tag: tagAccount, open: true, audit: notAudited,
		summary:     "Mail a link that gives back access",
		description: "The answer is the same whether or not an account has the address.",
	}, s.recoverAccess)
	register(s, operation{
		method: http.MethodPut, path: "/v1/auth/password", id: "change-password", tag: tagAccount, audit: "account.password_change",
		summary:     "Change the password, or set the first one",
		description: "Ends every session; the answer holds a fresh token. API keys are not affected.",
	}, s.changePassword)
}

func (s *Server) verify(ctx context.Context, in *struct{ Body verifyBody }) (*answerOf[verifiedView], error) {
	user, err := s.useVerification(ctx, in.Body.Token)
	if err != nil {
		return nil, err
	}
	return answering(verifiedView{Message: "The email address is confirmed.", User: showUser(user)}), nil
}

// useVerification makes a mailed address the user's. An address that it takes
// the place of is told.
func (s *Server) useVerification(ctx context.Context, token string) (vigil.User, error) {
	user, previous, err := s.Store.VerifyEmail(ctx, hashToken(token))
	if err != nil {
		return vigil.User{}, err
	}
	s.auth.forgetUser(user.ID)
	if !strings.EqualFold(previous, user.Email) {
		s.sendMoved(ctx, previous)
	}
	return user, nil
}

func (s *Server) changeEmail(ctx context.Context, in *struct{ Body emailBody }) (*answerOf[pendingView], error) {
	email, err := cleanEmail("new_email", in.Body.NewEmail)
	if err != nil {
		return nil, err
	}
	user, err := s.Store.User(ctx, caller(ctx).user.ID)
	if err != nil {
		return nil, err
	}
	if email == user.Email && user.EmailVerified {
		return nil, vigil.Invalid("new_email", "is the account's address already")
	}
	switch owner, err := s.Store.UserByEmail(ctx, email); {
	case err == nil && owner.ID != user.ID:
		return nil, vigil.Invalid("new_email", "already has an account")
	case err != nil && vigil.ErrorCode(err) != vigil.CodeNotFound:
		return nil, err
	}
	return s.sendPending(ctx, user, email)
}

func (s *Server) resend(ctx context.Context, _ *struct{}) (*answerOf[pendingView], error) {
	user, err := s.Store.User(ctx, caller(ctx).user.ID)
	if err != nil {
		return nil, err
	}
	if user.EmailVerified {
		return answering(pendingView{Message: "The email address is confirmed already; nothing was sent."}), nil
	}
	email, err := s.Store.PendingEmail(ctx, user.ID)
	if err != nil {
		return nil, err
	}
	if email == "" {
		email = user.Email
	}
	return s.sendPending(ctx, user, email)
}

// sendPending mails a link to an address that is to be confirmed.
func (s *Server) sendPending(ctx context.Context, user vigil.User, email string) (*answerOf[pendingView], error) {
	if wait := s.mailing.step(user.ID.String()); wait > 0 {
		return nil, errTooMany("This account asked for many mails", wait)
	}
	if err := s.sendVerification(ctx, user, email); err != nil {
		return nil, err
	}
	return answering(pendingView{Message: "A link to confirm the address was sent to it.", PendingEmail: &email}), nil
}

// recoverAccess answers at once and the same in every case; whether there is an
// account shows in nothing but the mail.
func (s *Server) recoverAccess(ctx context.Context, in *struct{ Body recoverBody }) (*answerOf[messageView], error) {
	email, err := cleanEmail("email", in.Body.Email)
	if err != nil {
		return nil, err
	}
	s.tasks.start(ctx, "recover access", func(ctx context.Context) error {
		return s.mailRecovery(ctx, email, "Somebody, probably you, asked for access.")
	})
	return answering(messageView{Message: "If an account has this address, a link to sign in is on its way there."}), nil
}

// mailRecovery mails the owner of an address, if there is one and the mails of
// this hour are not used up.
func (s *Server) mailRecovery(ctx context.Context, email, why string) error {
	user, err := s.Store.UserByEmail(ctx, email)
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	if s.mailing.step(user.ID.String()) > 0 {
		return nil
	}
	return s.sendRecovery(ctx, user, why)
}

func (s *Server) changePassword(ctx context.Context, in *struct{ Body passwordBody }) (*answerOf[authView], error) {
	user, err := s.Store.User(ctx, caller(ctx).user.ID)
	if err != nil {
		return nil, err
	}
	if user.PasswordHash != "" {
		ok, err := s.tryPassword(ctx, user.Email, user, in.Body.CurrentPassword)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, vigil.Invalid("current_password", "is not the account's password")
		}
	}
	hash, err := s.passwords.hash(ctx, in.Body.NewPassword)
	if err != nil {
		return nil, err
	}
	if user, err = s.Store.SetPassword(ctx, user.ID, hash); err != nil {
		return nil, err
	}
	s.auth.forgetUser(user.ID)
	org, err := s.Store.Organization(ctx, user.OrgID)
	if err != nil {
		return nil, err
	}
	return s.session(user, org)
}

// tryPassword compares a password, slower and slower after many failures for an
// address.
func (s *Server) tryPassword(ctx context.Context, email string, user vigil.User, password string) (bool, error) {
	wait, err := s.Store.BeginLogin(ctx, email)
	if err != nil {
		return false, err
	}
	if wait > 0 {
		return false, errTooMany("Too many failed attempts for this address", ceilSeconds(wait))
	}
	ok, err := s.passwords.matches(ctx, password, user.PasswordHash)
	if err != nil || !ok {
		return false, err
	}
	return true, s.Store.EndLogin(ctx, email)
}
