// SPDX-License-Identifier: Apache-2.0

package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"
)

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
