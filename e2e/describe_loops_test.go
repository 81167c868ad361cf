// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/vigil-monitor/vigil"
)

// describeLoops logs the rows of loops and the newest events of their workflows, to explain a failure.
func (s *cluster) describeLoops(where string, args ...any) {
	s.t.Helper()
	ctx := context.WithoutCancel(s.t.Context())
	rows, err := s.db.QueryContext(ctx, "SELECT to_jsonb(r)::text, check_id::text, region FROM check_regions AS r WHERE "+where, args...)
	if err != nil {
		s.t.Log(err)
		return
	}
	defer func() { _ = rows.Close() }()
	server := dialTemporal(s.t, s.temporal.ready.TemporalAddress, "vigil")
	defer server.Close()
	for rows.Next() {
		var row, check, region string
		if err := rows.Scan(&row, &check, &region); err != nil {
			s.t.Log(err)
			return
		}
		var lines []string
		events := server.GetWorkflowHistory(
			ctx,
			vigil.LoopID(uuid.MustParse(check), region),
			"",
			false,
			enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT,
		)
		for events.HasNext() {
			event, err := events.Next()
			if err != nil {
				lines = append(lines, err.Error())
				break
			}
			lines = append(
				lines,
				fmt.Sprintf("%d %s %s", event.GetEventId(), event.GetEventTime().AsTime().Format(time.TimeOnly), event.GetEventType()),
			)
		}
		s.t.Logf("%s\nits workflow: %s", row, strings.Join(lines[max(0, len(lines)-12):], ", "))
	}
	if err := rows.Err(); err != nil {
		s.t.Log(err)
	}
}
