// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/channelhealth"
	"github.com/vigil-monitor/vigil/internal/events"
	"github.com/vigil-monitor/vigil/internal/mail"
	"github.com/vigil-monitor/vigil/storage"
)

// notices mails organizations what the platform did on its own.
type notices struct {
	store  *storage.Store
	mailer *mail.Mailer
	// publicURL is the address at which the platform is reached, for links; empty: there are none.
	publicURL string
}

// channelBatch is how many mails about channels are claimed at a time.
const channelBatch = 10

// Channels mails the owners of organizations about channels that fail, and about messages that
// were given up: one mail for a channel in a day. A mail that could not be sent is tried again.
func (n notices) Channels(ctx context.Context) error {
	var errs []error
	for {
		due, err := n.store.ClaimChannelNotices(ctx, channelBatch)
		for _, notice := range due {
			if err := n.channel(ctx, notice); err != nil {
				errs = append(errs, fmt.Errorf("mail the owners about channel %s: %w", notice.ChannelID, err))
			}
		}
		if err != nil || len(due) < channelBatch {
			return errors.Join(append(errs, err)...)
		}
	}
}

func (n notices) channel(ctx context.Context, notice channelhealth.Notice) error {
	done, err := n.owners(ctx, notice.OrgID, channelNotice(&notice, n.publicURL))
	if err != nil || !done { // it is claimed again
		return err
	}
	return n.store.ChannelNoticeMailed(ctx, notice)
}

// owners mails the owners of an organization with a verified address, if there are any. It is not done while their quota of
// a day is used up, of which a mail that was not sent takes nothing.
func (n notices) owners(ctx context.Context, orgID uuid.UUID, message mail.Message) (done bool, err error) {
	message.To, err = n.store.Emails(ctx, orgID)
	if err != nil || len(message.To) == 0 {
		return err == nil, err
	}
	quotas := account.NoticeQuotas(orgID)
	wait, err := n.store.TakeMail(ctx, quotas...)
	if err != nil || wait > 0 {
		return false, err
	}
	err = n.mailer.Send(ctx, message)
	if err == nil {
		return true, nil
	}
	failure, ok := errors.AsType[*mail.Error](err)
	switch {
	case ok && failure.Final():
		return true, nil // another try would be refused as well, and come again to the owners who have it
	case ok && (failure.Unknown || failure.Accepted > 0):
		return false, err // an owner has it, or may
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), returnTimeout)
	defer cancel()
	return false, errors.Join(err, n.store.ReturnMail(ctx, quotas...))
}

// returnTimeout is how long it may take to store that a mail was not sent.
const returnTimeout = 5 * time.Second

// channelNotice is the mail about a channel. Its id is the same on every try.
func channelNotice(n *channelhealth.Notice, publicURL string) mail.Message {
	name := vigil.WithoutLinks(n.ChannelName)
	var subject, text string
	switch {
	case n.Gone:
		subject = "Vigil disabled the notification channel " + name
		text = "The receiver of your notification channel \"" + name + "\" answered 410 Gone, which says that it will\n" +
			"never take a message again. Vigil has disabled the channel; its rules notify their other channels.\n\n" +
			"Set the channel right and enable it again with PUT /v1/notification-channels/" + n.ChannelID.String() + ".\n"
	case n.State == channelhealth.OK:
		subject = "The notification channel " + name + " failed for a while"
		text = "Messages to your notification channel \"" + name + "\" did not arrive from " + n.Since.Format(time.RFC1123) + " on.\n" +
			"It delivers again.\n"
	default:
		subject = "Messages to the notification channel " + name + " do not arrive"
		text = "Messages to your notification channel \"" + name + "\" have not arrived since " + n.Since.Format(time.RFC1123) + ".\n" +
			"Vigil tries each of them again, and gives it up when its last attempt has failed.\n"
	}
	if n.LastError != "" && !n.Gone {
		text += "\nThe last error: " + vigil.WithoutLinks(vigil.Truncate(n.LastError, maxNoticeError)) + "\n"
	}
	if n.Lost > 0 {
		text += fmt.Sprintf("\n%s given up.", messages(n.Lost))
		if n.FellBack > 0 {
			text += fmt.Sprintf(" The fallback of the channel got %d.", n.FellBack)
		}
		text += "\nGET /v1/deliveries?channel_id=" + n.ChannelID.String() + "&status=exhausted lists them.\n"
	}
	if publicURL != "" && !n.Deleted {
		text += "\n" + publicURL + events.ChannelPage + n.ChannelID.String() + "\n"
	}
	return mail.Message{ID: fmt.Sprintf("channel-%s-%d", n.ChannelID, n.Number), Subject: subject, Text: text, Button: "Open the channel"}
}

// maxNoticeError bounds the error that a mail quotes, in bytes.
const maxNoticeError = 300

func messages(n int) string {
	if n == 1 {
		return "One message was"
	}
	return fmt.Sprintf("%d messages were", n)
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
