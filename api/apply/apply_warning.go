// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"cmp"
	"slices"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/project"
)

// warn adds to the actions what the endpoints of single definitions would warn of.
func (d *decider) warn() {
	d.warnOfRegions()
	d.warnOfRules()
}

// warnOfRegions adds to the actions on checks the regions in which no worker can probe them.
func (d *decider) warnOfRegions() {
	warnings := make(map[string][]string) // by key
	for i := range d.changes.Checks {
		before, after := d.changes.Checks[i].Before, d.changes.Checks[i].After
		if after == nil || after.ManagedBy == nil {
			continue // deleted or released
		}
		if before == nil {
			before = &vigil.Check{}
		}
		warnings[after.ManagedBy.Key] = d.live.Warnings(before, after)
	}
	for i := range d.set.Actions {
		if action := &d.set.Actions[i]; action.Kind == project.KindCheck {
			action.Warnings = warnings[action.Key]
		}
	}
}

// warnOfRules adds to the actions on rules what they miss beside the rules that their checks
// have afterwards.
func (d *decider) warnOfRules() {
	rules := make(map[uuid.UUID]*vigil.Rule)
	for i := range d.stored.inventory.Rules {
		rules[d.stored.inventory.Rules[i].ID] = &d.stored.inventory.Rules[i]
	}
	written := make(map[string]*vigil.Rule) // by key
	for i := range d.changes.Rules {
		edit := &d.changes.Rules[i]
		switch {
		case edit.After == nil:
			delete(rules, edit.Before.ID)
		case edit.After.ManagedBy == nil: // released
			rules[edit.After.ID] = edit.After
		default:
			rules[edit.After.ID], written[edit.After.ManagedBy.Key] = edit.After, edit.After
		}
	}
	of := make(map[uuid.UUID][]vigil.Rule)
	for _, rule := range rules {
		of[rule.CheckID] = append(of[rule.CheckID], *rule)
	}
	for i := range d.set.Actions {
		action := &d.set.Actions[i]
		rule := written[action.Key]
		if action.Kind != project.KindRule || rule == nil {
			continue
		}
		others := of[rule.CheckID]
		slices.SortFunc(others, func(a, b vigil.Rule) int {
			return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), vigil.CompareIDs(a.ID, b.ID))
		})
		action.Warnings = vigil.RuleWarnings(rule, others)
	}
}
