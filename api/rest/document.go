// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

const (
	// SchemaPrefix begins the reference to a schema.
	SchemaPrefix   = "#/components/schemas/"
	responsePrefix = "#/components/responses/"
)

// SchemaRef refers to a schema of the document by its name.
func SchemaRef(name string) *huma.Schema { return &huma.Schema{Ref: SchemaPrefix + name} }

// NewAPI returns a Huma API that serves on a mux, without what Huma would add by
// itself: $schema members, a page from a CDN, routes of its own.
func NewAPI(mux *http.ServeMux, info *huma.Info, tags []*huma.Tag) huma.API {
	configureHuma()
	format := huma.Format{Marshal: encodeJSON, Unmarshal: decodeJSON}
	return humago.New(mux, huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info:    info,
			Servers: []*huma.Server{{URL: "/", Description: "This server"}},
			Components: &huma.Components{
				Schemas:   huma.NewMapRegistry(SchemaPrefix, schemaName),
				Responses: errorResponses(),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"bearer": {Type: "http", Scheme: "bearer", Description: "An API key (vgl_...) or a session token."},
					"apiKey": {Type: "apiKey", In: "header", Name: "X-API-Key", Description: "An API key (vgl_...)."},
				},
			},
			Security: []map[string][]string{{"bearer": {}}, {"apiKey": {}}},
			Tags:     tags,
		},
		Formats:       map[string]huma.Format{"application/json": format, "json": format},
		DefaultFormat: "application/json",
	})
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
	prefix, suffix := "", ""
	if strings.Contains(name+t.PkgPath(), protocolRoom) {
		prefix = "Agent" // its names are short, since it is a room of its own
	}
	if outer, inner, ok := strings.Cut(strings.TrimSuffix(name, "]"), "["); ok {
		name = inner[strings.LastIndexAny(inner, "./")+1:]
		suffix = map[string]string{"Envelope": "Answer", "List": "List"}[outer]
	}
	name = strings.TrimSuffix(name, "View")
	if of, ok := strings.CutSuffix(name, "Body"); ok {
		name = of + "Request"
	}
	first, size := utf8.DecodeRuneInString(name)
	return prefix + string(unicode.ToUpper(first)) + name[size:] + suffix
}

// protocolRoom is the end of the import path of the protocol of agents.
const protocolRoom = "/internal/agentlink"

// responseName is the component that describes an error status.
func responseName(status int) string {
	return strings.ReplaceAll(http.StatusText(status), " ", "")
}

// errorResponses describes every error status, with the one body they share.
func errorResponses() map[string]*huma.Response {
	descriptions := map[int]string{
		http.StatusBadRequest:   "The request is invalid; `error` and `details.member` name the member.",
		http.StatusUnauthorized: "The credential is missing or not valid.",
		http.StatusForbidden: "The plan does not allow this, and `details` has `limit`, `current`, `requested` and `tier`; " +
			"or the API key lacks a scope, and `details` has `required` and `scopes`.",
		http.StatusNotFound:              "The resource does not exist in this organization.",
		http.StatusConflict:              "The request conflicts with the current state.",
		http.StatusPreconditionFailed:    "The resource has another revision than `If-Match` names; `details.revision` has it.",
		http.StatusRequestEntityTooLarge: "The body is larger than 1 MiB.",
		http.StatusTooManyRequests:       "Too many requests; `Retry-After` gives the seconds to wait.",
		http.StatusInternalServerError:   "Something went wrong on our side.",
		http.StatusServiceUnavailable:    "A part of the platform does not answer; `Retry-After` gives the seconds to wait.",
	}
	responses := make(map[string]*huma.Response, len(descriptions))
	for status, description := range descriptions {
		response := &huma.Response{
			Description: description,
			Content:     map[string]*huma.MediaType{"application/json": {Schema: SchemaRef("Error")}},
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

// documentErrors adds to the document every error that an operation can answer.
func (r *Registrar) documentErrors(op Operation) {
	described := OperationAt(r.Document(), op.Method, op.Path)
	codes := append([]int{http.StatusBadRequest, http.StatusInternalServerError}, op.Errors...)
	if described.RequestBody != nil {
		codes = append(codes, http.StatusRequestEntityTooLarge)
	}
	if !op.Open {
		codes = append(codes, http.StatusUnauthorized)
	}
	if !op.Open && op.Scope != AnyScope {
		codes = append(codes, http.StatusForbidden)
	}
	if !op.Open || op.Method != http.MethodGet {
		codes = append(codes, http.StatusTooManyRequests)
	}
	if op.Resource != "" {
		codes = append(codes, http.StatusNotFound)
	}
	delete(described.Responses, "default")
	for _, success := range described.Responses {
		documentHeaders(success, !op.Open)
	}
	if op.Revisioned {
		documentRevision(op.Method, described)
	}
	for _, code := range codes {
		described.Responses[strconv.Itoa(code)] = &huma.Response{Ref: responsePrefix + responseName(code)}
	}
}

// documentHeaders adds the headers that every success has.
func documentHeaders(success *huma.Response, limited bool) {
	if success.Headers == nil {
		success.Headers = make(map[string]*huma.Header)
	}
	describe := func(name, description string) {
		success.Headers[name] = &huma.Header{Description: description, Schema: &huma.Schema{Type: huma.TypeString}}
	}
	describe("X-Request-Id", "Names this request: the one that was sent, or a new one.")
	if limited {
		describe("RateLimit-Policy", "Requests that a window of the organization admits, and its length in seconds.")
		describe("RateLimit", "Requests that are left of the window, and the seconds until it ends. Absent without a limit.")
	}
}

// CopyDocument returns a copy of a document whose schemas can be changed without
// changing what requests are validated against.
func CopyDocument(doc *huma.OpenAPI) *huma.OpenAPI {
	schemas := huma.NewMapRegistry(SchemaPrefix, schemaName)
	for name, schema := range doc.Components.Schemas.Map() {
		copied := *schema
		copied.Properties = make(map[string]*huma.Schema, len(schema.Properties))
		for member, property := range schema.Properties {
			one := *property
			copied.Properties[member] = &one
		}
		schemas.Map()[name] = &copied
	}
	components := *doc.Components
	components.Schemas = schemas
	copied := *doc
	copied.Components = &components
	return &copied
}
