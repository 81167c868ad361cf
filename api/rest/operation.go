// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
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

// AnyScope marks an operation that every key may use.
const AnyScope account.Scope = "-"

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
	// Scope is what a caller must have; empty means ScopeRead for GET. Every
	// other operation that needs a credential needs it, or AnyScope.
	Scope account.Scope
	// WriteScope is what a caller must have besides Scope unless the body says dry_run; empty:
	// nothing. The handler checks it, and the OpenAPI document says so.
	WriteScope account.Scope
	// Own operations concern the account of the user alone: a session may use them
	// with any role of the user, and only a key needs Scope.
	Own bool
	// Audit is the action of a success in the audit log, <resource>.<verb>.
	// Every operation but GET needs it, or NotAudited.
	Audit string
	// Idempotent operations create or send something, and may be repeated with an
	// Idempotency-Key. They must be audited.
	Idempotent bool
	// Revisioned operations are about one resource whose definition has a revision: their
	// answers have its ETag, GET takes If-None-Match, and PUT and DELETE take If-Match, which
	// PreconditionOf returns.
	Revisioned bool
	// MaxBody is the largest body, in bytes; 0 for MaxBody.
	MaxBody int64
	// MaxValues is how many values a body may have, with objects, arrays and what is in them; 0
	// for 10,000.
	MaxValues int
	// Computes: an operation other than GET that reads and computes much, so that it takes a
	// place of the shares as a read does.
	Computes bool
	// Waits: the answer waits for others, such as workers, and takes no place of the shares.
	Waits bool
	// Errors are statuses that can happen besides those that follow from the
	// other members.
	Errors []int
	// Judge returns what else is wrong with a body whose form is refused, so that one answer
	// names all of it; see Together. The handler judges the body whose form is right. nil: nothing.
	Judge func(ctx context.Context, body []byte) error
}

// audited reports whether a success gets an entry in the audit log.
func (op *Operation) audited() bool { return op.Audit != "" && op.Audit != NotAudited }

// Registrar registers operations with a Huma API.
type Registrar struct {
	API huma.API
	// Protected runs before every operation that needs a credential; it sets the
	// request's caller. Open runs before operations that change something
	// without a credential.
	Protected, Open huma.Middlewares
	// ReadsOnly registers only what changes nothing and leaves no entry in the audit log.
	ReadsOnly bool
	// Shares are the places in which reads are answered; nil: any number at a time.
	Shares Shares
	// Repeats keeps the answers of requests with an Idempotency-Key.
	Repeats RepeatStore
	// Note stores the audit entry of ctx, unless a transaction has done so.
	Note func(ctx context.Context) error
	// limits are the largest bodies of the paths that have a limit of their own.
	limits map[string]int64
}

// bodyLimit returns the largest body of a path, in bytes.
func (r *Registrar) bodyLimit(path string) int64 { return cmp.Or(r.limits[path], MaxBody) }

// Document returns the OpenAPI document of what is registered.
func (r *Registrar) Document() *huma.OpenAPI { return r.API.OpenAPI() }

