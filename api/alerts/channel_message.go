// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"context"
	"net/http"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/notify"
)

// maxTestMessages bounds the test messages that one process sends at a time: each may
// wait for its receiver as long as an attempt takes.
const maxTestMessages = 32

func (c *Channels) registerTest(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method:     http.MethodPost,
		Path:       "/v1/notification-channels/{id}/test",
		ID:         "test-notification-channel",
		Tag:        resource.TagChannels,
		Scope:      account.ScopeRespond,
		Resource:   ResourceChannel,
		Audit:      "channel.test",
		Idempotent: true,
		Summary:    "Send a test message",
		Description: "Makes one attempt, even when the channel is disabled, and returns its outcome. The status is 200 whether or not the " +
			"message arrived.",
		Errors: []int{http.StatusServiceUnavailable},
	}, c.test)
}

// test sends one message from this process. It is no delivery: nothing
// is stored but that it arrived, and nothing is tried again.
func (c *Channels) test(ctx context.Context, in *rest.IDPath) (*rest.Answer[attemptView], error) {
	channel, err := c.find(ctx, in)
	if err != nil {
		return nil, err
	}
	select {
	case c.sending <- struct{}{}:
		defer func() { <-c.sending }()
	default:
		return nil, vigil.Errorf(vigil.CodeUnavailable, "Too many test messages are being sent. Try again in a moment.")
	}
	began := c.now()
	outcome, err := c.sendTest(ctx, channel)
	if err != nil {
		return nil, err
	}
	if outcome.ErrorCode == "" { // a channel that failed has recovered by it
		if err := c.store.ChannelReached(context.WithoutCancel(ctx), channel.OrgID, channel.ID, c.publicURL); err != nil {
			return nil, err
		}
	}
	attempt := vigil.Attempt{
		Number: 1, StartedAt: began, FinishedAt: new(began.Add(outcome.Duration)), Duration: outcome.Duration,
		StatusCode: outcome.StatusCode, ErrorCode: outcome.ErrorCode, Error: outcome.Error, ResponseBody: outcome.ResponseBody, Manual: true,
	}
	return rest.NewAnswer(showAttempt(attempt)), nil
}

func (c *Channels) sendTest(ctx context.Context, channel vigil.Channel) (notify.Outcome, error) {
	sender, err := c.Types.Parse(channel.Type, channel.Config)
	if err != nil {
		return notify.Unusable(err), nil
	}
	sender = notify.WithFormerSecret(sender, channel.FormerSecret)
	message, err := notify.Sample(channel, rest.CallerOf(ctx).Org, c.publicURL, c.now())
	if err != nil {
		return notify.Outcome{}, err
	}
	message.Envelope = notify.Freeze(sender, message)
	return sender.Send(ctx, message), nil
}
