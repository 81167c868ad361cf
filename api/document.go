package api

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"vigil/api/rest"
)

// documentVersion is the version of the API description (spec section 9).
const documentVersion = "1.0.0"

// newAPI returns an API without operations.
func newAPI(mux *http.ServeMux) huma.API {
	return rest.NewAPI(mux, &huma.Info{
		Title:       "Vigil",
		Version:     documentVersion,
		Description: "Monitoring and alerting: checks probe a target at an interval from one or more regions, and their results are kept, summed up and acted on.",
	}, []*huma.Tag{
		{Name: tagSystem, Description: "What needs no account."},
		{Name: tagAccount, Description: "Who you are and what your plan allows."},
		{Name: tagKeys, Description: "Credentials for programs."},
		{Name: tagChecks, Description: "What is probed, how often and from where."},
		{Name: tagResults, Description: "What the probes saw."},
		{Name: tagRules, Description: "When an incident opens, and who is told."},
		{Name: tagChannels, Description: "How people and programs are told."},
		{Name: tagIncidents, Description: "What failed, since when, and who looks after it."},
		{Name: tagDeliveries, Description: "What was told to whom, every attempt included."},
		{Name: tagStream, Description: "Incidents as they happen."},
	})
}

// types are the registries that the document depends on.
type types struct {
	checks   checkTypes
	channels channelTypes
}

// Document returns the OpenAPI document, as YAML, of an API that knows the
// given check and channel types.
func Document(checks checkTypes, channels channelTypes) ([]byte, error) {
	s := assemble(Deps{Probes: checks, Channels: channels})
	s.describe()
	text, err := s.registrar.Document().YAML()
	if err != nil {
		return nil, fmt.Errorf("write the OpenAPI document: %w", err)
	}
	return text, nil
}

// describe writes into the document what Huma cannot know.
func (s *Server) describe() {
	s.describeChecks()
	s.describeChannels()
	s.describeRules()
	s.describeNulls()
}

// serveDocument serves the document and the page that shows it.
func (s *Server) serveDocument() error {
	s.describe()
	asJSON, err := json.Marshal(s.registrar.Document())
	if err != nil {
		return fmt.Errorf("write the OpenAPI document: %w", err)
	}
	asYAML, err := s.registrar.Document().YAML()
	if err != nil {
		return fmt.Errorf("write the OpenAPI document: %w", err)
	}
	s.mux.HandleFunc("GET /openapi.json", serveBytes("application/json", asJSON))
	s.mux.HandleFunc("GET /openapi.yaml", serveBytes("application/yaml", asYAML))
	return s.serveDocs()
}