// Register serves an operation. The handler may return any error: ErrorOf
// decides what the caller sees of it. Register panics when an operation changes
// something and has no audit action, or no scope though it needs a credential.
func Register[I, O any](r *Registrar, op Operation, handle func(context.Context, *I) (*O, error)) {
	if r.ReadsOnly && (op.Method != http.MethodGet || op.audited()) {
		return
	}
	if op.Method != http.MethodGet && op.Audit == "" {
		panic(op.ID + " changes something and has no audit action")
	}
	if op.Method == http.MethodGet && op.Scope == "" {
		op.Scope = account.ScopeRead
	}
	if !op.Open && op.Scope == "" {
		panic(op.ID + " changes something and has no scope")
	}
	if op.MaxBody > 0 {
		if r.limits == nil {
			r.limits = make(map[string]int64)
		}
		r.limits[op.Path] = op.MaxBody
	}
	audited := op.audited()
	if op.Idempotent {
		handle = repeatable(r.Repeats, handle)
		op.Errors = append(op.Errors, http.StatusConflict)
	}
	if op.Revisioned && conditional(op.Method) {
		op.Errors = append(op.Errors, http.StatusPreconditionFailed)
	}
	if op.reads() {
		handle = inShare(r, handle)
	}
	described := r.describe(op, bodyMembers(reflect.TypeFor[I]()))
	if op.Idempotent {
		describeRepeats(&described)
	}
	if op.Revisioned {
		describeConditions(&described)
	}
	huma.Register(r.API, described, func(ctx context.Context, in *I) (*O, error) {
		if nulls := RequestOf(ctx).nulls; len(nulls) > 0 {
			return nil, ErrorOf(ctx, invalid(inOrder(&described, judged(ctx, &described, nulls))))
		}
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
		if op.Revisioned {
			return tagged(ctx, out)
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
func (r *Registrar) describe(op Operation, members []string) huma.Operation {
	described := huma.Operation{
		Method:          op.Method,
		Path:            op.Path,
		OperationID:     op.ID,
		Summary:         op.Summary,
		Description:     op.Description,
		Tags:            []string{op.Tag},
		DefaultStatus:   op.Status,
		MaxBodyBytes:    cmp.Or(op.MaxBody, MaxBody) + 1, // Huma refuses a body of exactly its limit
		BodyReadTimeout: bodyDeadline * time.Duration(max(1, op.MaxBody/MaxBody)),
		Metadata:        map[string]any{metaResource: op.Resource, metaMembers: members, metaJudge: op.Judge},
	}
	switch {
	case !op.Open:
		described.Middlewares = append(described.Middlewares, r.Protected...)
		if op.Scope != AnyScope {
			require := requireScope
			if op.Own {
				require = requireOwn
			}
			described.Middlewares = append(described.Middlewares, require(op.Scope))
			described.Extensions = map[string]any{extensionScope: op.Scope}
			if op.WriteScope != "" {
				described.Extensions[extensionWriteScope] = op.WriteScope
			}
		}
	case op.Method != http.MethodGet:
		described.Middlewares = append(described.Middlewares, r.Open...)
		fallthrough
	default:
		described.Security = []map[string][]string{}
	}
	// The form comes last: a malformed request counts against the rate limit, and
	// a caller without a credential learns only that it is missing.
	described.Middlewares = append(
		described.Middlewares, checkForm,
		readChecked(r.Document().Components.Schemas, cmp.Or(op.MaxBody, MaxBody), cmp.Or(op.MaxValues, maxValues)),
	)
	if op.Path == "/" {
		described.Path = rootPattern
	}
	return described
}

// rootPattern is how net/http writes the root path alone; "/" would be every
// path.
const rootPattern = "/{$}"

// Keys of an operation's metadata.
const (
	metaResource = "resource" // what the id in its path names
	metaMembers  = "members"  // members of its body, in their order
	metaJudge    = "judge"    // see Operation.Judge
)

// resourceOf names what the path of an operation identifies.
func resourceOf(op *huma.Operation) string {
	if op != nil {
		if name, ok := op.Metadata[metaResource].(string); ok && name != "" {
			return name
		}
	}
	return "resource"
}

// bodyMembers returns the JSON names of the members of an input's body.
func bodyMembers(input reflect.Type) []string {
	body, ok := input.FieldByName("Body")
	if !ok {
		return nil
	}
	t := body.Type
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	return memberNames(t)
}

// memberNames returns the JSON names of the members of a struct, in their order.
func memberNames(t reflect.Type) []string {
	var names []string
	for _, field := range reflect.VisibleFields(t) {
		if name := jsonName(field); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
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

// ErrTooLarge is the error of a request whose body is larger than limit, in bytes.
func ErrTooLarge(limit int64) error {
	return &vigil.Error{
		Code:    vigil.CodeTooLarge,
		Message: fmt.Sprintf("The request body is larger than %d MiB.", limit>>20),
		Details: map[string]any{"limit": limit},
	}
}
