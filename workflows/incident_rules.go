// SPDX-License-Identifier: Apache-2.0

package workflows

import (
	"fmt"
	"slices"

	"github.com/google/uuid"
	"go.temporal.io/sdk/workflow"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
)

// changeRules records that rules began or stopped to fire in the open incident.
func (i *incidents) changeRules(ctx workflow.Context, in vigil.DecisionInput, d vigil.Decision) error {
	open := i.openRequest(i.context.Incident.ID, in.Votes, d.Begun)
	request := vigil.RulesRequest{ID: open.ID, CheckID: open.CheckID, Begun: d.Begun, Ended: d.Ended, Votes: open.Votes}
	var acts *activities.Incidents
	var head vigil.IncidentHead
	err := i.change(ctx, acts.ChangeRules, request, &head)
	if isKind(err, vigil.CodeNotFound) { // deleted with its check
		i.stale = true
		return nil
	}
	if err != nil {
		return fmt.Errorf("change the rules of the incident: %w", err)
	}
	known := i.context.Incident
	known.Rules = head.Rules
	firing := known.FiringNow()
	refused := slices.ContainsFunc(d.Begun, func(rule uuid.UUID) bool { return !slices.Contains(firing, rule) })
	if refused || head.Status == vigil.IncidentResolved { // the rule, the check or its maintenance has changed
		i.stale, i.past = true, true
	}
	return nil
}

// latchRules latches the rules that fire in the incident when a user resolves it. A rule whose
// policy is not met has sent no message, so it is not latched; without a rule there is no latch. The
// rules that an earlier latch keeps stay latched.
func (i *incidents) latchRules(resolve *vigil.ResolveRequest) {
	incident := i.context.Incident
	resolve.LatchedRules = incident.FiringNow()
	if resolve.Latch = len(resolve.LatchedRules) > 0; !resolve.Latch {
		return
	}
	if i.context.Latch != nil {
		resolve.LatchedRules = append(resolve.LatchedRules, i.context.Latch.Rules...)
	}
	slices.SortFunc(resolve.LatchedRules, vigil.CompareIDs)
	resolve.LatchedRules = slices.Compact(resolve.LatchedRules)
}

// fires reports whether an enabled rule fires in a vote: one of those that are latched, or any
// where none is.
func (i *incidents) fires(vote vigil.Vote, latched []uuid.UUID) bool {
	return slices.ContainsFunc(i.context.Rules, func(r vigil.RulePolicy) bool {
		return slices.Contains(vote.Firing, r.ID) && (len(latched) == 0 || slices.Contains(latched, r.ID))
	})
}
