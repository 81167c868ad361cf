// SPDX-License-Identifier: Apache-2.0

package resource_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
)

// slowStarts starts workflows of deliveries, each of which takes 100 ms.
type slowStarts struct {
	resource.IncidentWorkflows
	started atomic.Int32
}

func (*slowStarts) Refresh(context.Context, uuid.UUID) error { return nil }

func (s *slowStarts) Send(ctx context.Context, _ vigil.PendingDelivery) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(100 * time.Millisecond):
		s.started.Add(1)
		return nil
	}
}

// TestMessagesToManyChannels tests that one task starts all of them before its deadline.
func TestMessagesToManyChannels(t *testing.T) {
	t.Parallel()
	const channels = 120
	deliveries := make([]vigil.PendingDelivery, channels)
	for name, send := range map[string]func(context.Context, *resource.Notifier){
		"OfAnIncident": func(ctx context.Context, n *resource.Notifier) { n.Send(ctx, deliveries) },
		"OfAnEdit": func(ctx context.Context, n *resource.Notifier) {
			n.Changed(ctx, []vigil.CheckEdit{{Changed: true, Deliveries: deliveries}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				starts, tasks := &slowStarts{}, resource.NewTasks(resource.TaskDeadline, resource.MaxTasks)
				send(t.Context(), resource.NewNotifier(nil, nil, starts, tasks, time.Now))
				tasks.Stop()
				if n := starts.started.Load(); n != channels {
					t.Errorf("%d deliveries were started, want %d", n, channels)
				}
			})
		})
	}
}
