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
		Title:   "Vigil",
		Version: documentVersion,
		Description: "Monitoring and alerting: checks probe a target at an interval from one or more regions, and their results are stored, " +
			"summarized and used for alerting.",
	}, []*huma.Tag{
		{Name: tagSystem, Description: "Endpoints that need no account."},
		{Name: tagAccount, Description: "Your account and what your plan allows."},
		{Name: tagKeys, Description: "Credentials for programs."},
		{Name: tagChecks, Description: "What to probe, how often and from where."},
		{Name: tagResults, Description: "The outcome of probes."},
		{Name: tagRules, Description: "When an incident opens, and which channels are notified."},
		{Name: tagChannels, Description: "Where notifications go: mail, webhooks, push, chat, pagers."},
		{Name: tagApply, Description: "The definitions of a project as files."},
		{Name: tagStatusPages, Description: "Public pages about chosen checks."},
		{Name: tagMaintenance, Description: "Planned work during which no incident opens."},
		{Name: tagIncidents, Description: "What failed, since when, and who acknowledged it."},
		{Name: tagDeliveries, Description: "Notifications and every attempt to deliver them."},
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
	text, err := s.describe().YAML()
	if err != nil {
		return nil, fmt.Errorf("write the OpenAPI document: %w", err)
	}
	return text, nil
}

// describe returns the document with what Huma cannot know.
func (s *Server) describe() *huma.OpenAPI {
	doc := rest.CopyDocument(s.registrar.Document())
	schemas := doc.Components.Schemas
	s.types.describeChecks(schemas)
	s.types.describeChannels(schemas)
	describeRules(schemas.Map())
	describeReadOnly(schemas.Map())
	describeNulls(schemas.Map())
	return doc
}

// serveDocument serves the document and the page that shows it.
func (s *Server) serveDocument() error {
	doc := s.describe()
	asJSON, err := json.Marshal(doc)
	if err != nil {
		return fmt.Errorf("write the OpenAPI document: %w", err)
	}
	asYAML, err := doc.YAML()
	if err != nil {
		return fmt.Errorf("write the OpenAPI document: %w", err)
	}
	schema, err := fileSchemaOf(doc)
	if err != nil {
		return err
	}
	s.mux.HandleFunc("GET /openapi.json", serveBytes("application/json", asJSON))
	s.mux.HandleFunc("GET /openapi.yaml", serveBytes("application/yaml", asYAML))
	s.mux.HandleFunc("GET /v1/schemas/vigil.json", serveBytes("application/schema+json", schema))
	return s.serveDocs()
}

// describeReadOnly writes into the document of which type the members are that a
// resource shows and that a body may bring along. They are accepted with any
// value, and ignored.
func describeReadOnly(schemas map[string]*huma.Schema) {
	for _, resource := range []string{"Check", "AlertRule", "NotificationChannel"} {
		for _, body := range []*huma.Schema{schemas[resource+"Create"], schemas[resource+"Update"]} {
			for name, property := range body.Properties {
				if property.ReadOnly {
					shown := *schemas[resource].Properties[name]
					shown.ReadOnly, shown.Description = true, property.Description
					body.Properties[name] = &shown
				}
			}
		}
	}
}
