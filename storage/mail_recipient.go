// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/audit"
)

// askAgain is how long after a confirmation link a recipient may be sent another one.
const askAgain = 24 * time.Hour

type recipientRow struct {
	bun.BaseModel `bun:"table:mail_recipients,alias:m"`

	OrgID            uuid.UUID  `bun:"org_id,pk,type:uuid"`
	Address          string     `bun:"address,pk"`
	UnsubscribeToken string     `bun:"unsubscribe_token"`
	ConfirmedAt      *time.Time `bun:"confirmed_at"`
	UnsubscribedAt   *time.Time `bun:"unsubscribed_at"`
	Member           bool       `bun:"member,scanonly"`
}

// isMember is the SQL of the column Member of a recipientRow.
const isMember = "EXISTS (SELECT FROM users AS u WHERE u.org_id = m.org_id AND u.email_verified AND lower(u.email) = m.address) AS member"

func (r *recipientRow) recipient() account.MailRecipient {
	return account.MailRecipient{
		Address: r.Address, ConfirmedAt: r.ConfirmedAt, UnsubscribedAt: r.UnsubscribedAt, Member: r.Member, UnsubscribeToken: r.UnsubscribeToken,
	}
}

// lowerCase returns the addresses in lower case, sorted, each once.
func lowerCase(addresses []string) []string {
	lower := make([]string, len(addresses))
	for i, address := range addresses {
		lower[i] = strings.ToLower(address)
	}
	slices.Sort(lower)
	return slices.Compact(lower)
}

// spelling returns the spelling of each address by its lower case, the first one of several: what
// is sent to an address keeps its case, since that of the part before the @ may matter to its server.
func spelling(addresses []string) map[string]string {
	spelled := make(map[string]string, len(addresses))
	for _, address := range addresses {
		if lower := strings.ToLower(address); spelled[lower] == "" {
			spelled[lower] = address
		}
	}
	return spelled
}

// MailRecipients returns what is known of an organization's recipients, by their addresses
// in lower case. One that was never asked nor mailed, and is of no member, is missing.
func (s *Store) MailRecipients(ctx context.Context, orgID uuid.UUID, addresses []string) (map[string]account.MailRecipient, error) {
	var rows []recipientRow
	wanted := pgdialect.Array(lowerCase(addresses))
	err := s.db.NewSelect().Model(&rows).ColumnExpr("m.*").ColumnExpr(isMember).
		Where("m.org_id = ? AND m.address = ANY(?)", orgID, wanted).Scan(ctx)
	if err != nil {
		return nil, wrap("read recipients", err)
	}
	var members []string
	err = s.db.NewRaw("SELECT lower(email) FROM users WHERE org_id = ? AND email_verified AND lower(email) = ANY(?)", orgID, wanted).
		Scan(ctx, &members)
	if err != nil {
		return nil, wrap("read the members among recipients", err)
	}
	known := make(map[string]account.MailRecipient, len(rows))
	for _, address := range members {
		known[address] = account.MailRecipient{Address: address, Member: true}
	}
	for i := range rows {
		known[rows[i].Address] = rows[i].recipient()
	}
	return known, nil
}

// ensureRecipients reads the recipients of lower-case, sorted addresses, and stores those
// that are missing.
func (s *Store) ensureRecipients(ctx context.Context, tx bun.Tx, orgID uuid.UUID, addresses []string) ([]recipientRow, error) {
	var rows []recipientRow
	read := func() error {
		rows = nil
		return tx.NewSelect().Model(&rows).ColumnExpr("m.*").ColumnExpr(isMember).
			Where("m.org_id = ? AND m.address = ANY(?)", orgID, pgdialect.Array(addresses)).
			OrderExpr("m.address").Scan(ctx)
	}
	if err := read(); err != nil {
		return nil, fmt.Errorf("read recipients: %w", err)
	}
	if len(rows) == len(addresses) {
		return rows, nil
	}
	for _, address := range addresses {
		token, err := newMailToken()
		if err != nil {
			return nil, err
		}
		_, err = tx.NewRaw("INSERT INTO mail_recipients (org_id, address, unsubscribe_token) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
			orgID, address, token).Exec(ctx)
		if err != nil {
			return nil, fmt.Errorf("store a recipient: %w", err)
		}
	}
	return rows, wrap("read recipients", read())
}

// AskRecipients returns the confirmation links to mail now to recipients of an
// organization: one to each that has neither agreed nor unsubscribed, is no member, was not
// asked within a day, and whose quotas allow it.
func (s *Store) AskRecipients(ctx context.Context, orgID uuid.UUID, addresses []string) ([]account.Confirmation, error) {
	var links []account.Confirmation
	spelled := spelling(addresses)
	for _, address := range lowerCase(addresses) {
		link, err := s.askRecipient(ctx, orgID, address)
		if err != nil {
			return links, wrap("ask a recipient", err)
		}
		if link != nil {
			link.Address = spelled[address]
			links = append(links, *link)
		}
	}
	return links, nil
}

