// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/accounts"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/api/stream"
)

type alertStream struct {
	hub  *stream.Hub
	auth *accounts.Authenticator
}

func (a *alertStream) Register(r *rest.Registrar) {
	const path = "/v1/stream/alerts"
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: path, ID: "stream-alerts", Tag: resource.TagStream,
		Summary: "Stream the alerts of the organization",
		Description: "Server-sent events. The event is the type (incident.triggered, incident.acknowledged, incident.resolved, " +
			"check.unobserved, check.observed, and those of system events), the data is the body of a webhook. " +
			"check.unobserved says that a check is not probed although it should be, and check.observed that it is again, or need not be: " +
			"their data has `unobserved` with `id`, `since`, `ended_at` and `end` instead of an incident, " +
			"and the `rules` with `unobserved` `notify`. " +
			"A check.observed whose `end` is rule_changed has no `ended_at`: its channels are notified no more, and the check is as it was. " +
			"System events are about channels, deliveries, regions, locations, drills and checks themselves: channel.failing, channel.recovered, " +
			"delivery.exhausted, region.blind, region.sighted, location.silent, location.back, drill.passed, drill.failed, " +
			"check.paused, check.resumed and report.ready. " +
			"Their data has `severity` and a member for what they are about instead of an incident. " +
			"Ids are `<unix ms>-<seq>`; seq grows by one with each event of the organization. The stream begins with an id and no data: that of " +
			"the newest event, or where it resumes. " +
			"`stream.gap` with `requested` and `oldest` comes first when events were asked for that are not kept any more. " +
			"By default 10 streams may be open for a key and 50 for an organization, in each process of the API.",
		Errors: []int{http.StatusTooManyRequests, http.StatusServiceUnavailable},
	}, a.serve)
	rest.OperationAt(r.Document(), http.MethodGet, path).Responses["200"].Content = map[string]*huma.MediaType{
		stream.ContentType: {Schema: &huma.Schema{Type: huma.TypeString, Description: "Server-sent events."}},
	}
}

type streamInput struct {
	LastEventID string `header:"Last-Event-ID" doc:"Resume after this id; it takes precedence over since."`
	Since       string `query:"since" doc:"Begin after this id; 0-0 for everything stored. Without it the stream begins now." example:"0-0"`
}

// start is the position after which the stream begins; nil: now.
func (in *streamInput) start() (*vigil.Position, error) {
	var from *vigil.Position
	for _, given := range []struct{ member, text string }{{"since", in.Since}, {"Last-Event-ID", in.LastEventID}} {
		if given.text == "" {
			continue
		}
		position, err := vigil.ParsePosition(given.member, given.text)
		if err != nil {
			return nil, err
		}
		from = &position
	}
	return from, nil
}

func (a *alertStream) serve(ctx context.Context, in *streamInput) (*huma.StreamResponse, error) {
	from, err := in.start()
	if err != nil {
		return nil, err
	}
	caller := rest.CallerOf(ctx)
	key := caller.Key.ID
	if key == uuid.Nil {
		key = caller.User.ID
	}
	return a.hub.Serve(ctx, stream.Subscription{
		Org: caller.Org.ID, Key: key, From: from, Authorized: a.authorized, Log: rest.RequestOf(ctx).Log(),
	})
}

// authorized reports whether the credential of a stream is still valid. While
// that cannot be checked, it counts as valid.
func (a *alertStream) authorized(ctx context.Context, header func(string) string) bool {
	_, err := a.auth.Identify(ctx, header("Authorization"), header("X-API-Key"))
	return vigil.ErrorCode(err) != vigil.CodeUnauthorized
}
