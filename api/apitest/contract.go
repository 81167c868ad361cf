// SPDX-License-Identifier: Apache-2.0

package apitest

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

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Contract is an OpenAPI document as tests hold an API to it: read by one independent reader,
// and its schemas by a validator of JSON Schema 2020-12, which OpenAPI 3.1 refers to. It is safe
// for concurrent use.
type Contract struct {
	Doc *openapi3.T

	router   routers.Router
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema // by the JSON pointer; nil: there is none
	tree     any
}

const documentURL = "vigil:///openapi.json"

// Read reads a document, which is YAML or JSON.
func Read(document []byte) (*Contract, error) {
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		return nil, fmt.Errorf("read the paths of the OpenAPI document: %w", err)
	}
	asJSON := document
	if !json.Valid(document) {
		if asJSON, err = yaml.YAMLToJSON(document); err != nil {
			return nil, fmt.Errorf("read the OpenAPI document: %w", err)
		}
	}
	tree, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	if err := compiler.AddResource(documentURL, tree); err != nil {
		return nil, fmt.Errorf("read the schemas of the OpenAPI document: %w", err)
	}
	return &Contract{Doc: doc, router: router, compiler: compiler, schemas: map[string]*jsonschema.Schema{}, tree: tree}, nil
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

// At returns what the document has at a pointer; nil when it has nothing.
func (c *Contract) At(parts ...string) any {
	node := c.tree
	for _, part := range parts {
		object, _ := node.(map[string]any)
		node = object[part]
	}
	return node
}

// schema returns the schema at a pointer; nil when there is none.
func (c *Contract) schema(parts ...string) (*jsonschema.Schema, error) {
	at := pointer(parts...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if schema, ok := c.schemas[at]; ok {
		return schema, nil
	}
	var schema *jsonschema.Schema
	if c.At(parts...) != nil {
		var err error
		if schema, err = c.compiler.Compile(documentURL + "#" + at); err != nil {
			return nil, fmt.Errorf("the schema at %s: %w", at, err)
		}
	}
	c.schemas[at] = schema
	return schema, nil
}

// JSON is the content type of bodies.
const JSON = "application/json"

// permits returns why the document forbids a request; nil when it allows it.
func (c *Contract) permits(req *http.Request, route *routers.Route, params map[string]string, body []byte) error {
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
	return c.Request(req.Method, route.Path, body)
}

// describes returns what of an answer the document does not describe.
func (c *Contract) describes(req *http.Request, route *routers.Route, res *http.Response, body []byte) error {
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

// Request returns why the document forbids a body of an operation; nil when it allows it.
func (c *Contract) Request(method, path string, body []byte) error {
	schema, err := c.schema("paths", path, strings.ToLower(method), "requestBody", "content", JSON, "schema")
	if err != nil || schema == nil {
		return err
	}
	return validJSON(schema, body)
}

// answer returns why the document does not describe the body of an answer.
func (c *Contract) answer(method, path string, status int, contentType string, body []byte) error {
	at := []string{"paths", path, strings.ToLower(method), "responses", strconv.Itoa(status)}
	response, ok := c.At(at...).(map[string]any)
	if !ok {
		return fmt.Errorf("the status %d is not in the document", status)
	}
	if ref, ok := response["$ref"].(string); ok {
		at = strings.Split(strings.TrimPrefix(ref, "#/"), "/")
		response, _ = c.At(at...).(map[string]any)
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
	if err != nil || schema == nil || kind != JSON {
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

// Operation is one method of one path of the document.
type Operation struct {
	Method, Path string
	*openapi3.Operation
}

// Operations returns all operations of the document, always in the same order.
func (c *Contract) Operations() []Operation {
	var all []Operation
	for path, item := range c.Doc.Paths.Map() {
		for method, one := range item.Operations() {
			all = append(all, Operation{Method: method, Path: path, Operation: one})
		}
	}
	slices.SortFunc(all, func(a, b Operation) int { return strings.Compare(a.Path+a.Method, b.Path+b.Method) })
	return all
}
