// SPDX-License-Identifier: Apache-2.0

package location

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/backtest"
)

// LateIncident is an incident that would have been, had its results come in time.
type LateIncident struct {
	RuleID    uuid.UUID
	RuleName  string
	StartedAt time.Time  // slot of the result that opens it
	EndedAt   *time.Time // nil: it was not over with the newest result
	Regions   []string   // in which the rule fires at its beginning
	FoundAt   time.Time
}

// LateIncidents returns which of the incidents of a replay of a rule begin in late results, whose last
// slot is last, and overlap with none that was.
func LateIncidents(rule *vigil.Rule, replayed []backtest.Incident, recorded []vigil.Incident, last time.Time) []LateIncident {
	var late []LateIncident
	for i := range replayed {
		one := &replayed[i]
		var ended *time.Time
		if !one.ResolvedAt.IsZero() {
			ended = &one.ResolvedAt
		}
		was := slices.ContainsFunc(recorded, func(r vigil.Incident) bool {
			return (ended == nil || r.StartedAt.Before(*ended)) && (r.ResolvedAt == nil || r.ResolvedAt.After(one.OpenedAt))
		})
		if one.OpenBefore || one.OpenedAt.After(last) || was {
			continue
		}
		late = append(late, LateIncident{
			RuleID: rule.ID, RuleName: rule.Name, StartedAt: one.OpenedAt, EndedAt: ended, Regions: one.Regions,
		})
	}
	return late
}
