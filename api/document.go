package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
)

const (
	schemaPrefix   = "#/components/schemas/"
	responsePrefix = "#/components/responses/"
	// documentVersion is the version of the API description (spec section 9).
	documentVersion = "1.0.0"
)

func schemaRef(name string) *huma.Schema { return &huma.Schema{Ref: schemaPrefix + name} }

// humaConfig sets up Huma without what it would add by itself: no $schema
// members, no page from a CDN, no routes of its own.
func (s *Server) humaConfig() huma.Config {
	format := huma.Format{Marshal: encodeJSON, Unmarshal: decodeJSON}
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:       "Vigil",
				Version:     documentVersion,
				Description: "Monitoring and alerting: checks probe a target at an interval from one or more regions, and their results are kept, summed up and acted on.",
			},
			Servers: []*huma.Server{{URL: "/", Description: "This server"}},
			Components: &huma.Components{
				Schemas:   huma.NewMapRegistry(schemaPrefix, schemaName),
				Responses: errorResponses(),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"bearer": {Type: "http", Scheme: "bearer", Description: "An API key (vgl_...) or a session token."},
					"apiKey": {Type: "apiKey", In: "header", Name: "X-API-Key", Description: "An API key (vgl_...)."},
				},
			},
			Security: []map[string][]string{{"bearer": {}}, {"apiKey": {}}},
			Tags: []*huma.Tag{
				{Name: tagSystem, Description: "What needs no account."},
				{Name: tagAccount, Description: "Who you are and what your plan allows."},
				{Name: tagKeys, Description: "Credentials for programs."},
				{Name: tagChecks, Description: "What is probed, how often and from where."},
				{Name: tagResults, Description: "What the probes saw."},
			},
		},
		Formats:       map[string]huma.Format{"application/json": format, "json": format},
		DefaultFormat: "application/json",
	}
}

// schemaName names the schema of a Go type: checkView is Check, the list and the
// envelope around it are CheckList and CheckAnswer, and loginBody is
// LoginRequest.
func schemaName(t reflect.Type, hint string) string {
	name := t.Name()
	if t.Kind() == reflect.Pointer {
		name = t.Elem().Name()
	}
	if name == "" {
		name = hint
	}
	suffix := ""
	if outer, inner, ok := strings.Cut(strings.TrimSuffix(name, "]"), "["); ok {
		name = inner[strings.LastIndexAny(inner, "./")+1:]
		suffix = map[string]string{"envelope": "Answer", "list": "List"}[outer]
	}
	name = strings.TrimSuffix(name, "View")
	if of, ok := strings.CutSuffix(name, "Body"); ok {
		name = of + "Request"
	}
	first, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(first)) + name[size:] + suffix
}

// responseName is the component that describes an error status.
func responseName(status int) string {
	return strings.ReplaceAll(http.StatusText(status), " ", "")
}

// errorResponses describes every error status, with the one body they share.
func errorResponses() map[string]*huma.Response {
	told := map[int]string{
		http.StatusBadRequest:            "The request is wrong; the sentence and `details.member` name what.",
		http.StatusUnauthorized:          "The credential is missing or not valid.",
		http.StatusForbidden:             "The plan does not allow this; `details` has `limit`, `current`, `requested` and `tier`.",
		http.StatusNotFound:              "There is no such thing in this organization.",
		http.StatusConflict:              "What exists stands in the way.",
		http.StatusRequestEntityTooLarge: "The body is larger than 1 MiB.",
		http.StatusTooManyRequests:       "Too many requests; `Retry-After` says how many seconds to wait.",
		http.StatusInternalServerError:   "Something went wrong on our side.",
		http.StatusServiceUnavailable:    "A part of the platform does not answer; `Retry-After` says how many seconds to wait.",
	}
	responses := make(map[string]*huma.Response, len(told))
	for status, description := range told {
		response := &huma.Response{
			Description: description,
			Content:     map[string]*huma.MediaType{"application/json": {Schema: schemaRef("Error")}},
		}
		if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
			response.Headers = map[string]*huma.Header{"Retry-After": {
				Description: "Seconds to wait.", Schema: &huma.Schema{Type: huma.TypeInteger},
			}}
		}
		responses[responseName(status)] = response
	}
	return responses
}

// Document returns the OpenAPI document, as YAML, of an API that knows the
// given check and channel types.
func Document(known probes, channels channels) ([]byte, error) {
	s := assemble(Deps{Probes: known, Channels: channels})
	s.describe()
	text, err := s.huma.OpenAPI().YAML()
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
	asJSON, err := json.Marshal(s.huma.OpenAPI())
	if err != nil {
		return fmt.Errorf("write the OpenAPI document: %w", err)
	}
	asYAML, err := s.huma.OpenAPI().YAML()
	if err != nil {
		return fmt.Errorf("write the OpenAPI document: %w", err)
	}
	s.mux.HandleFunc("GET /openapi.json", serveBytes("application/json", asJSON))
	s.mux.HandleFunc("GET /openapi.yaml", serveBytes("application/yaml", asYAML))
	return s.serveDocs()
}
