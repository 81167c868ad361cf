// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/drills"
	"github.com/vigil-monitor/vigil/internal/timing"
)

// drillLook is the pause between two looks at a drill.
const drillLook = 100 * time.Millisecond

// measureDrills measures twice more: while drills run one after the other, and again without any, so
// that what the machine does differently from one time to the next is seen beside it.
func (s *cluster) measureDrills(ctx context.Context, o LoopOptions, first report) error {
	drills, err := s.newBenchDrills(ctx)
	if err != nil {
		return err
	}
	ended, over := make(chan error, 1), make(chan struct{})
	go func() { ended <- drills.run(ctx, o.Drills, over) }()
	with, err := s.measure(ctx, o)
	close(over)
	if err := errors.Join(err, <-ended); err != nil {
		return err
	}
	again, err := s.measure(ctx, o)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.Out, "  lateness with drills p50 %.1f ms, p99 %.1f ms, worst %.1f ms; %d drills passed, %d failed\n"+
		"  and after them       p50 %.1f ms, p99 %.1f ms, worst %.1f ms\n"+
		"  p99 with drills      %+.1f %% of that before, and %+.1f %% of that after them\n\n",
		with.lateP50, with.lateP99, with.lateMax, drills.passed, drills.failed, again.lateP50, again.lateP99, again.lateMax,
		change(with.lateP99, first.lateP99), change(with.lateP99, again.lateP99))
	return err
}

// drillPolicy is how the messages of drills are delivered.
func drillPolicy() vigil.DeliveryPolicy {
	return vigil.DeliveryPolicy{MaxAttempts: 1, LateOpening: vigil.LateOpeningDeliver}
}

// change is by how many percent a figure differs from another one.
func change(figure, from float64) float64 { return 100 * (figure/max(from, 0.001) - 1) }

// benchDrills runs drills of a channel to the target.
type benchDrills struct {
	*cluster
	org, channel   uuid.UUID
	passed, failed int
}

func (s *cluster) newBenchDrills(ctx context.Context) (*benchDrills, error) {
	d := &benchDrills{cluster: s}
	if err := s.db.QueryRowContext(ctx, "SELECT id FROM organizations WHERE name = 'bench'").Scan(&d.org); err != nil {
		return nil, fmt.Errorf("read the organization: %w", err)
	}
	config, err := json.Marshal(map[string]any{"url": s.url})
	if err != nil {
		return nil, fmt.Errorf("encode the channel: %w", err)
	}
	channel, err := s.store.CreateChannel(ctx, vigil.Channel{
		OrgID: d.org, Name: "drills", Type: vigil.ChannelWebhook, Config: config, Enabled: true,
	})
	d.channel = channel.ID
	return d, err
}

// run runs up to so many drills, one after the other; none begins any more once over is closed.
func (d *benchDrills) run(ctx context.Context, drills int, over <-chan struct{}) error {
	for range drills {
		select {
		case <-over:
			return nil
		default:
		}
		if err := d.one(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (d *benchDrills) one(ctx context.Context) error {
	drill, err := d.store.CreateDrill(ctx, drills.Drill{OrgID: d.org, RequestedBy: "vigil bench", Request: drills.Request{
		ChannelIDs: []uuid.UUID{d.channel}, ExpectWithin: drills.DefaultExpect,
	}}, region)
	if err != nil {
		return err
	}
	// No API starts its workflow, so the sweep does: to it the drill is one whose workflow was lost.
	_, err = d.db.ExecContext(ctx, "UPDATE drills SET progress_at = progress_at - interval '1 minute' WHERE id = $1", drill.ID)
	if err != nil {
		return fmt.Errorf("begin a drill: %w", err)
	}
	for {
		drill, err = d.store.Drill(ctx, d.org, drill.ID)
		switch {
		case err != nil:
			return err
		case drill.Receipt != nil && drill.Receipt.Verdict == drills.Passed:
			d.passed++
			return nil
		case drill.Receipt != nil:
			d.failed++
			return nil
		}
		if err := timing.Sleep(ctx, drillLook); err != nil {
			return err
		}
	}
}
