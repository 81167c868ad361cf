package api

import (
	"context"
	"strings"

	"vigil/api/rest"
)

func (i *incidents) acknowledge(ctx context.Context, in *rest.IDPath) (*rest.Answer[incidentView], error) {
	id, err := in.Parse(resourceIncident)
	if err != nil {
		return nil, err
	}
	who := rest.CallerOf(ctx)
	incident, err := i.workflows.Acknowledge(ctx, who.Org.ID, id, who.User.Email)
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
	incident, err := i.workflows.Resolve(ctx, who.Org.ID, id, who.User.Email, note)
	if err != nil {
		return nil, err
	}
	return rest.NewAnswer(i.show(incident)), nil
}
