package api

import "github.com/danielgtaylor/huma/v2"

// registerAlerts serves everything between a result and whoever hears of it.
func (s *Server) registerAlerts() {
	doc := s.huma.OpenAPI()
	doc.Tags = append(
		doc.Tags,
		&huma.Tag{Name: tagRules, Description: "When an incident opens, and who is told."},
		&huma.Tag{Name: tagChannels, Description: "How people and programs are told."},
		&huma.Tag{Name: tagIncidents, Description: "What failed, since when, and who looks after it."},
		&huma.Tag{Name: tagDeliveries, Description: "What was told to whom, every attempt included."},
		&huma.Tag{Name: tagStream, Description: "Incidents as they happen."},
	)
	s.trials = make(chan struct{}, maxTrials)
	s.registerRules()
	s.registerChannels()
	s.registerTemplateVariables()
	s.registerIncidents()
	s.registerDeliveries()
	s.registerStream()
}
