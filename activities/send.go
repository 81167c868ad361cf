// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/vigil-monitor/vigil"
)

const (
	// sendTimeout bounds the signals after a change of the store, all together.
	sendTimeout = 5 * time.Second
	// sendsAhead is how many of them are under way at a time.
	sendsAhead = 8
)

// sendAll starts the workflows of deliveries that are stored, or wakes them, also when ctx is
// canceled meanwhile. What fails, or is not done within sendTimeout, is logged and no error: the
// sweep repeats it, and an activity that failed would repeat all of it.
func sendAll(ctx context.Context, starter deliveryStarter, log *slog.Logger, deliveries []vigil.PendingDelivery) {
	if len(deliveries) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTimeout)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(sendsAhead)
	for _, delivery := range deliveries {
		group.Go(func() error {
			if err := starter.Send(ctx, delivery); err != nil {
				log.WarnContext(ctx, "a delivery was not signaled; the sweep signals it again",
					"incident", delivery.IncidentID, "channel", delivery.ChannelID, "error", err)
			}
			return nil
		})
	}
	_ = group.Wait() // the functions return no error
}
