// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/notify"
)

// recipientView is an address of an email channel.
type recipientView struct {
	Email          string     `json:"email" format:"email"`
	Status         string     `json:"status" enum:"pending,confirmed,member,unsubscribed" doc:"Whether the recipient gets mail: pending (it was asked and has not agreed yet, so it does not), confirmed, member (of the organization, with a confirmed address, who need not agree) or unsubscribed."`
	ConfirmedAt    *time.Time `json:"confirmed_at" doc:"When the recipient agreed by the link that was mailed to it; null: not yet."`
	UnsubscribedAt *time.Time `json:"unsubscribed_at" doc:"When the recipient ended the mail of the organization by the link in each mail; null: it did not."`
}

// answer shows one channel.
func (c *Channels) answer(ctx context.Context, channel vigil.Channel) (*rest.Answer[notificationChannelView], error) {
	show, err := c.showing(ctx, channel)
	if err != nil {
		return nil, err
	}
	return rest.NewAnswer(show(channel)), nil
}

// showing returns what shows these channels with how they do, and with their recipients.
func (c *Channels) showing(ctx context.Context, rows ...vigil.Channel) (func(vigil.Channel) notificationChannelView, error) {
	var all []string
	ids := make([]uuid.UUID, len(rows))
	for i, channel := range rows {
		ids[i] = channel.ID
		all = append(all, c.addresses(channel)...)
	}
	healths, err := c.store.ChannelHealths(ctx, rest.CallerOf(ctx).Org.ID, ids)
	if err != nil {
		return nil, err
	}
	drills, err := c.store.LastDrills(ctx, rest.CallerOf(ctx).Org.ID, ids)
	if err != nil {
		return nil, err
	}
	show := func(channel vigil.Channel) notificationChannelView {
		view := c.show(channel)
		view.Delivery = showHealth(healths[channel.ID])
		if drill, ok := drills[channel.ID]; ok {
			view.LastDrill = &lastDrillView{ID: drill.DrillID, Verdict: drill.Verdict, At: drill.At}
		}
		return view
	}
	if len(all) == 0 {
		return show, nil
	}
	known, err := c.recipients.MailRecipients(ctx, rest.CallerOf(ctx).Org.ID, all)
	if err != nil {
		return nil, err
	}
	return func(channel vigil.Channel) notificationChannelView {
		view := show(channel)
		for _, address := range c.addresses(channel) {
			recipient := known[strings.ToLower(address)]
			view.Recipients = append(view.Recipients, recipientView{
				Email: address, Status: string(recipient.Status()),
				ConfirmedAt: resource.InUTC(recipient.ConfirmedAt), UnsubscribedAt: resource.InUTC(recipient.UnsubscribedAt),
			})
		}
		return view
	}, nil
}

// addresses returns the recipients of an email channel where mail leaves the machine. A
// config that cannot be used any more has none.
func (c *Channels) addresses(channel vigil.Channel) []string {
	if c.recipients == nil || channel.Type != vigil.ChannelEmail {
		return nil
	}
	sender, err := c.Types.Parse(channel.Type, channel.Config)
	if err != nil {
		return nil
	}
	return notify.Addresses(sender)
}

// AskRecipients mails a link to the recipients that must confirm, behind the request.
func (c *Channels) AskRecipients(ctx context.Context, channel vigil.Channel) {
	if c.recipients == nil || channel.Type != vigil.ChannelEmail {
		return
	}
	sender, err := c.Types.Parse(channel.Type, channel.Config)
	if err != nil {
		return
	}
	c.mails.Start(ctx, "ask recipients to confirm", func(ctx context.Context) error {
		return notify.RequestConfirmations(ctx, sender, channel.OrgID)
	})
}
