// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/mail"
	"github.com/vigil-monitor/vigil/internal/timing"
)

// Mailer sends mail to people.
type Mailer interface {
	Send(ctx context.Context, message mail.Message) error
	// Sends reports whether mail reaches people, as opposed to a directory.
	Sends() bool
}

// Attempts to send a mail. A lost one can be requested again.
const (
	MailDeadline = time.Minute
	mailTries    = 3
	mailPause    = 5 * time.Second
)

// tokenStore keeps the tokens of mailed links, and counts mails.
type tokenStore interface {
	UserByEmail(ctx context.Context, email string) (account.User, error)
	User(ctx context.Context, id uuid.UUID) (account.User, error)
	Organization(ctx context.Context, id uuid.UUID) (account.Organization, error)
	ReplaceToken(ctx context.Context, token account.Token) error
	// TakeMail counts a mail, or returns how long a quota is used up.
	TakeMail(ctx context.Context, quotas ...account.MailQuota) (wait time.Duration, err error)
	RecordAudit(ctx context.Context) error
}

// accountMail sends the mails of accounts.
type accountMail struct {
	store     tokenStore
	mailer    Mailer // nil sends none
	tasks     *resource.Tasks
	publicURL string
	now       func() time.Time
}

// leaves reports whether mail leaves the machine, so that it reaches only the owner of an
// address.
func (m *accountMail) leaves() bool { return m.mailer != nil && m.mailer.Sends() }

// send mails in the background.
func (m *accountMail) send(ctx context.Context, what string, message mail.Message) {
	if m.mailer == nil {
		return
	}
	m.tasks.Start(ctx, what, func(ctx context.Context) error { return m.deliver(ctx, message) })
}

// deliver sends a mail, and tries again unless the server refused it for good.
func (m *accountMail) deliver(ctx context.Context, message mail.Message) error {
	var err error
	for try := range mailTries {
		if try > 0 && timing.Sleep(ctx, mailPause) != nil {
			break
		}
		if err = m.mailer.Send(ctx, message); err == nil {
			return nil
		}
		if failed, ok := errors.AsType[*mail.Error](err); ok && failed.Status >= 500 {
			break // refused permanently
		}
	}
	return err
}

// admit counts a mail that a request causes; CodeRateLimited when a quota is used up.
func (m *accountMail) admit(ctx context.Context, quotas []account.MailQuota) error {
	wait, err := m.store.TakeMail(ctx, quotas...)
	if err == nil && wait > 0 {
		return rest.ErrTooMany("This account or this address was sent many mails", rest.CeilSeconds(wait))
	}
	return err
}

// notice mails an account what happened to it, unless it got too many notices.
func (m *accountMail) notice(ctx context.Context, user account.User, message mail.Message) {
	if m.mailer == nil {
		return
	}
	message.To = []string{user.Email}
	m.tasks.Start(ctx, "send a notice", func(ctx context.Context) error {
		wait, err := m.store.TakeMail(ctx, account.NoticeQuotas(user.ID)...)
		if err != nil || wait > 0 {
			rest.RequestOf(ctx).Log().LogAttrs(ctx, slog.LevelWarn, "notice to an account not sent",
				slog.String("user", user.ID.String()), slog.Duration("quota_ends_in", wait))
			return err
		}
		return m.deliver(ctx, message)
	})
}

// newToken makes the token of a link and its stored part.
func (m *accountMail) newToken(purpose account.TokenPurpose, user account.User, email string) (string, account.Token, error) {
	token, hash, err := newSecret()
	if err != nil {
		return "", account.Token{}, err
	}
	return token, account.Token{
		Purpose: purpose, Hash: hash, UserID: user.ID, Email: email, Approved: true, ExpiresAt: m.now().Add(account.TokenLifetime),
	}, nil
}

// newSecret makes a token and its stored form.
func newSecret() (token string, hash []byte, err error) {
	var secret [32]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return "", nil, fmt.Errorf("make a token: %w", err)
	}
	token = base64.RawURLEncoding.EncodeToString(secret[:])
	return token, hashToken(token), nil
}

