// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/dispatch"
	"github.com/vigil-monitor/vigil/internal/drills"
	"github.com/vigil-monitor/vigil/storage"
)

// newDrills returns what leads drills.
func (p *Platform) newDrills() *activities.Drills {
	return activities.NewDrills(activities.DrillsOptions{
		Store: p.store, Loops: p.loops, Incidents: p.incidents, Version: p.program.Version, Log: p.Log, Ended: p.metrics.Drills(),
		Signer: func(ctx context.Context) (func([]byte) (string, error), error) {
			key, err := p.store.SigningKey(ctx)
			return func(receipt []byte) (string, error) { return key.Sign(receipt), nil }, err
		},
	})
}

// sweptDrills are the drills as the sweep sees them.
type sweptDrills struct {
	*storage.Store
	incidents *dispatch.Incidents
	drills    *activities.Drills
}

func (d sweptDrills) StartDrill(ctx context.Context, orgID, id uuid.UUID) error {
	return d.incidents.StartDrill(ctx, orgID, id)
}

// CloseDrill closes a drill as its workflow does.
func (d sweptDrills) CloseDrill(ctx context.Context, id uuid.UUID) error {
	return d.drills.CloseDrill(ctx, id)
}

// RunDrillSchedule stores the drill of a schedule, in the default region where nothing names another.
func (d sweptDrills) RunDrillSchedule(ctx context.Context, orgID, id uuid.UUID) (*drills.Drill, error) {
	region, _ := vigil.RegionByKey(vigil.DefaultRegionAlias)
	return d.Store.RunDrillSchedule(ctx, orgID, id, region.Key)
}
