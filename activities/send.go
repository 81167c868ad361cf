// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/timing"
)

const (
	// sendTimeout bounds the signals after a change of the store, all together.
	sendTimeout = 5 * time.Second
	// sendsAhead is how many of them are under way at a time.
	sendsAhead = 8
	// sendPause is the pause before what failed is tried again; it doubles.
	sendPause = 200 * time.Millisecond
)

// sendAll starts the workflows of deliveries that are stored, or wakes them, also when ctx is
// canceled meanwhile. What fails is tried again; what is not done within sendTimeout is logged and no
// error: the sweep repeats it, and an activity that failed would repeat all of it.
func sendAll(ctx context.Context, starter deliveryStarter, log *slog.Logger, deliveries []vigil.PendingDelivery) {
	if len(deliveries) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTimeout)
	defer cancel()
	errs := sendEach(ctx, starter, deliveries)
	for pause := sendPause; len(errs) > 0 && timing.Sleep(ctx, pause) == nil; pause *= 2 {
		errs = sendEach(ctx, starter, slices.Collect(maps.Keys(errs)))
	}
	for delivery, err := range errs {
		log.WarnContext(ctx, "a delivery was not signaled; the sweep signals it again",
			"incident", delivery.IncidentID, "channel", delivery.ChannelID, "error", err)
	}
}

// sendEach tries each once, and returns what failed.
func sendEach(ctx context.Context, starter deliveryStarter, deliveries []vigil.PendingDelivery) map[vigil.PendingDelivery]error {
	var mu sync.Mutex
	errs := make(map[vigil.PendingDelivery]error)
	var group errgroup.Group
	group.SetLimit(sendsAhead)
	for _, delivery := range deliveries {
		group.Go(func() error {
			if err := starter.Send(ctx, delivery); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs[delivery] = err
			}
			return nil
		})
	}
	_ = group.Wait() // the functions return no error
	return errs
}
