// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/channelhealth"
)

// noIncidentWorkflows stands in where there are no workflows: incidents can be
// read and not changed.
type noIncidentWorkflows struct{}

func (noIncidentWorkflows) Acknowledge(context.Context, vigil.UserAction) (vigil.Incident, error) {
	return vigil.Incident{}, errNoIncidentWorkflows()
}

func (noIncidentWorkflows) Resolve(context.Context, vigil.UserAction) (vigil.Incident, error) {
	return vigil.Incident{}, errNoIncidentWorkflows()
}

func (noIncidentWorkflows) Redeliver(context.Context, uuid.UUID, uuid.UUID) error {
	return errNoIncidentWorkflows()
}

func (noIncidentWorkflows) Refresh(context.Context, uuid.UUID) error { return nil }

func (noIncidentWorkflows) Recover(context.Context, channelhealth.Recovery) error { return nil }

func (noIncidentWorkflows) Send(context.Context, vigil.PendingDelivery) error { return nil }

func (noIncidentWorkflows) StartDrill(context.Context, uuid.UUID, uuid.UUID) error { return nil }

func errNoIncidentWorkflows() error {
	return vigil.Errorf(vigil.CodeUnavailable, "This server cannot change incidents: it was started without their workflows.")
}
