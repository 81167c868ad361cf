// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/mail"
)

// recipientStore knows who agreed to get the mail of an organization, and counts mails.
type recipientStore interface {
	AdmitMail(ctx context.Context, orgID, delivery uuid.UUID, addresses []string, manual bool) (account.MailAdmission, error)
	// BeginMail and EndMail store what becomes of the mail of a delivery for a recipient.
	BeginMail(ctx context.Context, delivery uuid.UUID, address string) error
	EndMail(ctx context.Context, delivery uuid.UUID, outcome vigil.DeliveryRecipient) error
	// AskRecipients returns the confirmation links that are to be mailed now.
	AskRecipients(ctx context.Context, orgID uuid.UUID, addresses []string) ([]account.Confirmation, error)
	// AskAgain takes back a link that could not be mailed.
	AskAgain(ctx context.Context, orgID uuid.UUID, address string) error
}

// recipients keeps mail from people who do not want it.
type recipients struct {
	store     recipientStore
	publicURL string
}

// WithRecipients makes email channels respect what recipients decided: all but members of
// the organization must agree once, all can unsubscribe, and quotas hold. It is for platforms
// whose mail leaves the machine. publicURL is the address of the API, without a trailing
// slash.
func WithRecipients(store recipientStore, publicURL string) Option {
	return func(env *environment) { env.recipients = &recipients{store: store, publicURL: publicURL} }
}

// Addresses returns the addresses of an email channel, and none for other types.
func Addresses(s Sender) []string {
	if e, ok := s.(*email); ok {
		return e.to
	}
	return nil
}

// RequestConfirmations mails a link to the recipients of a channel of the organization that
// must confirm and were not asked within a day. Channels of other types have none.
func RequestConfirmations(ctx context.Context, s Sender, orgID uuid.UUID) error {
	e, ok := s.(*email)
	if !ok || e.recipients == nil || e.mail == nil {
		return nil
	}
	return e.ask(ctx, orgID, e.to)
}

// ask mails confirmation links. One that could not be mailed may be asked for again.
func (e *email) ask(ctx context.Context, orgID uuid.UUID, addresses []string) error {
	if len(addresses) == 0 {
		return nil
	}
	links, err := e.recipients.store.AskRecipients(ctx, orgID, addresses)
	if len(links) == 0 {
		return err
	}
	letters := make([]mail.Message, len(links))
	for i, link := range links {
		letters[i] = e.recipients.confirmation(link)
	}
	errs := []error{err}
	for i, err := range e.mail.SendEach(ctx, letters) {
		if err != nil {
			again := e.recipients.store.AskAgain(context.WithoutCancel(ctx), orgID, links[i].Address)
			errs = append(errs, fmt.Errorf("mail a confirmation link: %w", err), again)
		}
	}
	return errors.Join(errs...)
}

func (r *recipients) confirmation(link account.Confirmation) mail.Message {
	return mail.Message{
		To: []string{link.Address}, Subject: "Confirm that you want alerts by mail", Button: "Agree or refuse",
		Text: "The organization \"" + vigil.WithoutLinks(singleLine(link.Organization)) +
			"\" asks to mail you the alerts of its monitoring. To agree or to refuse, open\n\n" +
			r.publicURL + "/confirm-recipient?token=" + link.Token + "\n\n" +
			"The link works for 7 days.\n\nIf you do nothing, you get no alerts.\n",
	}
}

// unsubscribeURL is the link of a recipient in every mail.
func (r *recipients) unsubscribeURL(recipient account.MailRecipient) string {
	return r.publicURL + "/unsubscribe?token=" + url.QueryEscape(recipient.UnsubscribeToken)
}

// refused is the outcome of a mail that must not be sent; nil: it may be.
func refused(admission account.MailAdmission) *Outcome {
	switch {
	case len(admission.Recipients) == 0 && admission.Delivered > 0:
		return &Outcome{} // everybody who is left has it
	case admission.Wait > 0:
		return &Outcome{
			ErrorCode: CodeQuota, RetryAfter: min(admission.Wait, MaxRetryAfter),
			Error: fmt.Sprintf("the quota of mails is used up for %s", admission.Wait.Round(time.Second)),
		}
	case len(admission.Recipients) == 0 && len(admission.Pending) > 0:
		return &Outcome{ErrorCode: CodeUnconfirmed, Error: "no recipient has agreed yet by the link that was mailed to it"}
	case len(admission.Recipients) == 0:
		return &Outcome{ErrorCode: CodeUnconfirmed, Permanent: true, Error: "every recipient has unsubscribed"}
	}
	return nil
}
