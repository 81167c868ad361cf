package api

import (
	"context"
	"strings"

	"github.com/google/uuid"
)

func (s *Server) acknowledgeIncident(ctx context.Context, in *IDPath) (*answerOf[incidentView], error) {
	id, err := in.parse(resourceIncident)
	if err != nil {
		return nil, err
	}
	who := caller(ctx)
	incident, err := s.Incidents.Acknowledge(ctx, who.org.ID, id, who.user.Email)
	if err != nil {
		return nil, err
	}
	return answering(s.showIncident(incident)), nil
}

type resolveBody struct {
	Note string `json:"note,omitempty" maxLength:"2000" doc:"What was found, for whoever reads about the incident later." example:"Restarted the load balancer."`
}

type resolveInput struct {
	IDPath
	Body *resolveBody
}

func (s *Server) resolveIncident(ctx context.Context, in *resolveInput) (*answerOf[incidentView], error) {
	id, err := in.parse(resourceIncident)
	if err != nil {
		return nil, err
	}
	note := ""
	if in.Body != nil {
		note = strings.TrimSpace(in.Body.Note)
	}
	who := caller(ctx)
	incident, err := s.Incidents.Resolve(ctx, who.org.ID, id, who.user.Email, note)
	if err != nil {
		return nil, err
	}
	return answering(s.showIncident(incident)), nil
}

// lookAt has the incident of a check thought over, after what it depends on was
// changed. What this misses the sweep repairs.
func (s *Server) lookAt(ctx context.Context, check uuid.UUID) {
	s.tasks.start(ctx, "look at the incident of a check", func(ctx context.Context) error { return s.Incidents.Look(ctx, check) })
}
