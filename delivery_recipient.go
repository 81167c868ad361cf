// SPDX-License-Identifier: Apache-2.0

package vigil

import "time"

// MailStatus is what became of a mail for one recipient of a delivery.
type MailStatus string

// The states of a mail. The next attempt sends it to those in the first three; to those that
// refused it only while it has reached none.
const (
	MailPending      MailStatus = "pending"      // not tried yet
	MailFailed       MailStatus = "failed"       // the last attempt failed
	MailUnknown      MailStatus = "unknown"      // handed over without an answer: it may have arrived
	MailDelivered    MailStatus = "delivered"    // the mail server took it
	MailRefused      MailStatus = "refused"      // the mail server refused it for good (RFC 5321: 5yz)
	MailUnconfirmed  MailStatus = "unconfirmed"  // the recipient has not agreed to get mail
	MailUnsubscribed MailStatus = "unsubscribed" // the recipient wants no more mail
	MailRemoved      MailStatus = "removed"      // the channel has the recipient no more
)

// DeliveryRecipient is what became of a delivery for one recipient.
type DeliveryRecipient struct {
	Address string // as the channel spells it
	Status  MailStatus
	// Attempts counts how often it was tried; 0: never.
	Attempts int
	// StatusCode of the mail server's last reply, 0 for none; ErrorCode and Error say why the last
	// attempt failed, and are empty when it did not.
	StatusCode       int
	ErrorCode, Error string
	AttemptedAt      *time.Time // the last attempt; nil: none
	DeliveredAt      *time.Time // nil: not delivered
}

// Sendable reports whether the next attempt is for the recipient in any case.
func (s MailStatus) Sendable() bool {
	return s == MailPending || s == MailFailed || s == MailUnknown
}
