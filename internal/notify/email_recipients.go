// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/mail"
	"github.com/vigil-monitor/vigil/internal/timing"
)

// send sends each recipient its mail, and stores what becomes of it as it goes: a process that dies
// meanwhile leaves at most one recipient of whom it is not known.
func (r *recipients) send(
	ctx context.Context, mailer mailer, delivery uuid.UUID, admission *account.MailAdmission, letters []mail.Message,
) Outcome {
	l := &ledger{store: r.store, delivery: delivery, to: admission.Recipients, begun: make([]bool, len(letters))}
	l.ctx = context.WithoutCancel(ctx) // an outcome is stored, however late it comes
	errs := mailer.SendWatched(ctx, letters, l)
	l.finish()            //nolint:contextcheck // it has its own, as above
	var temporary []error // what is left for the next attempt; where none has the mail, all of it
	reached := 0
	for _, err := range errs {
		if err == nil {
			reached++
		}
	}
	for _, err := range errs {
		if err != nil && !(isRefused(err) && reached+admission.Delivered > 0) {
			temporary = append(temporary, err)
		}
	}
	outcome := mailed(errs, admission.Delivered)
	if len(temporary) > 0 {
		// No answer that is final for one recipient decides for the others.
		outcome = mailed(temporary, 0)
		if have := reached + admission.Delivered; have > 0 {
			outcome.Error = fmt.Sprintf("%d of %d recipients have the mail; %s", have, len(letters)+admission.Delivered, outcome.Error)
		}
	}
	outcome.Recipients, outcome.Reached = len(letters), reached
	return outcome
}

func isRefused(err error) bool {
	failure, ok := errors.AsType[*mail.Error](err)
	return ok && failure.Refused
}

// ledger stores what becomes of mails, and is a mail.Watch.
type ledger struct {
	ctx      context.Context //nolint:containedctx // a mail.Watch has none
	store    recipientStore
	delivery uuid.UUID // uuid.Nil: nothing is stored
	to       []account.MailRecipient
	begun    []bool
	failed   error // of the store: nothing more is sent, and outcomes are stored at the end
	unstored []vigil.DeliveryRecipient
}

// The patience with a store that does not answer. Together with Timeout it is shorter than the time
// that an attempt has.
const (
	storeTimeout = 5 * time.Second // one change
	storeLonger  = 10 * time.Second
	storePause   = time.Second
)

func (l *ledger) Begins(i int) error {
	if l.delivery == uuid.Nil || l.failed != nil {
		return l.failed
	}
	ctx, cancel := context.WithTimeout(l.ctx, storeTimeout)
	defer cancel()
	l.failed = l.store.BeginMail(ctx, l.delivery, l.to[i].Address)
	l.begun[i] = l.failed == nil
	return l.failed
}

func (l *ledger) Ended(i int, err error) {
	if l.delivery == uuid.Nil {
		return
	}
	outcome := vigil.DeliveryRecipient{Address: l.to[i].Address, Status: vigil.MailDelivered}
	if !l.begun[i] {
		outcome.Attempts = 1
	}
	if err != nil {
		failure, ok := errors.AsType[*mail.Error](err)
		if !ok {
			failure = &mail.Error{Code: CodeProtocol, Message: "the mail could not be sent"}
		}
		outcome.StatusCode, outcome.ErrorCode, outcome.Error = failure.Status, failure.Code, failure.Message
		switch {
		case failure.Unknown:
			outcome.Status = vigil.MailUnknown
		case failure.Refused:
			outcome.Status = vigil.MailRefused
		default:
			outcome.Status = vigil.MailFailed
		}
	}
	if l.failed == nil {
		ctx, cancel := context.WithTimeout(l.ctx, storeTimeout)
		defer cancel()
		l.failed = l.keep(ctx, outcome)
	}
	if l.failed != nil {
		l.unstored = append(l.unstored, outcome)
	}
}

func (l *ledger) keep(ctx context.Context, outcome vigil.DeliveryRecipient) error {
	err := l.store.EndMail(ctx, l.delivery, outcome)
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		return nil // deleted with its check
	}
	return err
}

// finish stores the outcomes that could not be stored at once.
func (l *ledger) finish() {
	ctx, cancel := context.WithTimeout(l.ctx, storeLonger)
	defer cancel()
	for len(l.unstored) > 0 {
		err := timing.Repeat(ctx, storePause, func(ctx context.Context) error { return l.keep(ctx, l.unstored[0]) })
		if err != nil {
			return
		}
		l.unstored = l.unstored[1:]
	}
}
