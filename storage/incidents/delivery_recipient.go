// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/pg"
)

type deliveryRecipientRow struct {
	bun.BaseModel `bun:"table:delivery_recipients,alias:r"`

	DeliveryID  uuid.UUID  `bun:"delivery_id,pk,type:uuid"`
	Address     string     `bun:"address,pk"`
	Spelling    string     `bun:"spelling"`
	Status      string     `bun:"status"`
	Counted     bool       `bun:"counted"`
	Attempts    int        `bun:"attempts"`
	StatusCode  int        `bun:"status_code"`
	ErrorCode   string     `bun:"error_code"`
	Error       string     `bun:"error"`
	AttemptedAt *time.Time `bun:"attempted_at"`
	DeliveredAt *time.Time `bun:"delivered_at"`
}

// deliveryRecipients reads what became of a delivery for each recipient.
func (s *Store) deliveryRecipients(ctx context.Context, deliveryID uuid.UUID) ([]vigil.DeliveryRecipient, error) {
	var rows []deliveryRecipientRow
	if err := s.db.NewSelect().Model(&rows).Where("r.delivery_id = ?", deliveryID).OrderExpr("r.address").Scan(ctx); err != nil {
		return nil, pg.Wrap("read the recipients of a delivery", err)
	}
	list := make([]vigil.DeliveryRecipient, len(rows))
	for i := range rows {
		r := &rows[i]
		list[i] = vigil.DeliveryRecipient{
			Address: r.Spelling, Status: vigil.MailStatus(r.Status), Attempts: r.Attempts, StatusCode: r.StatusCode,
			ErrorCode: r.ErrorCode, Error: r.Error, AttemptedAt: r.AttemptedAt, DeliveredAt: r.DeliveredAt,
		}
	}
	return list, nil
}

// mailPlan is a mail that is about to be sent.
type mailPlan struct {
	delivery uuid.UUID // uuid.Nil: a test, of which nothing is kept
	manual   bool
	spelled  map[string]string
	known    map[string]*deliveryRecipientRow
}

// AdmitMail decides which recipients get one mail of an organization now, and counts it in
// the quotas, for each recipient once. A recipient must have agreed, unless it is the confirmed address
// of a member; one that has unsubscribed gets none. One that has the mail of the delivery does not
// get it again, unless manual says that a user requested it and none is left without it;
// delivery is uuid.Nil for a test. With a quota used up nothing is counted, and Wait is set.
// CodeNotFound: the organization or the delivery was deleted.
func (s *Store) AdmitMail(
	ctx context.Context, orgID, delivery uuid.UUID, addresses []string, manual bool,
) (account.MailAdmission, error) {
	var admission account.MailAdmission
	err := s.db.Transact(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		admission = account.MailAdmission{}
		var org struct {
			Tier     string `bun:"tier"`
			Verified bool   `bun:"verified"`
		}
		err := tx.NewRaw("SELECT tier, "+accounts.HasVerifiedEmail+" AS verified FROM organizations WHERE id = ?", orgID, orgID).Scan(ctx, &org)
		if err != nil {
			return pg.Found("organization", err)
		}
		admission.Unverified = !org.Verified
		rows, err := s.accounts.EnsureRecipients(ctx, tx, orgID, accounts.LowerCase(addresses))
		if err != nil {
			return err
		}
		plan := &mailPlan{delivery: delivery, manual: manual, spelled: accounts.Spelling(addresses)}
		if err := plan.read(ctx, tx, orgID); err != nil {
			return err
		}
		var quotas []account.MailQuota
		for _, recipient := range plan.choose(rows, &admission) {
			admission.Recipients = append(admission.Recipients, recipient)
			known := plan.known[recipient.Address]
			if known == nil || !known.Counted || vigil.MailStatus(known.Status) == vigil.MailDelivered {
				quotas = append(quotas, account.AlertQuotas(orgID, account.Tier(org.Tier), org.Verified, recipient.Address)...)
			}
		}
		if admission.Wait, err = s.accounts.TakeMailIn(ctx, tx, quotas); err == nil && admission.Wait > 0 {
			return accounts.ErrQuota
		}
		if err != nil {
			return err
		}
		return plan.store(ctx, tx, rows, &admission)
	})
	if errors.Is(err, accounts.ErrQuota) {
		return admission, nil
	}
	return admission, pg.Wrap("admit a mail", err)
}

// read reads what became of the delivery so far.
func (p *mailPlan) read(ctx context.Context, tx bun.Tx, orgID uuid.UUID) error {
	if p.delivery == uuid.Nil {
		return nil
	}
	var id uuid.UUID
	if err := tx.NewRaw("SELECT id FROM deliveries WHERE id = ? AND org_id = ? FOR SHARE", p.delivery, orgID).Scan(ctx, &id); err != nil {
		return pg.Found("delivery", err)
	}
	var rows []deliveryRecipientRow
	if err := tx.NewSelect().Model(&rows).Where("r.delivery_id = ?", p.delivery).Scan(ctx); err != nil {
		return fmt.Errorf("read the recipients of the delivery: %w", err)
	}
	p.known = make(map[string]*deliveryRecipientRow, len(rows))
	for i := range rows {
		p.known[rows[i].Address] = &rows[i]
	}
	return nil
}

