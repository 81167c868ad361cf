package api_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// contract is the OpenAPI document as tests hold the API to it: read by one independent reader,
// and its schemas by a validator of JSON Schema 2020-12, which OpenAPI 3.1 refers to.
type contract struct {
	doc    *openapi3.T
	router routers.Router

	mu       sync.Mutex
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema // by the JSON pointer; nil: there is none
	tree     any
}

var loadContract = sync.OnceValues(newContract) //nolint:gochecknoglobals // read once for all tests

func newContract() (*contract, error) {
	text, err := newDocument()
	if err != nil {
		return nil, err
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		return nil, err
	}
	asJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, err
	}
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	if err := compiler.AddResource(documentURL, tree); err != nil {
		return nil, err
	}
	return &contract{doc: doc, router: router, compiler: compiler, schemas: map[string]*jsonschema.Schema{}, tree: tree}, nil
}

const documentURL = "vigil:///openapi.json"

// documented returns the contract.
func documented(t *testing.T) *contract {
	t.Helper()
	c, err := loadContract()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// document returns the OpenAPI document of an API with all check and channel types.
func document(t *testing.T) *openapi3.T {
	t.Helper()
	return documented(t).doc
}

// pointer joins the parts of a JSON pointer (RFC 6901).
func pointer(parts ...string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var at strings.Builder
	for _, part := range parts {
		at.WriteString("/" + escape.Replace(part))
	}
	return at.String()
}

// at returns what the document has at a pointer; nil when it has nothing.
func (c *contract) at(parts ...string) any {
	node := c.tree
	for _, part := range parts {
		object, _ := node.(map[string]any)
		node = object[part]
	}
	return node
}

// schema returns the schema at a pointer; nil when there is none.
func (c *contract) schema(parts ...string) (*jsonschema.Schema, error) {
	at := pointer(parts...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if schema, ok := c.schemas[at]; ok {
		return schema, nil
	}
	var schema *jsonschema.Schema
	if c.at(parts...) != nil {
		var err error
		if schema, err = c.compiler.Compile(documentURL + "#" + at); err != nil {
			return nil, fmt.Errorf("the schema at %s: %w", at, err)
		}
	}
	c.schemas[at] = schema
	return schema, nil
}

const jsonType = "application/json"

// permits returns why the document forbids a request; nil when it allows it.
func (c *contract) permits(req *http.Request, route *routers.Route, params map[string]string, body []byte) error {
	input := &openapi3filter.RequestValidationInput{
		Request: req, PathParams: params, Route: route,
		Options: &openapi3filter.Options{
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, SkipSettingDefaults: true, ExcludeRequestBody: true,
		},
	}
	if err := openapi3filter.ValidateRequest(req.Context(), input); err != nil {
		return err
	}
	described := route.Operation.RequestBody
	switch {
	case described == nil:
		return nil
	case len(body) == 0 && described.Value.Required:
		return errors.New("the body is missing")
	case len(body) == 0:
		return nil
	}
	return c.request(req.Method, route.Path, body)
}

// describes returns what of an answer the document does not describe.
func (c *contract) describes(req *http.Request, route *routers.Route, res *http.Response, body []byte) error {
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: req, Route: route},
		Status:                 res.StatusCode, Header: res.Header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, ExcludeResponseBody: true},
	}
	if err := openapi3filter.ValidateResponse(req.Context(), input); err != nil {
		return err
	}
	return c.answer(req.Method, route.Path, res.StatusCode, res.Header.Get("Content-Type"), body)
}

// request returns why the document forbids a body of an operation; nil when it allows it.
func (c *contract) request(method, path string, body []byte) error {
	schema, err := c.schema("paths", path, strings.ToLower(method), "requestBody", "content", jsonType, "schema")
	if err != nil || schema == nil {
		return err
	}
	return validJSON(schema, body)
}

// answer returns why the document does not describe the body of an answer.
func (c *contract) answer(method, path string, status int, contentType string, body []byte) error {
	at := []string{"paths", path, strings.ToLower(method), "responses", strconv.Itoa(status)}
	response, ok := c.at(at...).(map[string]any)
	if !ok {
		return fmt.Errorf("the status %d is not in the document", status)
	}
	if ref, ok := response["$ref"].(string); ok {
		at = strings.Split(strings.TrimPrefix(ref, "#/"), "/")
		response, _ = c.at(at...).(map[string]any)
	}
	content, _ := response["content"].(map[string]any)
	if len(content) == 0 {
		if len(body) > 0 {
			return fmt.Errorf("the status %d has no body in the document, and one of %d bytes", status, len(body))
		}
		return nil
	}
	kind, _, _ := strings.Cut(contentType, ";")
	if _, ok := content[kind]; !ok {
		return fmt.Errorf("the content type %q of status %d is not in the document", contentType, status)
	}
	schema, err := c.schema(append(at, "content", kind, "schema")...)
	if err != nil || schema == nil || kind != jsonType {
		return err
	}
	return validJSON(schema, body)
}

func validJSON(schema *jsonschema.Schema, text []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// operation is one method of one path of the document.
type operation struct {
	method, path string
	*openapi3.Operation
}

// operations returns all operations of the document, always in the same order.
func (c *contract) operations() []operation {
	var all []operation
	for path, item := range c.doc.Paths.Map() {
		for method, one := range item.Operations() {
			all = append(all, operation{method: method, path: path, Operation: one})
		}
	}
	slices.SortFunc(all, func(a, b operation) int { return strings.Compare(a.path+a.method, b.path+b.method) })
	return all
}

// asked is the body of a request that the document describes, as a tree that a test can change.
func asked(t *testing.T, text string) map[string]any {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return body
}
