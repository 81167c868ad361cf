// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/drills"
	"github.com/vigil-monitor/vigil/internal/timing"
)

// drillStore keeps drills. Every call may be repeated.
type drillStore interface {
	// StageDrill creates the hidden check; CodeInvalid: that cannot be, as no channel is left.
	StageDrill(ctx context.Context, id uuid.UUID) ([]vigil.Loop, error)
	FollowDrill(ctx context.Context, id uuid.UUID) (drills.Step, error)
	HealDrill(ctx context.Context, id uuid.UUID) ([]vigil.Loop, error)
	CloseDrill(ctx context.Context, id uuid.UUID, version string, sign func([]byte) (string, error)) (drills.Drill, bool, error)
	LoopsOf(ctx context.Context, checkID uuid.UUID) ([]vigil.Loop, error)
}

// loopStarter starts and wakes the loops of checks.
type loopStarter interface {
	Apply(ctx context.Context, loop vigil.Loop) error
}

// incidentWaker makes the incident workflow of a check look at it again.
type incidentWaker interface {
	Refresh(ctx context.Context, checkID uuid.UUID) error
}

// DrillsOptions configure Drills. All members but Signer are required.
type DrillsOptions struct {
	Store     drillStore
	Loops     loopStarter
	Incidents incidentWaker
	// Signer returns what signs a receipt; nil: receipts are not signed.
	Signer func(ctx context.Context) (func(receipt []byte) (string, error), error)
	// Ended counts a drill that has ended; nil: none is counted.
	Ended func(ctx context.Context, verdict string)
	// Version of the program, which the receipt names.
	Version string
	Log     *slog.Logger
}

// Drills implements the activities of the workflow of a drill. Every one may be repeated.
type Drills struct{ DrillsOptions }

// NewDrills returns Drills.
func NewDrills(opts DrillsOptions) *Drills { return &Drills{opts} }

// DrillReport says what the workflow of a drill does next.
type DrillReport struct {
	Step drills.Step `json:"step"`
}

// How long FollowDrill waits for something to do, and how often it looks.
const (
	drillFollow = 20 * time.Second
	drillLook   = 250 * time.Millisecond
)

// StageDrill creates the hidden check of a drill and starts its loops.
func (d *Drills) StageDrill(ctx context.Context, id uuid.UUID) (DrillReport, error) {
	loops, err := d.Store.StageDrill(ctx, id)
	switch vigil.ErrorCode(err) {
	case vigil.CodeInvalid, vigil.CodeNotFound:
		return DrillReport{Step: drills.Close}, nil
	default:
		if err != nil {
			return DrillReport{}, fmt.Errorf("stage: %w", err)
		}
	}
	d.apply(ctx, loops)
	return DrillReport{Step: drills.Wait}, nil
}

// apply starts loops, or wakes them. The sweep does what fails here.
func (d *Drills) apply(ctx context.Context, loops []vigil.Loop) {
	for _, loop := range loops {
		if err := d.Loops.Apply(ctx, loop); err != nil {
			d.Log.WarnContext(ctx, "a loop of a drill was not started; the sweep starts it",
				"check", loop.CheckID, "region", loop.Region, "error", err)
		}
	}
}

// FollowDrill waits until there is something to do, for 20 s at most and the look that is under way then.
func (d *Drills) FollowDrill(ctx context.Context, id uuid.UUID) (DrillReport, error) {
	waiting, cancel := context.WithTimeout(ctx, drillFollow)
	defer cancel()
	for {
		step, err := d.Store.FollowDrill(ctx, id)
		if vigil.ErrorCode(err) == vigil.CodeNotFound { // with its organization
			return DrillReport{Step: drills.Close}, nil
		}
		if err != nil {
			return DrillReport{}, fmt.Errorf("follow: %w", err)
		}
		if step != drills.Wait {
			return DrillReport{Step: step}, nil
		}
		if timing.Sleep(waiting, drillLook) != nil {
			return DrillReport{Step: step}, ctx.Err()
		}
	}
}

// HealDrill makes the hidden check of a drill healthy and wakes its loops.
func (d *Drills) HealDrill(ctx context.Context, id uuid.UUID) error {
	loops, err := d.Store.HealDrill(ctx, id)
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		return nil
	}
	if err != nil {
		return fmt.Errorf("heal: %w", err)
	}
	d.apply(ctx, loops)
	return nil
}

// CloseDrill makes the receipt of a drill and ends its hidden check.
func (d *Drills) CloseDrill(ctx context.Context, id uuid.UUID) error {
	sign := func([]byte) (string, error) { return "", nil }
	if d.Signer != nil {
		var err error
		if sign, err = d.Signer(ctx); err != nil {
			return fmt.Errorf("read the signing key: %w", err)
		}
	}
	drill, closed, err := d.Store.CloseDrill(ctx, id, d.Version, sign)
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		return nil
	}
	if err != nil {
		return fmt.Errorf("close: %w", err)
	}
	if closed && d.Ended != nil {
		d.Ended(ctx, string(drill.Receipt.Verdict))
	}
	if closed {
		d.Log.InfoContext(ctx, "a drill has ended", "drill", id, "verdict", drill.Receipt.Verdict, "failures", drill.Receipt.Failures)
	}
	loops, err := d.Store.LoopsOf(ctx, id)
	if err != nil {
		return fmt.Errorf("read the loops: %w", err)
	}
	d.apply(ctx, loops)
	if err := d.Incidents.Refresh(ctx, id); err != nil {
		d.Log.WarnContext(ctx, "the incident of a drill was not woken; the sweep wakes it", "drill", id, "error", err)
	}
	return nil
}
