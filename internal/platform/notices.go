// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/mail"
	"github.com/vigil-monitor/vigil/storage"
)

// notices mails organizations what the platform did on its own.
type notices struct {
	store  *storage.Store
	mailer *mail.Mailer
}

// ChannelDisabled reports to the members of an organization that the receiver of a
// channel is permanently gone.
func (n notices) ChannelDisabled(ctx context.Context, channel vigil.Channel) error {
	to, err := n.store.Emails(ctx, channel.OrgID)
	if err != nil || len(to) == 0 {
		return err
	}
	wait, err := n.store.TakeMail(ctx, account.NoticeQuotas(channel.OrgID)...)
	if err != nil || wait > 0 {
		return err
	}
	name := vigil.WithoutLinks(channel.Name)
	return n.mailer.Send(ctx, mail.Message{
		To:      to,
		Subject: "Vigil disabled the notification channel " + name,
		Text: "The receiver of your notification channel \"" + name + "\" answered 410 Gone, which says that it will\n" +
			"never take a message again. Vigil has disabled the channel; its rules notify their other channels.\n\n" +
			"Set the channel right and enable it again with PUT /v1/notification-channels/" + channel.ID.String() + ".\n",
	})
}

// keyEndBatch is how many keys are claimed at a time.
const keyEndBatch = 50

// KeyEnds mails the owners of API keys that end within a week, once for each key. A mail
// that could not be sent is tried again by the next housekeeping.
func (n notices) KeyEnds(ctx context.Context) error {
	var errs []error
	for {
		ends, err := n.store.ClaimKeyEnds(ctx, keyEndBatch)
		for _, end := range ends {
			if err := n.mailer.Send(ctx, keyEnd(end)); err != nil {
				errs = append(errs, fmt.Errorf("mail the end of API key %s: %w", end.Key.ID, err))
				continue
			}
			errs = append(errs, n.store.KeyEndMailed(ctx, end.Key.ID))
		}
		if err != nil || len(ends) < keyEndBatch {
			return errors.Join(append(errs, err)...)
		}
	}
}

// keyEnd is the mail about a key. Its id is the same on every try.
func keyEnd(end account.KeyEnd) mail.Message {
	return mail.Message{
		To: []string{end.Owner.Email}, ID: "key-end-" + end.Key.ID.String(), Subject: "An API key of yours ends soon",
		Text: fmt.Sprintf("The API key %s... (%s) stops to work at %s.\n\n"+
			"Make another one with POST /v1/api-keys and replace it where it is used, or do nothing when it is not needed.\n",
			end.Key.Prefix, vigil.WithoutLinks(end.Key.Name), end.Key.ExpiresAt.UTC().Format(time.RFC1123)),
	}
}
