// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/checks"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/subscription"
)

// ResourceSubscription names a subscription in errors and in the audit log.
const ResourceSubscription = "subscription"

// subscriptionStore keeps subscriptions.
type subscriptionStore interface {
	CreateSubscription(ctx context.Context, s subscription.Subscription) (subscription.Subscription, error)
	Subscriptions(ctx context.Context, orgID uuid.UUID, filter subscription.Filter) ([]subscription.Subscription, listing.Extent, error)
	Subscription(ctx context.Context, orgID, id uuid.UUID) (subscription.Subscription, error)
	UpdateSubscription(
		ctx context.Context,
		orgID, id uuid.UUID,
		change func(*subscription.Subscription) error,
	) (subscription.Subscription, error)
	DeleteSubscription(ctx context.Context, orgID, id uuid.UUID, match vigil.Precondition) error
	CheckRecipients(ctx context.Context, orgID, checkID uuid.UUID) ([]subscription.CheckRecipient, error)
}

type subscriptions struct{ store subscriptionStore }

// subscriptionView is a subscription.
type subscriptionView struct {
	ID        uuid.UUID                `json:"id" format:"uuid"`
	Name      string                   `json:"name" example:"Everything of the shop"`
	ChannelID uuid.UUID                `json:"channel_id" format:"uuid" doc:"The channel that receives the events."`
	Events    []string                 `json:"events" doc:"Types of events, and patterns: incident.* is all of that noun, * all." example:"[\"incident.*\"]"`
	Selector  subscriptionSelectorView `json:"selector" doc:"Which of these events: those that fulfil each member that is given. Without members all of them."`
	Enabled   bool                     `json:"enabled"`
	ManagedBy *resource.ManagedByView  `json:"managed_by" doc:"The program that manages the subscription, such as a project of files; null when none does."`
	Revision  int64                    `json:"revision" doc:"Grows by one with every change of the subscription, also when one of its checks is deleted; the ETag for If-Match."`
	CreatedAt time.Time                `json:"created_at"`
	UpdatedAt time.Time                `json:"updated_at"`
	Warnings  []string                 `json:"warnings,omitempty" doc:"In the answer to a write only: what is accepted and may not be what is meant. Each begins with the name of a member." example:"selector: selects no check now"`
}

// CurrentRevision is the subscription's, for its ETag.
func (v subscriptionView) CurrentRevision() int64 { return v.Revision }

// subscriptionSelectorView narrows the events of a subscription.
type subscriptionSelectorView struct {
	Labels      []string       `json:"labels,omitempty" maxItems:"20" doc:"Checks that have all of these labels, in the form key or key=value, also later ones. An event about no check is not selected." example:"[\"team=payments\"]"`
	CheckIDs    []string       `json:"check_ids,omitzero" maxItems:"1000" doc:"These checks of the organization only; an empty list selects no check. A deleted check leaves it. An event about no check is not selected."`
	SeverityMin vigil.Severity `json:"severity_min,omitempty" enum:"info,warning,critical" doc:"Events of this severity and more severe ones. A channel gets an incident from the time on at which it reaches the severity."`
}

func showSubscription(s subscription.Subscription) subscriptionView {
	view := subscriptionView{
		ID: s.ID, Name: s.Name, ChannelID: s.ChannelID, Events: s.Events,
		Selector: subscriptionSelectorView{Labels: s.Selector.Labels, SeverityMin: s.Selector.SeverityMin},
		Enabled:  s.Enabled, ManagedBy: resource.ShowManagedBy(s.ManagedBy), Revision: s.Version,
		CreatedAt: s.CreatedAt.UTC(), UpdatedAt: s.UpdatedAt.UTC(), Warnings: s.Warnings,
	}
	if s.Selector.CheckIDs != nil {
		view.Selector.CheckIDs = make([]string, len(s.Selector.CheckIDs))
		for i, id := range s.Selector.CheckIDs {
			view.Selector.CheckIDs[i] = id.String()
		}
	}
	return view
}

