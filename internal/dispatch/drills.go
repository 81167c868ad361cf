// SPDX-License-Identifier: Apache-2.0

package dispatch

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/drills"
	"github.com/vigil-monitor/vigil/workflows"
)

// StartDrill starts the workflow of a drill; one that runs goes on.
func (i *Incidents) StartDrill(ctx context.Context, orgID, id uuid.UUID) error {
	_, err := startNew(ctx, i.temporal, false, client.StartWorkflowOptions{
		ID:                    drills.WorkflowID(id),
		TaskQueue:             vigil.ControlQueue,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		TypedSearchAttributes: temporal.NewSearchAttributes(keyword(AttributeOrg, orgID), keyword(AttributeCheck, id)),
		StaticSummary:         "drill",
	}, workflows.Drill, workflows.DrillInput{DrillID: id})
	if err != nil {
		return fmt.Errorf("start a drill: %w", err)
	}
	return nil
}
