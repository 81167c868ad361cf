// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"context"
	"strings"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/rest"
)

type acknowledgeInput struct {
	rest.IDPath
	rest.IdempotencyKey
}

func (i *incidents) acknowledge(ctx context.Context, in *acknowledgeInput) (*rest.Answer[incidentView], error) {
	id, err := in.Parse(resourceIncident)
	if err != nil {
		return nil, err
	}
	who := rest.CallerOf(ctx)
	incident, err := i.workflows.Acknowledge(ctx, vigil.UserAction{OrgID: who.Org.ID, IncidentID: id, By: who.User.Email, Key: in.Key})
	if err != nil {
		return nil, err
	}
	return rest.NewAnswer(i.show(incident)), nil
}

type resolveBody struct {
	Note string `json:"note,omitempty" maxLength:"2000" doc:"What was found, for later readers of the incident." example:"Restarted the load balancer."`
}

type resolveInput struct {
	rest.IDPath
	rest.IdempotencyKey

	Body *resolveBody
}

func (i *incidents) resolve(ctx context.Context, in *resolveInput) (*rest.Answer[incidentView], error) {
	id, err := in.Parse(resourceIncident)
	if err != nil {
		return nil, err
	}
	note := ""
	if in.Body != nil {
		note = strings.TrimSpace(in.Body.Note)
	}
	who := rest.CallerOf(ctx)
	incident, err := i.workflows.Resolve(ctx, vigil.UserAction{
		OrgID: who.Org.ID, IncidentID: id, By: who.User.Email, Note: note, Key: in.Key,
	})
	if err != nil {
		return nil, err
	}
	return rest.NewAnswer(i.show(incident)), nil
}
