package api

import (
	"cmp"
	"slices"

	"github.com/google/uuid"

	"vigil"
)

// warn adds to the actions on rules what the endpoints of rules would warn of, with the rules
// that the checks have afterwards.
func (d *decider) warn() {
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
		if action.Kind != vigil.KindRule || rule == nil {
			continue
		}
		others := of[rule.CheckID]
		slices.SortFunc(others, func(a, b vigil.Rule) int {
			return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), vigil.CompareIDs(a.ID, b.ID))
		})
		action.Warnings = vigil.RuleWarnings(rule, others)
	}
}
