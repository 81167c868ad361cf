// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/checks"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/subscription"
)

// checkRecipientView is a channel that receives events about a check.
type checkRecipientView struct {
	Channel checkRecipientChannelView `json:"channel"`
	Events  []vigil.EventType         `json:"events" doc:"The types of events about the check that it receives." example:"[\"incident.triggered\",\"incident.resolved\"]"`
	Because []recipientReasonView     `json:"because" minItems:"1" doc:"The alert rules of the check and the subscriptions that name the channel."`
	Enabled bool                      `json:"enabled" doc:"Whether the channel is enabled; one that is not receives nothing."`
}

type checkRecipientChannelView struct {
	ID   uuid.UUID         `json:"id" format:"uuid"`
	Name string            `json:"name" example:"Team chat"`
	Type vigil.ChannelType `json:"type" example:"chat"`
}

type recipientReasonView struct {
	Kind string    `json:"kind" enum:"rule,subscription"`
	ID   uuid.UUID `json:"id" format:"uuid" doc:"The id of the alert rule or of the subscription."`
	Name string    `json:"name" example:"Three failures in a row"`
}

func showCheckRecipient(r subscription.CheckRecipient) checkRecipientView {
	view := checkRecipientView{
		Channel: checkRecipientChannelView{ID: r.Channel.ID, Name: r.Channel.Name, Type: r.Channel.Type},
		Events:  append([]vigil.EventType{}, r.Events...), Because: make([]recipientReasonView, len(r.Because)), Enabled: r.Channel.Enabled,
	}
	for i, why := range r.Because {
		kind := ResourceSubscription
		if why.Rule {
			kind = ResourceRule
		}
		view.Because[i] = recipientReasonView{Kind: kind, ID: why.ID, Name: why.Name}
	}
	return view
}

func (s *subscriptions) registerRecipients(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: "/v1/checks/{id}/recipients", ID: "list-check-recipients", Tag: resource.TagSubscriptions,
		Resource: checks.ResourceCheck,
		Summary:  "List the channels that are notified of a check, and why",
		Description: "The channels of its enabled alert rules, and those of the enabled subscriptions that select it at some severity, as " +
			"things are now. Who is notified of an incident is decided when it opens.",
	}, s.recipients)
}

type checkRecipientsInput struct {
	rest.IDPath
	rest.PageQuery
}

func (s *subscriptions) recipients(ctx context.Context, in *checkRecipientsInput) (*rest.Listing[checkRecipientView], error) {
	id, err := in.Parse(checks.ResourceCheck)
	if err != nil {
		return nil, err
	}
	all, err := s.store.CheckRecipients(ctx, rest.CallerOf(ctx).Org.ID, id)
	if err != nil {
		return nil, err
	}
	page := in.Page()
	from := min(page.Offset, len(all))
	return rest.NewListing(all[from:min(from+page.Limit, len(all))], len(all), showCheckRecipient), nil
}
