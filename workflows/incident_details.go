// SPDX-License-Identifier: Apache-2.0

package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/vigil-monitor/vigil"
)

// suppressed reports whether a context keeps incidents from opening. A run whose earlier
// part was executed by a version without maintenance goes on as that one did: its requests
// to open are refused by the store, and the next run is of this version.
func suppressed(ctx workflow.Context, read *vigil.IncidentContext) bool {
	return read.Maintenance != nil && workflow.GetVersion(ctx, "suppress-in-maintenance", workflow.DefaultVersion, 1) >= 1
}

// describe sets the workflow's details for operators.
func (i *incidents) describe(ctx workflow.Context) {
	text := "no incident"
	switch {
	case i.context.Incident != nil:
		text = fmt.Sprintf("**%s** incident %s", i.context.Incident.Status, i.context.Incident.ID)
		if trace := i.context.Incident.TraceID; trace != "" {
			text += ", trace " + trace
		}
	case i.context.Latch != nil:
		text = fmt.Sprintf("**latched**: incident %s was resolved by hand, its episode is not over", i.context.Latch.IncidentID)
	}
	if i.inMaintenance {
		text += "\n\nin maintenance until " + i.context.Maintenance.Until.Format(time.RFC3339) + ": no incident opens"
	}
	for _, region := range i.context.Regions {
		vote, voted := i.votes[region.Region]
		switch {
		case region.Silent:
			text += fmt.Sprintf("\n\n- %s is silent", region.Region)
		case voted && len(vote.Firing) > 0:
			text += fmt.Sprintf("\n\n- %s fires %d rules since %s", region.Region, len(vote.Firing), vote.Slot.Format(time.RFC3339))
		}
	}
	workflow.SetCurrentDetails(ctx, text)
}