// hashToken returns the stored form of a token, which has 256 random bits.
func hashToken(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// welcome mails the first verification link of a new account. Without a free quota the
// account is made all the same, and its owner can request the link later.
func (m *accountMail) welcome(ctx context.Context, user account.User) error {
	if wait, err := m.store.TakeMail(ctx, account.SignupQuotas(user.Email)...); err != nil || wait > 0 {
		return err
	}
	return m.sendVerification(ctx, user, user.Email)
}

// sendVerification mails the link that proves an address.
func (m *accountMail) sendVerification(ctx context.Context, user account.User, email string) error {
	token, stored, err := m.newToken(account.TokenVerify, user, email)
	if err != nil {
		return err
	}
	if err := m.store.ReplaceToken(ctx, stored); err != nil {
		return err
	}
	m.mailVerification(ctx, user.ID, email, token)
	return nil
}

// mailVerification mails the link that makes an address that of a user. When another account
// has the address, its owner is mailed that instead: no answer of the API says so.
func (m *accountMail) mailVerification(ctx context.Context, userID uuid.UUID, email, token string) {
	if m.mailer == nil {
		return
	}
	m.tasks.Start(ctx, "send a verification", func(ctx context.Context) error {
		owner, err := m.store.UserByEmail(ctx, email)
		switch {
		case err == nil && owner.ID != userID:
			return m.deliver(ctx, taken(email))
		case err != nil && vigil.ErrorCode(err) != vigil.CodeNotFound:
			return err
		}
		return m.deliver(ctx, m.verification(email, token))
	})
}

// taken is the mail to an address that was asked for as that of another account.
func taken(email string) mail.Message {
	return mail.Message{
		To: []string{email}, Subject: "Your email address was given to another account",
		Text: "Someone asked to make this address that of another Vigil account. It is the address of your account already, " +
			"and an address has one account, so nothing changes.\n\n" +
			"If it was you, use another address, or change the address of this account first.\n",
	}
}

func (m *accountMail) verification(email, token string) mail.Message {
	return mail.Message{
		To: []string{email}, Subject: "Confirm your email address", Button: "Confirm the address",
		Text: "Someone, probably you, gave this address to a Vigil account. To confirm that it is yours, open\n\n" +
			m.publicURL + "/verify?token=" + token + "\n\n" +
			"and press a button there. The page shows when and from where the account was made. The link works once, for 24 hours.\n\n" +
			"If it was not you, do nothing: without the link nothing happens.\n",
	}
}

// mailChange mails the present address of an account that another one was requested, with
// a link that stops the change or, unless it is approved, allows it.
func (m *accountMail) mailChange(ctx context.Context, user account.User, newEmail, token string, approved bool) {
	what := "The change takes effect when a link that was mailed to the new address is used. To stop it, open"
	if !approved {
		what = "The address stays as it is until you allow the change. To allow it, or to stop it, open"
	}
	m.send(ctx, "send a notice of a requested address", mail.Message{
		To: []string{user.Email}, Subject: "Another email address was requested for your account", Button: "Decide about the change",
		Text: "Someone with access to your Vigil account asked to change its email address to\n\n    " + newEmail + "\n\n" + what + "\n\n" +
			m.publicURL + "/email-change?token=" + token + "\n\n" +
			"The link works for 24 hours.\n\n" +
			"If it was not you, someone has an API key or the password of your account: stop the change and recover access, " +
			"which ends every key and session.\n",
	})
}

// sendRecovery mails the link that gives back access.
func (m *accountMail) sendRecovery(ctx context.Context, user account.User, why string) error {
	token, stored, err := m.newToken(account.TokenRecover, user, user.Email)
	if err != nil {
		return err
	}
	if err := m.store.ReplaceToken(ctx, stored); err != nil {
		return err
	}
	m.send(ctx, "send a recovery", mail.Message{
		To: []string{user.Email}, Subject: "Your link to sign in", Button: "Make a new API key",
		Text: why + " To make a new API key for your Vigil account, and a new password if you like, open\n\n" +
			m.publicURL + "/recover?token=" + token + "\n\n" +
			"The link works once, for 24 hours. Using it ends every API key, session and password that the account has.\n\n" +
			"If it was not you, do nothing: without the link nothing happens.\n",
	})
	return nil
}

// sendReplaced mails an address that it no longer belongs to an account.
func (m *accountMail) sendReplaced(ctx context.Context, previous string) {
	m.send(ctx, "send a notice of a replaced address", mail.Message{
		To: []string{previous}, Subject: "Your account has another email address now",
		Text: "The Vigil account that had this address has another one from now on: its owner asked for the change, " +
			"and the link in a mail to the new address was used.\n\n" +
			"If it was not you, contact the operator of " + m.publicURL + ".\n",
	})
}

// mayInvite refuses an invitation by a user whose address is not confirmed, where mail
// leaves the machine: a stranger could let others into an account that was made with an
// address of somebody else, and use the platform to mail strangers.
func (m *accountMail) mayInvite(ctx context.Context, user account.User) error {
	if user.EmailVerified || !m.leaves() {
		return nil
	}
	user, err := m.store.User(ctx, user.ID)
	if err != nil || user.EmailVerified {
		return err
	}
	return vigil.Errorf(vigil.CodeForbidden,
		"Confirm your email address before you invite others. POST /v1/auth/resend-verification mails the link again.")
}

// keyCreated mails the owner of a new API key.
func (m *accountMail) keyCreated(ctx context.Context, owner account.User, key account.APIKey) {
	ends := "has no end"
	if key.ExpiresAt != nil {
		ends = "ends " + key.ExpiresAt.UTC().Format(time.RFC1123)
	}
	m.notice(ctx, owner, mail.Message{
		Subject: "A new API key for your account",
		Text: fmt.Sprintf("An API key was made for your Vigil account at %s, from the address %s.\n\n"+
			"    name: %s\n    begins with: %s\n    scopes: %v\n    it %s\n\n%s",
			key.CreatedAt.UTC().Format(time.RFC1123), rest.RequestOf(ctx).Address, vigil.WithoutLinks(key.Name), key.Prefix, key.Scopes, ends,
			m.notYou()),
	})
}

// passwordChanged mails the owner of an account whose password was set.
func (m *accountMail) passwordChanged(ctx context.Context, user account.User) {
	m.notice(ctx, user, mail.Message{
		Subject: "Your password was changed",
		Text: fmt.Sprintf("The password of your Vigil account was changed at %s, from the address %s. Every session has ended.\n\n%s",
			m.now().UTC().Format(time.RFC1123), rest.RequestOf(ctx).Address, m.notYou()),
	})
}

// recovered mails the owner of an account that a recovery link was used.
func (m *accountMail) recovered(ctx context.Context, user account.User, key account.NewKey, withPassword bool) {
	password := "The account has no password now."
	if withPassword {
		password = "The account has the password that was chosen there."
	}
	m.notice(ctx, user, mail.Message{
		Subject: "Your account was recovered",
		Text: fmt.Sprintf("A recovery link of your Vigil account was used at %s, from the address %s. It ended every API key, session and "+
			"password that the account had, and made an API key that begins with: %s\n\n%s\n\n%s",
			m.now().UTC().Format(time.RFC1123), rest.RequestOf(ctx).Address, key.Prefix, password, m.notYou()),
	})
}

func (m *accountMail) notYou() string {
	return "If it was not you, recover access at\n\n" + m.publicURL + "/app/recover\n\n" +
		"The link that it mails ends every key, session and password of the account.\n"
}

// recover mails a sign-in link to the owner of an address, if there is one and its quotas
// allow it, and notes the request in the audit log.
func (m *accountMail) recover(ctx context.Context, email, why string) error {
	user, err := m.store.UserByEmail(ctx, email)
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	if wait, err := m.store.TakeMail(ctx, account.LinkQuotas(user.ID, user.Email)...); err != nil || wait > 0 {
		return err
	}
	noted := m.store.RecordAudit(rest.AboutAccount(ctx, "account.recover_request", user))
	return errors.Join(noted, m.sendRecovery(ctx, user, why))
}
