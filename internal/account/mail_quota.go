// SPDX-License-Identifier: Apache-2.0

package account

import (
	"strings"
	"time"

	"github.com/google/uuid"
)

// MailQuota limits the mails of one kind in windows of a fixed length. A window begins
// with its first mail.
type MailQuota struct {
	Name   string // what is counted, unique to the kind and its subject
	Limit  int64
	Window time.Duration
}

// The limits of mails about accounts.
const (
	linksPerUser      = 10  // an hour
	linksPerRecipient = 20  // a day
	noticesPerUser    = 20  // a day
	asksPerOrg        = 50  // a day
	asksPerPage       = 200 // an hour
)

const day = 24 * time.Hour

// LinkQuotas limits the mails with a link that an account or a stranger requests:
// 10 an hour for each account, and 20 a day to each address, over all accounts.
func LinkQuotas(userID uuid.UUID, address string) []MailQuota {
	return []MailQuota{
		{Name: "links/user/" + userID.String(), Limit: linksPerUser, Window: time.Hour},
		recipientQuota(address),
	}
}

// SignupQuotas limits the mail that a new account causes: 20 a day to each address,
// together with the links that accounts request.
func SignupQuotas(address string) []MailQuota { return []MailQuota{recipientQuota(address)} }

func recipientQuota(address string) MailQuota {
	return MailQuota{Name: "links/recipient/" + strings.ToLower(address), Limit: linksPerRecipient, Window: day}
}

// NoticeQuotas limits the notices of what happened to an account to 20 a day.
func NoticeQuotas(userID uuid.UUID) []MailQuota {
	return []MailQuota{{Name: "notices/user/" + userID.String(), Limit: noticesPerUser, Window: day}}
}

// ConfirmationQuotas limits the mails that ask a recipient of email channels to agree: 50
// a day for each organization, and 20 a day to each address, together with the links of
// accounts.
func ConfirmationQuotas(orgID uuid.UUID, address string) []MailQuota {
	return []MailQuota{
		{Name: "confirmations/organization/" + orgID.String(), Limit: asksPerOrg, Window: day},
		recipientQuota(address),
	}
}

// ReaderQuotas limits the mails that ask somebody to confirm that they want the messages of a status page:
// 200 an hour for each page, and 20 a day to each address, together with the links of accounts.
func ReaderQuotas(pageID uuid.UUID, address string) []MailQuota {
	return []MailQuota{{Name: "readers/page/" + pageID.String(), Limit: asksPerPage, Window: time.Hour}, recipientQuota(address)}
}

// AlertQuotas limits the mails of an organization's email channels in an hour, in all and
// to each recipient. One whose address is not verified has the least.
func AlertQuotas(orgID uuid.UUID, tier Tier, verified bool, address string) []MailQuota {
	perOrg, perRecipient := alertMails(tier, verified)
	return []MailQuota{
		{Name: "alerts/organization/" + orgID.String(), Limit: perOrg, Window: time.Hour},
		{Name: "alerts/recipient/" + orgID.String() + "/" + strings.ToLower(address), Limit: perRecipient, Window: time.Hour},
	}
}

// alertMails returns how many mails an hour an organization may send, and to each
// recipient.
func alertMails(tier Tier, verified bool) (perOrg, perRecipient int64) {
	switch {
	case !verified:
		return 100, 30
	case tier == TierPaid:
		return 10_000, 2_000
	case tier == TierEnterprise:
		return 100_000, 20_000
	}
	return 1_000, 300
}

// MailRecipient is an address of an organization's email channels.
type MailRecipient struct {
	// Address is in lower case, but where a mail is about to be sent to it: there it is spelled as given.
	Address string
	// ConfirmedAt is when the recipient agreed to get mail; nil: not yet.
	ConfirmedAt *time.Time
	// UnsubscribedAt is when the recipient refused further mail; nil: it did not.
	UnsubscribedAt *time.Time
	// Member: the address is the confirmed one of a member of the organization, who need not
	// agree.
	Member bool
	// UnsubscribeToken is the token of the link that ends the mail.
	UnsubscribeToken string
}

// RecipientStatus says whether a recipient gets mail.
type RecipientStatus string

// The states of a recipient.
const (
	RecipientPending      RecipientStatus = "pending"      // has not agreed yet
	RecipientConfirmed    RecipientStatus = "confirmed"    // has agreed
	RecipientMember       RecipientStatus = "member"       // belongs to the organization
	RecipientUnsubscribed RecipientStatus = "unsubscribed" // has refused
)

// Status returns whether the recipient gets mail. The zero value is pending.
func (r *MailRecipient) Status() RecipientStatus {
	switch {
	case r.UnsubscribedAt != nil:
		return RecipientUnsubscribed
	case r.ConfirmedAt != nil:
		return RecipientConfirmed
	case r.Member:
		return RecipientMember
	}
	return RecipientPending
}

// MailAdmission says which recipients a mail of an organization may be sent to.
type MailAdmission struct {
	// Unverified: the organization has no verified address.
	Unverified bool
	// Delivered is how many recipients have the mail of the delivery already. They get it again
	// only by a redelivery when none is left without it.
	Delivered int
	// Recipients may be mailed. Pending are the addresses that may not yet, since they have
	// not agreed. Those that have unsubscribed are in neither.
	Recipients []MailRecipient
	Pending    []string
	// Wait is how long a quota is used up, 0 when it is not; then no mail may be sent.
	Wait time.Duration
}

// Confirmation is a request to a recipient to agree to an organization's mail.
type Confirmation struct {
	Address      string
	Token        string
	Organization string // its name
}

// ConfirmationLifetime is the validity of the link that confirms a recipient.
const ConfirmationLifetime = 7 * day
