// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/audit"
	"github.com/vigil-monitor/vigil/internal/idempotency"
)

const (
	repeatHeader   = "Idempotency-Key"
	replayedHeader = "Idempotent-Replayed"
	maxRepeatKey   = 255
	// releaseLimit bounds how long it takes to release the key of a request that failed.
	releaseLimit = 2 * time.Second
)

// RepeatStore keeps the answers of requests that a client may repeat.
type RepeatStore interface {
	// BeginRequest starts an execution, or returns the answer of an earlier one.
	BeginRequest(ctx context.Context, r *idempotency.Request) (answer []byte, err error)
	// FinishRequest stores the answer of an execution that creates nothing.
	FinishRequest(ctx context.Context, r *idempotency.Request, answer []byte) error
	// AbandonRequest releases the key of an execution that failed.
	AbandonRequest(ctx context.Context, r *idempotency.Request) error
}

// repeatable returns a handler that runs a request with an Idempotency-Key once, and
// answers the same request with the same answer for 24 hours. Only successes are kept, and
// no dry runs.
func repeatable[I, O any](store RepeatStore, handle func(context.Context, *I) (*O, error)) func(context.Context, *I) (*O, error) {
	return func(ctx context.Context, in *I) (*O, error) {
		req := RequestOf(ctx)
		if req.repeatKey == "" {
			return handle(ctx, in)
		}
		run, err := req.execution()
		if err != nil {
			return nil, err
		}
		answer, err := store.BeginRequest(ctx, run)
		if err != nil {
			return nil, err
		}
		if answer != nil {
			audit.FromContext(ctx).Claim() // the first execution is in the audit log
			req.setHeader(replayedHeader, "true")
			return replayed[O](answer)
		}
		out, err := handle(idempotency.NewContext(ctx, run), in)
		if err == nil && dryRun(in) {
			req.release(ctx, store, run)
			return out, nil
		}
		if err == nil && !run.Kept {
			err = finish(ctx, store, run, out)
		}
		if err != nil {
			req.release(ctx, store, run)
			return nil, err
		}
		return out, nil
	}
}

// dryRun reports whether a request says dry_run, in its body or query: it changes nothing, so
// that it can be repeated in any case, and its answer is not kept. Its key is free afterwards.
func dryRun(in any) bool {
	request := reflect.ValueOf(in).Elem()
	for _, part := range []reflect.Value{request, request.FieldByName("Body")} {
		if part.Kind() != reflect.Struct {
			continue
		}
		if said := part.FieldByName("DryRun"); said.IsValid() && said.Kind() == reflect.Bool && said.Bool() {
			return true
		}
	}
	return false
}

// execution describes the request for the store.
func (r *Request) execution() (*idempotency.Request, error) {
	if len(r.repeatKey) > maxRepeatKey || !visible(r.repeatKey) {
		return nil, vigil.Invalid(repeatHeader, "must have 1 to %d visible ASCII characters", maxRepeatKey)
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %s?%s\n", r.method, r.path, r.query)
	sum.Write(r.body)
	return &idempotency.Request{
		OrgID: r.Caller.Org.ID, Key: r.repeatKey, Fingerprint: sum.Sum(nil), Token: uuid.New(),
	}, nil
}

// ShowRepeated sets how a resource that the request creates is shown when the request is
// repeated. The answer is then stored in the transaction that creates the resource.
func ShowRepeated[R, T any](ctx context.Context, show func(R) T) {
	run := idempotency.FromContext(ctx)
	if run == nil {
		return
	}
	run.Render = func(created any) ([]byte, error) {
		row, ok := created.(R)
		if !ok {
			return nil, fmt.Errorf("a %T was created, and the answer shows a %T", created, row)
		}
		return encode(Envelope[T]{Data: show(row)})
	}
}

// bodyOf returns the member of an output that is the body of the answer.
func bodyOf(out any) reflect.Value { return reflect.ValueOf(out).Elem().FieldByName("Body") }

func encode(body any) ([]byte, error) {
	var text bytes.Buffer
	err := encodeJSON(&text, body)
	return text.Bytes(), err
}

// replayed makes the output of a stored answer.
func replayed[O any](answer []byte) (*O, error) {
	out := new(O)
	if err := json.Unmarshal(answer, bodyOf(out).Addr().Interface()); err != nil {
		return nil, fmt.Errorf("decode the stored answer: %w", err)
	}
	return out, nil
}

// finish stores the answer of an execution that creates nothing.
func finish(ctx context.Context, store RepeatStore, run *idempotency.Request, out any) error {
	answer, err := encode(bodyOf(out).Interface())
	if err != nil {
		return err
	}
	return store.FinishRequest(ctx, run, answer)
}

// release lets a request that failed be repeated. Where that fails too, the store does so
// some minutes later.
func (r *Request) release(ctx context.Context, store RepeatStore, run *idempotency.Request) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseLimit)
	defer cancel()
	if err := store.AbandonRequest(ctx, run); err != nil {
		r.Log().LogAttrs(ctx, slog.LevelWarn, "idempotency key not released", slog.Any("error", err))
	}
}

// describeRepeats adds the header to an operation and reads it.
func describeRepeats(op *huma.Operation) {
	op.Middlewares = append(op.Middlewares, func(ctx huma.Context, next func(huma.Context)) {
		req := RequestOf(ctx.Context())
		req.repeatKey, req.setHeader = ctx.Header(repeatHeader), ctx.SetHeader
		next(ctx)
	})
	longest := maxRepeatKey
	op.Parameters = append(op.Parameters, &huma.Param{
		Name: repeatHeader, In: "header",
		Description: "A key of your choice, of visible ASCII characters. The same request with the same key gets the first answer again " +
			"for 24 hours, with `" + replayedHeader + ": true`, and nothing is done twice. A dry run is not kept.",
		Schema: &huma.Schema{Type: huma.TypeString, MaxLength: &longest, Pattern: "^[!-~]+$"},
	})
}
