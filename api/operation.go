package api

import (
	"context"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"vigil"
)

// Limits of requests.
const (
	maxBody      = 1 << 20 // bytes
	bodyDeadline = 10 * time.Second
)

// operation is one row of the interface.
type operation struct {
	method, path string
	id           string // of the operation in the OpenAPI document
	tag          string
	summary      string
	description  string
	// status of a success; zero means 200.
	status int
	// open operations need no credential.
	open bool
	// resource that the id in the path names, for "<resource> not found".
	resource string
	// audit is what the audit log says of a success, <resource>.<verb>; every
	// operation that changes something has it, or notAudited.
	audit string
	// errors that can happen besides those that follow from the above.
	errors []int
	// body describes a body that the handler reads by itself; nil leaves it
	// to Huma.
	body *huma.Schema
}

// register serves an operation with a handler. The handler's errors may be of
// any kind: errorOf decides what the caller sees of them.
func register[I, O any](s *Server, op operation, handle func(context.Context, *I) (*O, error)) {
	described := huma.Operation{
		Method:           op.method,
		Path:             op.path,
		OperationID:      op.id,
		Summary:          op.summary,
		Description:      op.description,
		Tags:             []string{op.tag},
		DefaultStatus:    op.status,
		MaxBodyBytes:     maxBody + 1, // Huma refuses a body of exactly its limit
		BodyReadTimeout:  bodyDeadline,
		SkipValidateBody: op.body != nil,
		Metadata:         map[string]any{metaResource: op.resource},
	}
	if op.body != nil {
		described.RequestBody = &huma.RequestBody{Content: map[string]*huma.MediaType{"application/json": {Schema: op.body}}}
	}
	switch {
	case !op.open:
		described.Middlewares = append(described.Middlewares, s.authenticate, s.limitRate)
	case op.method != http.MethodGet:
		described.Middlewares = append(described.Middlewares, s.limitAddress)
		fallthrough
	default:
		described.Security = []map[string][]string{}
	}
	// Last: a request counts however it is written, and whoever has no
	// credential learns nothing but that.
	described.Middlewares = append(described.Middlewares, checkForm)
	changes := op.audit != "" && op.audit != notAudited
	if op.method != http.MethodGet && op.audit == "" {
		panic(op.id + " changes something and does not say what the audit log calls it")
	}
	if op.path == "/" {
		described.Path = rootPattern
	}
	huma.Register(s.huma, described, func(ctx context.Context, in *I) (*O, error) {
		if changes {
			ctx = audited(ctx, op.audit, in)
		}
		out, err := handle(ctx, in)
		if err != nil {
			return nil, errorOf(ctx, err)
		}
		if changes {
			s.noted(ctx)
		}
		return out, nil
	})
	doc := s.huma.OpenAPI()
	if item, ok := doc.Paths[rootPattern]; ok {
		doc.Paths["/"] = item
		delete(doc.Paths, rootPattern)
	}
	s.documentErrors(op)
}

// rootPattern is how net/http writes the root path alone; "/" would be every
// path.
const rootPattern = "/{$}"

// metaResource is the key of an operation's metadata that holds its resource.
const metaResource = "resource"

// resourceOf names what the path of an operation identifies.
func resourceOf(op *huma.Operation) string {
	if op != nil {
		if name, ok := op.Metadata[metaResource].(string); ok && name != "" {
			return name
		}
	}
	return "resource"
}

// refuse answers instead of the operation.
func refuse(ctx huma.Context, err error) {
	body := errorOf(ctx.Context(), err)
	for name, values := range body.header {
		ctx.SetHeader(name, strings.Join(values, ", "))
	}
	ctx.SetHeader("Content-Type", "application/json")
	ctx.SetStatus(body.status)
	_ = encodeJSON(ctx.BodyWriter(), body) // the client may be gone
}

// checkForm refuses what Huma would pass over or answer in its own way:
// parameters without a value, given twice, or badly encoded, and bodies that
// are not JSON.
func checkForm(ctx huma.Context, next func(huma.Context)) {
	op, address := ctx.Operation(), ctx.URL()
	if address.RawQuery != "" {
		if err := queryProblem(op, address.RawQuery); err != nil {
			refuse(ctx, err)
			return
		}
	}
	if op.RequestBody != nil && !saysJSON(ctx.Header("Content-Type")) {
		refuse(ctx, errMediaType())
		return
	}
	next(ctx)
}

// saysJSON reports whether a Content-Type is JSON; none at all is taken as such.
func saysJSON(contentType string) bool {
	if contentType == "" {
		return true
	}
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil || kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		return false
	}
	charset := params["charset"]
	return charset == "" || strings.EqualFold(charset, "utf-8")
}

func queryProblem(op *huma.Operation, raw string) error {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return vigil.Invalid("query", "is not properly encoded")
	}
	for _, param := range op.Parameters {
		if param.In != "query" {
			continue
		}
		switch values := query[param.Name]; {
		case len(values) == 0:
		case len(values) > 1:
			return vigil.Invalid(param.Name, "is given more than once")
		case values[0] == "":
			return vigil.Invalid(param.Name, "has no value")
		case strings.ContainsRune(values[0], 0) || !utf8.ValidString(values[0]):
			return vigil.Invalid(param.Name, "holds a character that is not allowed")
		}
	}
	return nil
}

// documentErrors adds to the document every error that an operation can answer.
func (s *Server) documentErrors(op operation) {
	described := operationAt(s.huma.OpenAPI(), op.method, op.path)
	codes := append([]int{http.StatusBadRequest, http.StatusInternalServerError}, op.errors...)
	if described.RequestBody != nil {
		codes = append(codes, http.StatusRequestEntityTooLarge)
	}
	if !op.open {
		codes = append(codes, http.StatusUnauthorized)
	}
	if !op.open || op.method != http.MethodGet {
		codes = append(codes, http.StatusTooManyRequests)
	}
	if op.resource != "" {
		codes = append(codes, http.StatusNotFound)
	}
	delete(described.Responses, "default")
	for _, success := range described.Responses {
		documentHeaders(success, !op.open)
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

// operationAt finds a registered operation.
func operationAt(doc *huma.OpenAPI, method, path string) *huma.Operation {
	item := doc.Paths[path]
	switch method {
	case http.MethodGet:
		return item.Get
	case http.MethodPost:
		return item.Post
	case http.MethodPut:
		return item.Put
	case http.MethodDelete:
		return item.Delete
	}
	return nil
}
