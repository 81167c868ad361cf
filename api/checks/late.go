// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/location"
)

// mostLate is how many incidents that would have been are listed.
const mostLate = 100

// lateStore has the incidents that would have been.
type lateStore interface {
	checkReader
	LateIncidents(ctx context.Context, orgID, checkID uuid.UUID, limit int) ([]location.LateIncident, error)
}

// late shows what would have been an incident, had results come in time.
type late struct{ store lateStore }

// lateIncidentView is an incident that would have been.
type lateIncidentView struct {
	RuleID    uuid.UUID  `json:"rule_id" format:"uuid"`
	RuleName  string     `json:"rule_name" example:"Down"`
	StartedAt time.Time  `json:"started_at" doc:"When the incident would have opened."`
	EndedAt   *time.Time `json:"ended_at" nullable:"true" doc:"When it would have been resolved; null: it was not, with the newest result."`
	Regions   []string   `json:"regions" doc:"In which the rule fires when it begins."`
	FoundAt   time.Time  `json:"found_at" doc:"When its results had come."`
}

func (l *late) Register(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method:   http.MethodGet,
		Path:     "/v1/checks/{id}/late-incidents",
		ID:       "list-late-incidents",
		Tag:      resource.TagResults,
		Resource: ResourceCheck,
		Summary:  "List what was not observed in time",
		Description: "Results of an agent that was cut off come late: they fill their slots, and open no incident for what is over. " +
			"These are the incidents that would have been, found by a replay of the stored results, the newest 100 first. " +
			"No channel was notified of them.",
	}, l.list)
}

func (l *late) list(ctx context.Context, in *struct {
	rest.IDPath
	rest.PageQuery
},
) (*rest.Listing[lateIncidentView], error) {
	check, err := findCheck(ctx, l.store, in.ID)
	if err != nil {
		return nil, err
	}
	found, err := l.store.LateIncidents(ctx, check.OrgID, check.ID, mostLate)
	if err != nil {
		return nil, err
	}
	return rest.NewListing(rest.Cut(found, in.Page()), len(found), func(one location.LateIncident) lateIncidentView {
		return lateIncidentView{
			RuleID: one.RuleID, RuleName: one.RuleName, StartedAt: one.StartedAt, EndedAt: one.EndedAt, Regions: one.Regions, FoundAt: one.FoundAt,
		}
	}), nil
}