// choose returns who gets the mail now, with addresses in lower case.
func (p *mailPlan) choose(rows []accounts.RecipientRow, admission *account.MailAdmission) []account.MailRecipient {
	for _, known := range p.known {
		if vigil.MailStatus(known.Status) == vigil.MailDelivered {
			admission.Delivered++
		}
	}
	var open, refused, have []account.MailRecipient
	for i := range rows {
		recipient := rows[i].Recipient()
		switch recipient.Status() {
		case account.RecipientPending:
			admission.Pending = append(admission.Pending, p.spelled[recipient.Address])
			continue
		case account.RecipientUnsubscribed:
			continue
		case account.RecipientConfirmed, account.RecipientMember:
		}
		switch status := p.status(recipient.Address); status {
		case vigil.MailDelivered:
			have = append(have, recipient)
		case vigil.MailRefused:
			refused = append(refused, recipient)
		default:
			open = append(open, recipient)
		}
	}
	switch {
	case p.manual && len(open)+len(refused) > 0:
		return slices.Concat(open, refused)
	case p.manual:
		return have
	case len(open) == 0 && admission.Delivered == 0:
		return refused // the server may have changed its mind
	}
	return open
}

// status is what became of the mail for an address so far; one without a row waits.
func (p *mailPlan) status(address string) vigil.MailStatus {
	if known := p.known[address]; known != nil {
		return vigil.MailStatus(known.Status)
	}
	return vigil.MailPending
}

// store keeps who the mail is for, and why others do not get it.
func (p *mailPlan) store(ctx context.Context, tx bun.Tx, rows []accounts.RecipientRow, admission *account.MailAdmission) error {
	var kept []deliveryRecipientRow
	keep := func(address string, status vigil.MailStatus, counted bool) {
		kept = append(kept, deliveryRecipientRow{
			DeliveryID: p.delivery, Address: address, Spelling: p.spelled[address], Status: string(status), Counted: counted,
		})
	}
	chosen := make(map[string]bool, len(admission.Recipients))
	for i := range admission.Recipients {
		r := &admission.Recipients[i]
		chosen[r.Address] = true
		keep(r.Address, vigil.MailPending, true)
		r.Address = p.spelled[r.Address]
	}
	if p.delivery == uuid.Nil {
		return nil
	}
	present := make([]string, len(rows))
	for i := range rows {
		recipient := rows[i].Recipient()
		present[i] = recipient.Address
		switch status := recipient.Status(); {
		case chosen[recipient.Address]:
		case status == account.RecipientPending:
			keep(recipient.Address, vigil.MailUnconfirmed, false)
		case status == account.RecipientUnsubscribed:
			keep(recipient.Address, vigil.MailUnsubscribed, false)
		}
	}
	if len(kept) > 0 {
		// A mail that is tried again keeps the outcome of its last attempt; a delivered one stays delivered.
		_, err := tx.NewInsert().Model(&kept).On("CONFLICT (delivery_id, address) DO UPDATE").
			Set("spelling = excluded.spelling, counted = r.counted OR excluded.counted").
			Set(`status = CASE WHEN r.status = 'delivered' OR r.status IN ('failed', 'unknown', 'refused') AND excluded.status = 'pending'
				THEN r.status ELSE excluded.status END`).Exec(ctx)
		if err != nil {
			return fmt.Errorf("store the recipients of the delivery: %w", err)
		}
	}
	_, err := tx.NewRaw(`UPDATE delivery_recipients SET status = 'removed'
		WHERE delivery_id = ? AND status <> 'delivered' AND NOT address = ANY(?)`, p.delivery, pgdialect.Array(present)).Exec(ctx)
	return pg.Wrap("store the recipients that were removed", err)
}

// BeginMail stores, before the content of a mail is handed over, that its outcome for a
// recipient is not known. What was delivered before stays so.
func (s *Store) BeginMail(ctx context.Context, delivery uuid.UUID, address string) error {
	return s.changeMail(ctx, "begin a mail", `UPDATE delivery_recipients SET attempts = attempts + 1, attempted_at = ?,
			status = CASE WHEN status = 'delivered' THEN status ELSE 'unknown' END
		WHERE delivery_id = ? AND address = ?`, s.db.Instant(), delivery, accounts.LowerCase([]string{address})[0])
}

// EndMail stores what came of a mail for a recipient: the status, status code, error code and
// error of outcome, and how often it was tried besides those that were begun. A failed
// redelivery leaves a delivered mail delivered.
func (s *Store) EndMail(ctx context.Context, delivery uuid.UUID, outcome vigil.DeliveryRecipient) error {
	return s.changeMail(
		ctx,
		"store the outcome of a mail",
		`UPDATE delivery_recipients SET attempts = attempts + ?attempts, attempted_at = ?now,
			status_code = ?status_code, error_code = ?error_code, error = ?error,
			delivered_at = CASE WHEN ?status::text = 'delivered' THEN ?now::timestamptz ELSE delivered_at END,
			status = CASE WHEN status = 'delivered' THEN status ELSE ?status END
		WHERE delivery_id = ?delivery AND address = ?address`,
		pg.Named{
			"attempts": outcome.Attempts, "now": s.db.Instant(), "status_code": outcome.StatusCode, "error_code": outcome.ErrorCode,
			"error": vigil.CleanText(outcome.Error), "status": string(outcome.Status), "delivery": delivery,
			"address": accounts.LowerCase([]string{outcome.Address})[0],
		},
	)
}

// changeMail changes the row of a mail; without one its delivery was deleted, a CodeNotFound error.
func (s *Store) changeMail(ctx context.Context, what, sql string, args ...any) error {
	res, err := s.db.NewRaw(sql, args...).Exec(ctx)
	if err != nil {
		return pg.Wrap(what, err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return pg.Wrap(what, errors.Join(err, vigil.Errorf(vigil.CodeNotFound, "delivery not found")))
	}
	return nil
}
