package rest

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"vigil"
)

// Limits of requests.
const (
	// MaxBody is the largest request body, in bytes.
	MaxBody      = 1 << 20
	bodyDeadline = 10 * time.Second
)

// NotAudited marks an operation that changes something but gets no entry in the
// audit log.
const NotAudited = "-"

// Operation describes one method of one path.
type Operation struct {
	Method, Path string
	ID           string // in the OpenAPI document
	Tag          string
	Summary      string
	Description  string
	// Status of a success; zero means 200.
	Status int
	// Open operations need no credential.
	Open bool
	// Resource that the id in the path names, for "<resource> not found".
	Resource string
	// Audit is the action of a success in the audit log, <resource>.<verb>.
	// Every operation but GET needs it, or NotAudited.
	Audit string
	// Errors are statuses that can happen besides those that follow from the
	// other members.
	Errors []int
	// Body describes a body that the handler decodes by itself; nil leaves it to
	// Huma.
	Body *huma.Schema
}

// Registrar registers operations with a Huma API.
type Registrar struct {
	API huma.API
	// Protected runs before every operation that needs a credential; it sets the
	// request's caller. Open runs before operations that change something
	// without a credential.
	Protected, Open huma.Middlewares
	// Note stores the audit entry of ctx, unless a transaction has done so.
	Note func(ctx context.Context) error
}

// Document returns the OpenAPI document of what is registered.
func (r *Registrar) Document() *huma.OpenAPI { return r.API.OpenAPI() }

// Register serves an operation. The handler may return any error: ErrorOf
// decides what the caller sees of it. Register panics when an operation changes
// something and has no audit action.
func Register[I, O any](r *Registrar, op Operation, handle func(context.Context, *I) (*O, error)) {
	if op.Method != http.MethodGet && op.Audit == "" {
		panic(op.ID + " changes something and has no audit action")
	}
	audited := op.Audit != "" && op.Audit != NotAudited
	huma.Register(r.API, r.describe(op), func(ctx context.Context, in *I) (*O, error) {
		if audited {
			ctx = WithAudit(ctx, op.Audit, in)
		}
		out, err := handle(ctx, in)
		if err != nil {
			return nil, ErrorOf(ctx, err)
		}
		if audited {
			r.note(ctx)
		}
		return out, nil
	})
	doc := r.Document()
	if item, ok := doc.Paths[rootPattern]; ok {
		doc.Paths["/"] = item
		delete(doc.Paths, rootPattern)
	}
	r.documentErrors(op)
}

// describe returns the operation as Huma registers it.
func (r *Registrar) describe(op Operation) huma.Operation {
	described := huma.Operation{
		Method:           op.Method,
		Path:             op.Path,
		OperationID:      op.ID,
		Summary:          op.Summary,
		Description:      op.Description,
		Tags:             []string{op.Tag},
		DefaultStatus:    op.Status,
		MaxBodyBytes:     MaxBody + 1, // Huma refuses a body of exactly its limit
		BodyReadTimeout:  bodyDeadline,
		SkipValidateBody: op.Body != nil,
		Metadata:         map[string]any{metaResource: op.Resource},
	}
	if op.Body != nil {
		described.RequestBody = &huma.RequestBody{Content: map[string]*huma.MediaType{"application/json": {Schema: op.Body}}}
	}
	switch {
	case !op.Open:
		described.Middlewares = append(described.Middlewares, r.Protected...)
	case op.Method != http.MethodGet:
		described.Middlewares = append(described.Middlewares, r.Open...)
		fallthrough
	default:
		described.Security = []map[string][]string{}
	}
	// The form comes last: a malformed request counts against the rate limit, and
	// a caller without a credential learns only that it is missing.
	described.Middlewares = append(described.Middlewares, checkForm)
	if op.Path == "/" {
		described.Path = rootPattern
	}
	return described
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

// OperationAt finds a registered operation; nil when there is none.
func OperationAt(doc *huma.OpenAPI, method, path string) *huma.Operation {
	item := doc.Paths[path]
	if item == nil {
		return nil
	}
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

func errTooLarge() error {
	return &vigil.Error{
		Code:    vigil.CodeTooLarge,
		Message: "The request body is larger than 1 MiB.",
		Details: map[string]any{"limit": MaxBody},
	}
}
