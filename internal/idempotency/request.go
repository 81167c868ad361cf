// SPDX-License-Identifier: Apache-2.0

package idempotency

import (
	"context"

	"github.com/google/uuid"
)

// Request is one execution of a request that a client may repeat.
type Request struct {
	OrgID uuid.UUID
	// Key is the Idempotency-Key, 1 to 255 visible ASCII characters, unique within the
	// organization.
	Key string
	// Fingerprint is a digest of method, path, query and body. A request with the same key
	// and another fingerprint is another request.
	Fingerprint []byte
	// Token names this execution. Only it may store the answer.
	Token uuid.UUID
	// Render returns the answer that a repeated request gets, from what was created. Nil:
	// the answer is stored after the request has ended.
	Render func(created any) ([]byte, error)
	// Kept: the answer is stored.
	Kept bool
}

type contextKey struct{}

// NewContext returns a context that carries the request.
func NewContext(ctx context.Context, request *Request) context.Context {
	return context.WithValue(ctx, contextKey{}, request)
}

// FromContext returns the request of ctx, or nil.
func FromContext(ctx context.Context) *Request {
	request, _ := ctx.Value(contextKey{}).(*Request)
	return request
}
