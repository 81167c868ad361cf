// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"

	"github.com/vigil-monitor/vigil"
)

// ShownName is the part of a TurnResult about the name that the loop's workflow shows.
type ShownName struct {
	// Name of the check, where workflows show it: after a turn that recovers, the first one
	// of a worker, and one with a newer revision than the loop knew. Otherwise the loop
	// knows the name.
	Name string `json:"name,omitempty"`
	// Nameless: workflows must not show the name of the check.
	Nameless bool `json:"nameless,omitempty"`
}

// nameIn adds the name of the check to a result, when the loop may not know it.
func (t *turnRun) nameIn(ctx context.Context, result *TurnResult) {
	if result == nil || result.End == vigil.TurnGone || !t.turn.Recover && t.turn.By == t.shortName && result.Revision <= t.turn.Revision {
		return
	}
	if result.Nameless = t.ShowNames == nil; result.Nameless || !t.ShowNames(ctx) {
		return
	}
	if e, err := t.definition(ctx); err == nil && !e.deleted {
		result.Name = e.Check.Name
	}
}