// errNotAsked ends a transaction about a recipient that need not agree.
var errNotAsked = errors.New("the recipient need not agree")

func (s *Store) askRecipient(ctx context.Context, orgID uuid.UUID, address string) (*account.Confirmation, error) {
	token, err := newMailToken()
	if err != nil {
		return nil, err
	}
	hash := sha256.Sum256([]byte(token))
	now := s.instant()
	link := &account.Confirmation{Address: address, Token: token}
	err = s.transact(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		rows, err := s.ensureRecipients(ctx, tx, orgID, []string{address})
		if err != nil {
			return err
		}
		if len(rows) > 0 && rows[0].Member {
			return errNotAsked
		}
		err = tx.NewRaw(`UPDATE mail_recipients AS m SET confirm_hash = ?, confirm_expires_at = ?, asked_at = ? FROM organizations AS o
			WHERE o.id = m.org_id AND m.org_id = ? AND m.address = ? AND m.confirmed_at IS NULL AND m.unsubscribed_at IS NULL
				AND (m.asked_at IS NULL OR m.asked_at <= ?)
			RETURNING o.name`,
			hash[:], now.Add(account.ConfirmationLifetime), now, orgID, address, now.Add(-askAgain)).Scan(ctx, &link.Organization)
		if err != nil {
			return err
		}
		wait, err := s.takeMail(ctx, tx, account.ConfirmationQuotas(orgID, address))
		if err == nil && wait > 0 {
			return errQuota
		}
		return err
	})
	if isNoRow(err) || errors.Is(err, errQuota) || errors.Is(err, errNotAsked) {
		return nil, nil //nolint:nilnil // no link is to be mailed
	}
	return link, err
}

// AskAgain lets a recipient be asked again at once, after its link could not be mailed.
func (s *Store) AskAgain(ctx context.Context, orgID uuid.UUID, address string) error {
	_, err := s.db.NewRaw("UPDATE mail_recipients SET asked_at = NULL WHERE org_id = ? AND address = ?", orgID, strings.ToLower(address)).
		Exec(ctx)
	return wrap("ask a recipient again", err)
}

// newMailToken returns 32 random bytes for a link.
func newMailToken() (string, error) {
	var secret [32]byte
	if _, err := rand.Read(secret[:]); err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(secret[:]), nil
}

// RecipientByToken finds the recipient of a mailed link: that of a confirmation by the
// hash of its token, else that of an unsubscribe link by its token. It returns the
// recipient with the organization's name. An unknown or expired token is a CodeInvalid
// error.
func (s *Store) RecipientByToken(ctx context.Context, token string) (account.MailRecipient, string, error) {
	var row struct {
		recipientRow
		Name string `bun:"name"`
	}
	err := s.db.NewRaw(`SELECT m.*, o.name FROM mail_recipients AS m JOIN organizations AS o ON o.id = m.org_id WHERE `+ofToken,
		tokenArgs(token, s.instant())...).Scan(ctx, &row)
	if isNoRow(err) {
		return account.MailRecipient{}, "", errInvalidLink()
	}
	return row.recipient(), row.Name, wrap("read a recipient", err)
}

// ofToken is the SQL condition of the recipient of a link; tokenArgs are its arguments.
const ofToken = "(m.confirm_hash = ? AND m.confirm_expires_at > ? OR m.unsubscribe_token = ?)" //nolint:gosec // SQL, no secret

func tokenArgs(token string, now time.Time) []any {
	hash := sha256.Sum256([]byte(token))
	return []any{hash[:], now, token}
}

func errInvalidLink() error {
	return vigil.Invalid("token", "is not valid: the link is incomplete or too old")
}

// ConfirmRecipient stores that a recipient agrees to the mail of an organization; its link
// may be used again. An unsubscribe link confirms nothing, but ends an unsubscription.
func (s *Store) ConfirmRecipient(ctx context.Context, token string) error {
	return s.updateRecipient(ctx, token, `unsubscribed_at = NULL,
		confirmed_at = CASE WHEN m.unsubscribe_token = ? THEN m.confirmed_at ELSE coalesce(m.confirmed_at, ?) END`, token, s.instant())
}

// Unsubscribe stores that a recipient refuses the mail of an organization.
func (s *Store) Unsubscribe(ctx context.Context, token string) error {
	return s.updateRecipient(ctx, token, "unsubscribed_at = coalesce(m.unsubscribed_at, ?)", s.instant())
}

func (s *Store) updateRecipient(ctx context.Context, token, set string, args ...any) error {
	err := s.inTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		var orgID uuid.UUID
		err := tx.NewRaw("UPDATE mail_recipients AS m SET "+set+" WHERE "+ofToken+" RETURNING m.org_id",
			append(args, tokenArgs(token, s.instant())...)...).Scan(ctx, &orgID)
		if isNoRow(err) {
			return errInvalidLink()
		}
		if entry := audit.FromContext(ctx); entry != nil {
			entry.OrgID = orgID
		}
		return err
	})
	return wrap("store the answer of a recipient", err)
}
