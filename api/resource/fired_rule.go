// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// FiredRuleView is a rule that fired in an incident.
type FiredRuleView struct {
	ID       uuid.UUID      `json:"id" format:"uuid" doc:"The alert rule; it may have been deleted since."`
	Name     string         `json:"name" doc:"Its name when it began to fire."`
	Severity vigil.Severity `json:"severity" enum:"critical,warning,info" doc:"Its severity when it began to fire."`
	Since    time.Time      `json:"since" doc:"When it began to fire, the last time if it did so more than once."`
	Until    *time.Time     `json:"until" doc:"When it stopped, or when the incident ended; null while it fires."`
}

// ShowFiredRules returns the rules that opened an incident as the API shows them.
func ShowFiredRules(rules []vigil.IncidentRule) []FiredRuleView {
	views := make([]FiredRuleView, len(rules))
	for i, r := range rules {
		views[i] = FiredRuleView{ID: r.ID, Name: r.Name, Severity: r.Severity, Since: r.Since.UTC(), Until: InUTC(r.Until)}
	}
	return views
}
