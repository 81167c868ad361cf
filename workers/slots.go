// SPDX-License-Identifier: Apache-2.0

package workers

import (
	"context"

	"go.temporal.io/sdk/worker"

	"github.com/vigil-monitor/vigil/activities"
)

// leaseSlots are the activity slots of a region: as many as activitySlots, and none while
// the lease of the region does not hold. The worker then opens no poll and asks for no
// activity with the answer of a workflow task, so the turns of nudged loops reach other
// workers. Workflow tasks need no lease: they touch no database.
type leaseSlots struct {
	worker.SlotSupplier

	lease  *activities.LeaseHolder
	region string
}

// ReserveSlot waits until the lease holds and a slot is free.
func (s *leaseSlots) ReserveSlot(ctx context.Context, info worker.SlotReservationInfo) (*worker.SlotPermit, error) {
	if err := s.lease.Await(ctx, s.region); err != nil {
		return nil, err
	}
	return s.SlotSupplier.ReserveSlot(ctx, info)
}

// TryReserveSlot returns nil while the lease does not hold.
func (s *leaseSlots) TryReserveSlot(info worker.SlotReservationInfo) *worker.SlotPermit {
	if _, ok := s.lease.Holds(s.region); !ok {
		return nil
	}
	return s.SlotSupplier.TryReserveSlot(info)
}

// newTuner returns the slots of the worker of a region.
func newTuner(lease *activities.LeaseHolder, region string) worker.WorkerTuner {
	slots := func(n int) worker.SlotSupplier {
		supplier, err := worker.NewFixedSizeSlotSupplier(n)
		if err != nil {
			panic(err) // n is not positive
		}
		return supplier
	}
	tuner, err := worker.NewCompositeTuner(worker.CompositeTunerOptions{
		WorkflowSlotSupplier: slots(workflowSlots),
		ActivitySlotSupplier: &leaseSlots{SlotSupplier: slots(activitySlots), lease: lease, region: region},
		// No workflow uses these, and a worker needs them.
		LocalActivitySlotSupplier: slots(1), NexusSlotSupplier: slots(1), SessionActivitySlotSupplier: slots(1),
	})
	if err != nil {
		panic(err) // never returned
	}
	return tuner
}
