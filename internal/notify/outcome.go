// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/neterr"
)

// The values of Outcome.ErrorCode.
const (
	CodeTimeout     = neterr.Timeout
	CodeCanceled    = neterr.Canceled
	CodeDNS         = neterr.DNS
	CodeRefused     = neterr.Refused
	CodeReset       = neterr.Reset
	CodeUnreachable = neterr.Unreachable
	CodeTLS         = neterr.TLS
	CodeForbidden   = neterr.Forbidden
	CodeProtocol    = "protocol"       // the answer is not what the protocol says
	CodeStatus      = "status"         // an answer other than success
	CodeRedirect    = "redirect"       // not followed
	CodeGone        = "gone"           // 410: the receiver wants nothing more
	CodeConfig      = "invalid_config" // the channel's config cannot be used

	CodeUnconfirmed = "recipient_unconfirmed" // no recipient of a mail has agreed to get it
	CodeQuota       = "mail_quota"            // the organization has sent many mails
	CodeUnavailable = "unavailable"           // the platform itself could not do it now
)

// Outcome is what came of one attempt.
type Outcome struct {
	// StatusCode of HTTP, or the reply code of a mail server; 0 without an
	// answer.
	StatusCode int
	// ResponseBody is the start of the answer, at most 4 KiB of text.
	ResponseBody string
	Duration     time.Duration
	// Written: the request of HTTP may have reached the receiver, in part or whole. Without it there
	// was no connection that a request could be written to.
	Written   bool
	ErrorCode string // empty when it was delivered
	Error     string // a sentence; empty when it was delivered
	// Permanent: no request can be made of the config, so trying again cannot
	// help. What a receiver, its name or its address does is never that.
	Permanent bool
	// Gone: the receiver asked for no more messages (status 410).
	Gone bool
	// Recipients is how many people a mail was sent to, and Reached how many of them it
	// reached. Both are 0 for other messages.
	Recipients, Reached int
	// RetryAfter is the wait that the receiver asked for, 0 to MaxRetryAfter.
	RetryAfter time.Duration
	// Reference is what the receiver calls the message, by which a later one can edit or answer
	// it: at most 255 bytes. Empty where the receiver does not say it.
	Reference string
}

// MaxRetryAfter bounds what a receiver can ask for.
const MaxRetryAfter = 24 * time.Hour

// Delivered reports whether the message arrived.
func (o Outcome) Delivered() bool { return o.ErrorCode == "" }

// Unusable is the outcome for a channel whose config cannot be read any more,
// given the error of Registry.Parse.
func Unusable(err error) Outcome {
	return Outcome{ErrorCode: CodeConfig, Error: "the channel's config cannot be used: " + vigil.ErrorMessage(err), Permanent: true}
}
