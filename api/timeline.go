package api

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"vigil"
)

// timelineEntryView is one thing that happened in an incident. Which members
// are set depends on its kind.
type timelineEntryView struct {
	Time time.Time          `json:"time"`
	Kind vigil.TimelineKind `json:"kind" enum:"edge,state,attempt" doc:"edge: other rules fire in a region. state: the incident changed. attempt: a channel was told, or should have been."`
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

func (s *Server) showMoment(m vigil.TimelineEntry) timelineEntryView {
	view := timelineEntryView{Time: m.Time.UTC(), Kind: m.Kind}
	switch m.Kind {
	case vigil.TimelineEdge:
		rules := ids(m.Firing)
		view.Region, view.FiringRules, view.FailureCount = &m.Region, &rules, &m.Failures
	case vigil.TimelineState:
		view.Event, view.By = &m.Event, orNull(m.By)
	case vigil.TimelineAttempt:
		view.Delivery, view.Attempt = new(s.showDelivery(*m.Delivery)), new(showAttempt(*m.Attempt))
	}
	return view
}

// ids shows ids, an empty list when there is none.
func ids(list []uuid.UUID) []string {
	texts := make([]string, 0, len(list))
	for _, id := range list {
		texts = append(texts, id.String())
	}
	return texts
}

func (s *Server) registerTimeline() {
	register(s, operation{
		method: http.MethodGet, path: "/v1/incidents/{id}/timeline", id: "list-incident-timeline", tag: tagIncidents, resource: resourceIncident,
		summary:     "List everything that happened in an incident, oldest first",
		description: "Every change of what fires in a region, every change of the incident's state and every attempt to tell a channel, in the order in which they happened.",
	}, s.listTimeline)
}

// TimelineQuery selects a page of a list that begins with the oldest.
type TimelineQuery struct {
	Limit  int64 `query:"limit" default:"50" minimum:"1" doc:"How many to show. More than 100 is read as 100."`
	Offset int64 `query:"offset" default:"0" minimum:"0" doc:"How many to pass over, counted from the oldest."`
}

type timelineInput struct {
	IDPath
	TimelineQuery
}

func (s *Server) listTimeline(ctx context.Context, in *timelineInput) (*listOf[timelineEntryView], error) {
	id, err := in.parse(resourceIncident)
	if err != nil {
		return nil, err
	}
	moments, err := s.Store.Timeline(ctx, caller(ctx).org.ID, id)
	if err != nil {
		return nil, err
	}
	page := PageQuery(in.TimelineQuery)
	return listing(cut(moments, page.page()), len(moments), s.showMoment), nil
}