func (s *subscriptions) Register(r *rest.Registrar) {
	const list, one = "/v1/subscriptions", "/v1/subscriptions/{id}"
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: list, ID: "list-subscriptions", Tag: resource.TagSubscriptions,
		Summary: "List the subscriptions, newest first",
	}, s.list)
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: list, ID: "create-subscription", Tag: resource.TagSubscriptions, Scope: account.ScopeWrite,
		Audit: "subscription.create", Status: http.StatusCreated, Idempotent: true, Revisioned: true,
		Summary: "Create a subscription",
		Description: "The channel receives the events from now on, without being named by an alert rule. A channel that rules and " +
			"subscriptions name gets one message. Who got the beginning of an incident gets its end, also when it is not selected any more. " +
			"A selector that selects nothing is accepted, with `warnings`.",
		Errors: []int{http.StatusForbidden, http.StatusConflict},
	}, s.create)
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: one, ID: "get-subscription", Tag: resource.TagSubscriptions, Resource: ResourceSubscription,
		Revisioned: true, Summary: "Get a subscription",
	}, s.get)
	rest.Register(r, rest.Operation{
		Method: http.MethodPut, Path: one, ID: "update-subscription", Tag: resource.TagSubscriptions, Scope: account.ScopeWrite,
		Audit: "subscription.update", Resource: ResourceSubscription, Revisioned: true,
		Summary:     "Update a subscription",
		Description: "Members that are left out stay as they are; `selector` is replaced as a whole.",
		Errors:      []int{http.StatusConflict},
	}, s.update)
	rest.Register(r, rest.Operation{
		Method: http.MethodDelete, Path: one, ID: "delete-subscription", Tag: resource.TagSubscriptions, Scope: account.ScopeWrite,
		Audit: "subscription.delete", Resource: ResourceSubscription, Revisioned: true, Status: http.StatusNoContent,
		Summary:     "Delete a subscription",
		Description: "The channel still gets the ends of the incidents that it got the beginnings of.",
	}, s.delete)
	s.registerRecipients(r)
}

type listSubscriptionsInput struct {
	rest.ListQuery
	resource.ManagedSelection

	Query     string              `query:"query" maxLength:"200" doc:"Subscriptions whose name contains this text, in any case."`
	ChannelID string              `query:"channel_id" format:"uuid" doc:"Subscriptions of one channel."`
	Event     vigil.EventType     `query:"event" doc:"Subscriptions that receive this type of event, also by a pattern." example:"incident.resolved"`
	Enabled   rest.Optional[bool] `query:"enabled" doc:"Only enabled subscriptions, or only disabled ones."`
}

func (s *subscriptions) list(ctx context.Context, in *listSubscriptionsInput) (*rest.Listing[subscriptionView], error) {
	if in.Event != "" && !slices.Contains(subscription.EventTypes(), in.Event) {
		return nil, vigil.Invalid("event", "must be a type of event such as incident.resolved")
	}
	bound := []string{"subscriptions", in.Query, in.ChannelID, string(in.Event), checks.Optional(in.Enabled)}
	page, cursor, err := in.Open(rest.MaxPage, append(bound, in.ManagedBinding()...)...)
	if err != nil {
		return nil, err
	}
	filter := subscription.Filter{
		Query: in.Query, Event: in.Event, Enabled: in.Enabled.Pointer(), Managed: in.Managed(), Page: page,
	}
	if filter.ChannelID, err = resource.FilterID("channel_id", in.ChannelID); err != nil {
		return nil, err
	}
	rows, extent, err := s.store.Subscriptions(ctx, rest.CallerOf(ctx).Org.ID, filter)
	if err != nil {
		return nil, err
	}
	return rest.NewPage(rows, extent, cursor, showSubscription), nil
}

func (s *subscriptions) get(ctx context.Context, in *rest.IDPath) (*rest.Answer[subscriptionView], error) {
	id, err := in.Parse(ResourceSubscription)
	if err != nil {
		return nil, err
	}
	return answerSubscription(s.store.Subscription(ctx, rest.CallerOf(ctx).Org.ID, id))
}

func answerSubscription(s subscription.Subscription, err error) (*rest.Answer[subscriptionView], error) {
	if err != nil {
		return nil, err
	}
	return rest.NewAnswer(showSubscription(s)), nil
}

func (s *subscriptions) create(ctx context.Context, in *struct{ Body SubscriptionCreate }) (*rest.Answer[subscriptionView], error) {
	one := subscription.Subscription{OrgID: rest.CallerOf(ctx).Org.ID, Enabled: true}
	err := in.Body.Change(&one)
	if err != nil {
		return nil, err
	}
	if one.ID, err = uuid.NewV7(); err != nil {
		return nil, err
	}
	rest.AuditResource(ctx, one.ID)
	rest.ShowRepeated(ctx, showSubscription)
	return answerSubscription(s.store.CreateSubscription(ctx, one))
}

type updateSubscriptionInput struct {
	rest.IDPath
	Body subscriptionUpdate
}

func (s *subscriptions) update(ctx context.Context, in *updateSubscriptionInput) (*rest.Answer[subscriptionView], error) {
	id, err := in.Parse(ResourceSubscription)
	if err != nil {
		return nil, err
	}
	return answerSubscription(s.store.UpdateSubscription(ctx, rest.CallerOf(ctx).Org.ID, id, func(one *subscription.Subscription) error {
		if err := rest.PreconditionOf(ctx).Check(ResourceSubscription, one.Version); err != nil {
			return err
		}
		return in.Body.Change(one)
	}))
}

func (s *subscriptions) delete(ctx context.Context, in *rest.IDPath) (*struct{}, error) {
	id, err := in.Parse(ResourceSubscription)
	if err != nil {
		return nil, err
	}
	return nil, s.store.DeleteSubscription(ctx, rest.CallerOf(ctx).Org.ID, id, rest.PreconditionOf(ctx))
}
