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

// restoreForgotten stores the incident or the latch again that the workflow knows and the
// context, which was just read, does not. Only this workflow changes them, so Postgres was
// restored from an older backup. The incident keeps its ID, and with it the IDs of its
// events and deliveries: a receiver gets a repeated message, and not a second incident.
// It is stored with the votes of before the restore; those of now are applied after it.
func (i *incidents) restoreForgotten(ctx workflow.Context, known vigil.IncidentContext) error {
	id := heldIncident(known)
	if id == uuid.Nil || i.context.Deleted || id == heldIncident(i.context) {
		return nil
	}
	request := i.openRequest(id, i.decisionInput().Votes, i.openersOf(known))
	request.Restored = true
	var acts *activities.Incidents
	for {
		var head vigil.IncidentHead
		if err := i.change(ctx, acts.Open, request, &head); err != nil {
			return fmt.Errorf("store the incident again: %w", err)
		}
		switch {
		case head.ID == id && head.Status != vigil.IncidentResolved:
			i.context.Incident = &head
			if known.Incident != nil {
				return nil
			}
			return i.resolve(ctx, vigil.ResolveRequest{
				Resolution: vigil.ResolvedManually, Latch: true, Quiet: known.Latch.Quiet, LatchedRules: known.Latch.Rules,
			})
		case head.ID == id || head.ID == uuid.Nil:
			return nil // Postgres is the newer one, or no rule of the incident is left
		}
		// An earlier incident, whose end was forgotten too.
		i.context.Incident = &head
		if err := i.resolve(ctx, vigil.ResolveRequest{Resolution: vigil.ResolvedAutomatically}); err != nil {
			return err
		}
	}
}

// heldIncident returns the ID of the incident that is open or latched, or the zero ID.
func heldIncident(c vigil.IncidentContext) uuid.UUID {
	switch {
	case c.Incident != nil:
		return c.Incident.ID
	case c.Latch != nil:
		return c.Latch.IncidentID
	}
	return uuid.Nil
}

// firingRules returns the enabled rules that fire in a voting region: those whose region
// policy is met, or all of them when none is.
func (i *incidents) firingRules() []uuid.UUID {
	in := i.decisionInput()
	in.Open, in.Latched, in.InMaintenance = false, false, false
	if d := vigil.Decide(in); len(d.Rules) > 0 {
		return d.Rules
	}
	var rules []uuid.UUID
	for _, rule := range in.Rules {
		if slices.ContainsFunc(in.Votes, func(v vigil.Vote) bool { return slices.Contains(v.Firing, rule.ID) }) {
			rules = append(rules, rule.ID)
		}
	}
	return rules
}

// openersOf returns the firing rules that opened an incident, so that the others begin in
// it again with the events that they had; all firing ones when none of these is left.
func (i *incidents) openersOf(known vigil.IncidentContext) []uuid.UUID {
	firing := i.firingRules()
	if known.Incident == nil {
		return firing
	}
	opened := known.Incident.OpenedBy()
	openers := slices.DeleteFunc(slices.Clone(firing), func(rule uuid.UUID) bool { return !slices.Contains(opened, rule) })
	if len(openers) == 0 {
		return firing
	}
	return openers
}

// skipPastIncident is called when the number of an incident belongs to one that is
// resolved: Temporal was restored from an older backup, or the workflow was reset. The
// votes may be of that time too, so the context is read before the next decision.
func (i *incidents) skipPastIncident() { i.stale, i.past = true, true }
