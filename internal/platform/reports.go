// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/storage"
)

// sweptReports are the schedules of reports as the sweep sees them.
type sweptReports struct {
	*storage.Store
	publicURL string
}

// RunReportSchedule sends a report with links to this platform.
func (r sweptReports) RunReportSchedule(ctx context.Context, orgID, id uuid.UUID) error {
	return r.Store.RunReportSchedule(ctx, orgID, id, r.publicURL)
}
