// SPDX-License-Identifier: Apache-2.0

package accounts

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
	"github.com/vigil-monitor/vigil/storage/pg"
)

// askAgain is how long after a confirmation link a recipient may be sent another one.
const askAgain = 24 * time.Hour

// RecipientRow is a recipient of mail as Postgres stores it.
type RecipientRow struct {
	bun.BaseModel `bun:"table:mail_recipients,alias:m"`

	OrgID            uuid.UUID  `bun:"org_id,pk,type:uuid"`
	Address          string     `bun:"address,pk"`
	UnsubscribeToken string     `bun:"unsubscribe_token"`
	ConfirmedAt      *time.Time `bun:"confirmed_at"`
	UnsubscribedAt   *time.Time `bun:"unsubscribed_at"`
	Member           bool       `bun:"member,scanonly"`
}

// isMember is the SQL of the column Member of a RecipientRow.
const isMember = "EXISTS (SELECT FROM users AS u WHERE u.org_id = m.org_id AND u.email_verified AND lower(u.email) = m.address) AS member"

// Recipient returns the recipient of a row.
func (r *RecipientRow) Recipient() account.MailRecipient {
	return account.MailRecipient{
		Address: r.Address, ConfirmedAt: r.ConfirmedAt, UnsubscribedAt: r.UnsubscribedAt, Member: r.Member, UnsubscribeToken: r.UnsubscribeToken,
	}
}

// LowerCase returns the addresses in lower case, sorted, each once.
func LowerCase(addresses []string) []string {
	lower := make([]string, len(addresses))
	for i, address := range addresses {
		lower[i] = strings.ToLower(address)
	}
	slices.Sort(lower)
	return slices.Compact(lower)
}

// Spelling returns the spelling of each address by its lower case, the first one of several: what
// is sent to an address keeps its case, since that of the part before the @ may matter to its server.
func Spelling(addresses []string) map[string]string {
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
	var rows []RecipientRow
	wanted := pgdialect.Array(LowerCase(addresses))
	err := s.db.NewSelect().Model(&rows).ColumnExpr("m.*").ColumnExpr(isMember).
		Where("m.org_id = ? AND m.address = ANY(?)", orgID, wanted).Scan(ctx)
	if err != nil {
		return nil, pg.Wrap("read recipients", err)
	}
	var members []string
	err = s.db.NewRaw("SELECT lower(email) FROM users WHERE org_id = ? AND email_verified AND lower(email) = ANY(?)", orgID, wanted).
		Scan(ctx, &members)
	if err != nil {
		return nil, pg.Wrap("read the members among recipients", err)
	}
	known := make(map[string]account.MailRecipient, len(rows))
	for _, address := range members {
		known[address] = account.MailRecipient{Address: address, Member: true}
	}
	for i := range rows {
		known[rows[i].Address] = rows[i].Recipient()
	}
	return known, nil
}

// EnsureRecipients reads the recipients of lower-case, sorted addresses, and stores those
// that are missing.
func (s *Store) EnsureRecipients(ctx context.Context, tx bun.Tx, orgID uuid.UUID, addresses []string) ([]RecipientRow, error) {
	var rows []RecipientRow
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
	return rows, pg.Wrap("read recipients", read())
}

// AskRecipients returns the confirmation links to mail now to recipients of an
// organization: one to each that has neither agreed nor unsubscribed, is no member, was not
// asked within a day, and whose quotas allow it.
func (s *Store) AskRecipients(ctx context.Context, orgID uuid.UUID, addresses []string) ([]account.Confirmation, error) {
	var links []account.Confirmation
	spelled := Spelling(addresses)
	for _, address := range LowerCase(addresses) {
		link, err := s.askRecipient(ctx, orgID, address)
		if err != nil {
			return links, pg.Wrap("ask a recipient", err)
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
	now := s.db.Instant()
	link := &account.Confirmation{Address: address, Token: token}
	err = s.db.Transact(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		rows, err := s.EnsureRecipients(ctx, tx, orgID, []string{address})
		if err != nil {
			return err
		}
		if len(rows) > 0 && rows[0].Member {
			return errNotAsked
		}
		err = tx.NewRaw(`UPDATE mail_recipients AS m SET confirm_hash = ?hash, confirm_expires_at = ?expires, asked_at = ?now
			FROM organizations AS o
			WHERE o.id = m.org_id AND m.org_id = ?org AND m.address = ?address AND m.confirmed_at IS NULL AND m.unsubscribed_at IS NULL
				AND (m.asked_at IS NULL OR m.asked_at <= ?asked)
			RETURNING o.name`,
			pg.Named{
				"hash": hash[:], "expires": now.Add(account.ConfirmationLifetime), "now": now, "org": orgID, "address": address,
				"asked": now.Add(-askAgain),
			}).Scan(ctx, &link.Organization)
		if err != nil {
			return err
		}
		wait, err := s.TakeMailIn(ctx, tx, account.ConfirmationQuotas(orgID, address))
		if err == nil && wait > 0 {
			return ErrQuota
		}
		return err
	})
	if pg.IsNoRow(err) || errors.Is(err, ErrQuota) || errors.Is(err, errNotAsked) {
		return nil, nil //nolint:nilnil // no link is to be mailed
	}
	return link, err
}

// AskAgain lets a recipient be asked again at once, after its link could not be mailed.
func (s *Store) AskAgain(ctx context.Context, orgID uuid.UUID, address string) error {
	_, err := s.db.NewRaw("UPDATE mail_recipients SET asked_at = NULL WHERE org_id = ? AND address = ?", orgID, strings.ToLower(address)).
		Exec(ctx)
	return pg.Wrap("ask a recipient again", err)
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
		RecipientRow
		Name string `bun:"name"`
	}
	err := s.db.NewRaw(`SELECT m.*, o.name FROM mail_recipients AS m JOIN organizations AS o ON o.id = m.org_id WHERE `+ofToken,
		tokenArgs(token, s.db.Instant())...).Scan(ctx, &row)
	if pg.IsNoRow(err) {
		return account.MailRecipient{}, "", errInvalidLink()
	}
	return row.Recipient(), row.Name, pg.Wrap("read a recipient", err)
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
		confirmed_at = CASE WHEN m.unsubscribe_token = ? THEN m.confirmed_at ELSE coalesce(m.confirmed_at, ?) END`, token, s.db.Instant())
}

// Unsubscribe stores that a recipient refuses the mail of an organization.
func (s *Store) Unsubscribe(ctx context.Context, token string) error {
	return s.updateRecipient(ctx, token, "unsubscribed_at = coalesce(m.unsubscribed_at, ?)", s.db.Instant())
}

func (s *Store) updateRecipient(ctx context.Context, token, set string, args ...any) error {
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		var orgID uuid.UUID
		err := tx.NewRaw("UPDATE mail_recipients AS m SET "+set+" WHERE "+ofToken+" RETURNING m.org_id",
			append(args, tokenArgs(token, s.db.Instant())...)...).Scan(ctx, &orgID)
		if pg.IsNoRow(err) {
			return errInvalidLink()
		}
		if entry := audit.FromContext(ctx); entry != nil {
			entry.OrgID = orgID
		}
		return err
	})
	return pg.Wrap("store the answer of a recipient", err)
}
