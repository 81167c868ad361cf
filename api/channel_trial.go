package api

import (
	"context"
	"net/http"

	"vigil"
	"vigil/notify"
)

// maxTrials bounds the test messages that one process sends at a time: each may
// wait for its receiver as long as an attempt takes.
const maxTrials = 32

func (s *Server) registerChannelTrial() {
	register(s, operation{
		method: http.MethodPost, path: "/v1/notification-channels/{id}/test", id: "test-notification-channel", tag: tagChannels, resource: resourceChannel, audit: "channel.test",
		summary:     "Send a test message and show what came of it",
		description: "One attempt is made, whether the channel is enabled or not; the answer is 200 whether it arrived or not.",
		errors:      []int{http.StatusServiceUnavailable},
	}, s.testChannel)
}

// testChannel sends one message from this process. It is no delivery: nothing
// is stored and nothing is tried again.
func (s *Server) testChannel(ctx context.Context, in *IDPath) (*answerOf[attemptView], error) {
	channel, err := s.findChannel(ctx, in)
	if err != nil {
		return nil, err
	}
	select {
	case s.trials <- struct{}{}:
		defer func() { <-s.trials }()
	default:
		return nil, vigil.Errorf(vigil.CodeUnavailable, "Too many test messages are on their way. Try again in a moment.")
	}
	began := s.Now()
	outcome, err := s.tryChannel(ctx, channel)
	if err != nil {
		return nil, err
	}
	attempt := vigil.Attempt{
		Number: 1, StartedAt: began, FinishedAt: new(began.Add(outcome.Duration)), Duration: outcome.Duration,
		StatusCode: outcome.StatusCode, ErrorCode: outcome.ErrorCode, Error: outcome.Error, ResponseBody: outcome.ResponseBody, Manual: true,
	}
	return answering(showAttempt(attempt)), nil
}

func (s *Server) tryChannel(ctx context.Context, channel vigil.Channel) (notify.Outcome, error) {
	sender, err := s.Channels.Parse(channel.Type, channel.Config)
	if err != nil {
		return notify.Unusable(err), nil
	}
	message, err := notify.Sample(channel, caller(ctx).org, s.Config.PublicURL, s.Now())
	if err != nil {
		return notify.Outcome{}, err
	}
	message.Envelope = notify.Freeze(sender, message)
	return sender.Send(ctx, message), nil
}
