// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/listing"
)

// timelineStore reads what happened in an incident, oldest first.
type timelineStore interface {
	Timeline(ctx context.Context, orgID, id uuid.UUID, page listing.Page) ([]vigil.TimelineEntry, int, error)
}

type timelines struct {
	store timelineStore
	links resource.WorkflowLinks
}

// timelineEntryView is one thing that happened in an incident. Which members
// are set depends on its kind.
type timelineEntryView struct {
	Time time.Time          `json:"time"`
	Kind vigil.TimelineKind `json:"kind" enum:"edge,state,attempt" doc:"edge: other rules fire in a region. state: the incident changed. attempt: an attempt to deliver a notification."`
	// Of an edge.
	Region       *string   `json:"region" doc:"Of an edge: where."`
	FiringRules  *[]string `json:"firing_rules" nullable:"true" format:"uuid" doc:"Of an edge: ids of the rules that fire there from now on; none when the region is quiet."`
	FailureCount *int      `json:"failure_count" doc:"Of an edge: failures in a row there."`
	// Of a change of state.
	Event *vigil.EventType `json:"event" doc:"Of a state: incident.triggered, incident.acknowledged or incident.resolved."`
	By    *string          `json:"by" doc:"Of a state: who did it; null when it happened by itself."`
	// Of an attempt.
	Delivery *deliveryView `json:"delivery" doc:"Of an attempt: what was to be delivered, as it stands now."`
	Attempt  *attemptView  `json:"attempt" doc:"Of an attempt: what came of it."`
}

func (t *timelines) show(m vigil.TimelineEntry) timelineEntryView {
	view := timelineEntryView{Time: m.Time.UTC(), Kind: m.Kind}
	switch m.Kind {
	case vigil.TimelineEdge:
		rules := resource.IDs(m.Firing)
		view.Region, view.FiringRules, view.FailureCount = &m.Region, &rules, &m.Failures
	case vigil.TimelineState:
		view.Event, view.By = &m.Event, vigil.NilIfZero(m.By)
	case vigil.TimelineAttempt:
		view.Delivery, view.Attempt = new(showDelivery(t.links, *m.Delivery)), new(showAttempt(*m.Attempt))
	}
	return view
}

func (t *timelines) Register(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method:      http.MethodGet,
		Path:        "/v1/incidents/{id}/timeline",
		ID:          "list-incident-timeline",
		Tag:         resource.TagIncidents,
		Resource:    resourceIncident,
		Summary:     "List the timeline of an incident, oldest first",
		Description: "Every change of the rules that fire in a region, of the incident's state, and every attempt to deliver, in order of time.",
	}, t.list)
}

// TimelineQuery selects a page of a list that begins with the oldest.
type TimelineQuery struct {
	Limit  int64 `query:"limit" default:"50" minimum:"1" doc:"How many to show. More than 100 is read as 100."`
	Offset int64 `query:"offset" default:"0" minimum:"0" doc:"How many to pass over, counted from the oldest."`
}

type timelineInput struct {
	rest.IDPath
	TimelineQuery
}

func (t *timelines) list(ctx context.Context, in *timelineInput) (*rest.Listing[timelineEntryView], error) {
	id, err := in.Parse(resourceIncident)
	if err != nil {
		return nil, err
	}
	page := rest.PageQuery(in.TimelineQuery)
	entries, total, err := t.store.Timeline(ctx, rest.CallerOf(ctx).Org.ID, id, page.Page())
	if err != nil {
		return nil, err
	}
	return rest.NewListing(entries, total, t.show), nil
}
