// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"net/http"

	"github.com/google/uuid"
)

// Shares bounds how many reads are answered at a time, and shares them among organizations: so
// one that asks for all it can does not take the processors and the connections to the database
// from the others. Take waits for a place, until ctx ends, and returns what gives it back.
type Shares interface {
	Take(ctx context.Context, organization, user uuid.UUID) (leave func(), err error)
}

// reads reports whether an operation reads for an organization.
func (op *Operation) reads() bool {
	return op.Computes || op.Method == http.MethodGet && !op.Open && !op.Waits
}

// inShare answers requests while they hold a place. An answer is sent after it is given back,
// so a client that reads slowly holds none.
func inShare[I, O any](r *Registrar, handle func(context.Context, *I) (*O, error)) func(context.Context, *I) (*O, error) {
	return func(ctx context.Context, in *I) (*O, error) {
		caller := RequestOf(ctx).Caller
		if r.Shares == nil || caller == nil {
			return handle(ctx, in)
		}
		leave, err := r.Shares.Take(ctx, caller.Org.ID, caller.User.ID)
		if err != nil {
			return nil, err
		}
		defer leave()
		return handle(ctx, in)
	}
}
