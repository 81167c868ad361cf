package api

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"vigil"
	"vigil/api/rest"
	"vigil/mail"
	"vigil/timing"
)

// mailer sends mail to people.
type mailer interface {
	Send(ctx context.Context, message mail.Message) error
	// Sends reports whether mail reaches people, as opposed to a directory.
	Sends() bool
}

// Attempts to send a mail. A lost one can be requested again.
const (
	mailDeadline = time.Minute
	mailTries    = 3
	mailPause    = 5 * time.Second
	// mailsPerHour bounds the mails that one account can cause.
	mailsPerHour = 10
)

// tokenStore keeps the tokens of mailed links.
type tokenStore interface {
	UserByEmail(ctx context.Context, email string) (vigil.User, error)
	ReplaceToken(ctx context.Context, token vigil.AccountToken) error
}

// accountMail sends the mails of accounts.
type accountMail struct {
	store     tokenStore
	mailer    mailer // nil sends none
	tasks     *tasks
	window    *rest.RateWindow // mails that an account causes
	publicURL string
	now       func() time.Time
}

// send mails in the background.
func (m *accountMail) send(ctx context.Context, what string, message mail.Message) {
	if m.mailer == nil {
		return
	}
	m.tasks.start(ctx, what, func(ctx context.Context) error {
		var err error
		for try := range mailTries {
			if try > 0 && timing.Sleep(ctx, mailPause) != nil {
				break
			}
			if err = m.mailer.Send(ctx, message); err == nil {
				return nil
			}
			if failed, ok := errors.AsType[*mail.Error](err); ok && failed.Status >= 500 {
				break // refused for good
			}
		}
		return err
	})
}

// mailToken creates a token for a link and stores its hash.
func (m *accountMail) mailToken(ctx context.Context, purpose vigil.TokenPurpose, user vigil.User, email string) (string, error) {
	var secret [32]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	token := base64.RawURLEncoding.EncodeToString(secret[:])
	return token, m.store.ReplaceToken(ctx, vigil.AccountToken{
		Purpose: purpose, Hash: hashToken(token), UserID: user.ID, Email: email, ExpiresAt: m.now().Add(vigil.TokenLifetime),
	})
}

// hashToken returns the stored form of a token, which has 256 random bits.
func hashToken(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// sendVerification mails the link that proves an address.
func (m *accountMail) sendVerification(ctx context.Context, user vigil.User, email string) error {
	token, err := m.mailToken(ctx, vigil.TokenVerify, user, email)
	if err != nil {
		return err
	}
	m.send(ctx, "send a verification", mail.Message{
		To: []string{email}, Subject: "Confirm your email address",
		Text: "Someone, probably you, gave this address to a Vigil account. To confirm that it is yours, open\n\n" +
			m.publicURL + "/verify?token=" + token + "\n\n" +
			"and press the button there. The link works once, for 24 hours.\n\n" +
			"If it was not you, do nothing: without the link nothing happens.\n",
	})
	return nil
}

// sendRecovery mails the link that gives back access.
func (m *accountMail) sendRecovery(ctx context.Context, user vigil.User, why string) error {
	token, err := m.mailToken(ctx, vigil.TokenRecover, user, user.Email)
	if err != nil {
		return err
	}
	m.send(ctx, "send a recovery", mail.Message{
		To: []string{user.Email}, Subject: "Your link to sign in",
		Text: why + " To make a new API key for your Vigil account, and a new password if you like, open\n\n" +
			m.publicURL + "/recover?token=" + token + "\n\n" +
			"The link works once, for 24 hours. Keys that you have keep working.\n\n" +
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

// recover mails a sign-in link to the owner of an address, if there is one and the mails of
// this hour are not used up.
func (m *accountMail) recover(ctx context.Context, email, why string) error {
	user, err := m.store.UserByEmail(ctx, email)
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	if m.window.Count(user.ID.String()) > 0 {
		return nil
	}
	return m.sendRecovery(ctx, user, why)
}
