// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
)

// documentVersion is the version of the API description (spec section 9).
const documentVersion = "1.0.0"

// newAPI returns an API without operations.
func newAPI(mux *http.ServeMux) huma.API {
	return rest.NewAPI(mux, &huma.Info{
		Title:   "Vigil",
		Version: documentVersion,
		Description: "Monitoring and alerting: checks probe a target at an interval from one or more regions, and their results are stored, " +
			"summarized and used for alerting. A request with a query parameter or a member of the body that its operation does not " +
			"have is refused with 400; the error names what is unknown and what there is. Names of both are case-sensitive. So is a member " +
			"that is null where its schema has no null: leave it out instead. /, /health and /ready accept any query parameter, because " +
			"load balancers add their own; so do pages and images, because links to them get more: /app, /docs, /status/, /badge/, " +
			"/verify, /recover, /email-change, /confirm-recipient, /unsubscribe, /acknowledge and /p/, which jobs ping, and /codec, " +
			"whose protocol is Temporal's. " +
			"What else is no operation, such as /openapi.json, /v1/schemas/vigil.json and /mcp, has no parameters and refuses all. " +
			"Members that a resource shows and that cannot be set are accepted and ignored, so that what was read can be written. " +
			"An answer with the header Vigil-As-Of is read from a standby of the database while the database itself is away, and may lack " +
			"what was written since that time. One with the header Vigil-Missing-Results may lack the results of the regions that it " +
			"names, since the database that keeps them is away.",
	}, []*huma.Tag{
		{Name: resource.TagSystem, Description: "Endpoints that need no account."},
		{Name: resource.TagAccount, Description: "Your account and what your plan allows."},
		{Name: resource.TagKeys, Description: "Credentials for programs."},
		{Name: resource.TagChecks, Description: "What to probe, how often and from where."},
		{Name: resource.TagLocations, Description: "Places of the organization that agents probe from."},
		{Name: resource.TagReports, Description: "Figures of a month or another time, by check, by day and in all."},
		{Name: resource.TagResults, Description: "The outcome of probes."},
		{Name: resource.TagRules, Description: "When an incident opens, and which channels are notified."},
		{Name: resource.TagChannels, Description: "Where notifications go: mail, webhooks, push, chat, pagers."},
		{
			Name:        resource.TagSubscriptions,
			Description: "Which events channels receive without being named by a rule, and who is notified of a check.",
		},
		{Name: resource.TagApply, Description: "The definitions of a project as files."},
		{Name: resource.TagStatusPages, Description: "Public pages about chosen checks."},
		{Name: resource.TagMaintenance, Description: "Planned work during which no incident opens."},
		{Name: resource.TagIncidents, Description: "What failed, since when, and who acknowledged it."},
		{Name: resource.TagDeliveries, Description: "Notifications and every attempt to deliver them."},
		{Name: resource.TagStream, Description: "Incidents as they happen."},
	})
}

// types are the registries that the document depends on.
type types struct {
	checks   resource.CheckTypes
	channels resource.ChannelTypes
}

// Document returns the OpenAPI document, as YAML, of an API that knows the
// given check and channel types.
func Document(checks resource.CheckTypes, channels resource.ChannelTypes) ([]byte, error) {
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
	describeNullEnums(schemas.Map())
	return doc
}

// serveDocument serves the document and the page that shows it. Each form of the document is
// written when it is first asked for: most processes are never asked, and all three cost more than
// the rest of New.
func (s *Server) serveDocument() error {
	doc := s.describe()
	asJSON := sync.OnceValues(func() ([]byte, error) { return json.Marshal(doc) })
	s.routes.Strict("GET /openapi.json", serveWritten("application/json", asJSON))
	s.routes.Strict("GET /openapi.yaml", serveWritten("application/yaml", doc.YAML))
	s.routes.Strict("GET /v1/schemas/vigil.json", serveWritten("application/schema+json", func() ([]byte, error) {
		text, err := asJSON()
		if err != nil {
			return nil, err
		}
		return fileSchemaOf(text)
	}))
	return s.serveDocs()
}

// serveWritten serves what write returns, which is called once.
func serveWritten(contentType string, write func() ([]byte, error)) http.HandlerFunc {
	content := sync.OnceValues(write)
	return func(w http.ResponseWriter, r *http.Request) {
		text, err := content()
		if err != nil {
			rest.WriteError(r.Context(), w, fmt.Errorf("write the OpenAPI document: %w", err))
			return
		}
		serveBytes(contentType, text)(w, r)
	}
}

// describeReadOnly says of the members that a resource shows and that a body may bring along,
// so that what was read can be written, what the API does with them: it takes any value.
func describeReadOnly(schemas map[string]*huma.Schema) {
	for _, schema := range schemas {
		for name, property := range schema.Properties {
			if property.ReadOnly {
				schema.Properties[name] = &huma.Schema{
					ReadOnly: true, Description: "Accepted with any value and ignored, so that what was read can be written.",
				}
			}
		}
	}
}
