// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/drills"
)

// slowDrills is a store whose looks take their time and find nothing to do.
type slowDrills struct {
	takes time.Duration
	looks int
}

func (s *slowDrills) FollowDrill(context.Context, uuid.UUID) (drills.Step, error) {
	s.looks++
	time.Sleep(s.takes) // sleep: a slow query
	return drills.Wait, nil
}

func (*slowDrills) StageDrill(context.Context, uuid.UUID) ([]vigil.Loop, error) { return nil, nil }
func (*slowDrills) HealDrill(context.Context, uuid.UUID) ([]vigil.Loop, error)  { return nil, nil }
func (*slowDrills) LoopsOf(context.Context, uuid.UUID) ([]vigil.Loop, error)    { return nil, nil }

func (*slowDrills) CloseDrill(context.Context, uuid.UUID, string, func([]byte) (string, error)) (drills.Drill, bool, error) {
	return drills.Drill{}, false, nil
}

// TestFollowDrillEnds proves that following a drill ends after 20 s and one look, however long looks take: its
// activity has 40 s.
func TestFollowDrillEnds(t *testing.T) {
	t.Parallel()
	for _, takes := range []time.Duration{time.Millisecond, 300 * time.Millisecond, 7 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			store, began := &slowDrills{takes: takes}, time.Now()
			acts := activities.NewDrills(activities.DrillsOptions{Store: store, Log: slog.New(slog.DiscardHandler)})
			report, err := acts.FollowDrill(t.Context(), uuid.New())
			took := time.Since(began)
			if err != nil || report.Step != drills.Wait || took < 20*time.Second || took > 20*time.Second+takes {
				t.Errorf("with looks of %v it took %v: %+v, %v", takes, took, report, err)
			}
			if least := int(20 * time.Second / (takes + 250*time.Millisecond)); store.looks < least {
				t.Errorf("with looks of %v it looked %d times, want %d", takes, store.looks, least)
			}
		})
	}
}
