// SPDX-License-Identifier: Apache-2.0

package pg

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// queryLimit bounds one query, and the wait for a connection of the pool, so that no
	// caller can hang on a server that does not answer.
	queryLimit = 15 * time.Second
	// MaintenanceLimit bounds one query of long maintenance: migrations and the work on
	// partitions.
	MaintenanceLimit = 30 * time.Minute
	// CommitLimit bounds a transaction that stores results.
	CommitLimit = 30 * time.Second
	// ProbingConns are the connections reserved for results, so that a busy API does not
	// delay them: one for each transaction of a ResultWriter that can be in flight.
	ProbingConns = 4
)

type (
	limitKey      struct{}
	connectingKey struct{}
)

// WithQueryLimit returns a context whose queries may each take up to limit instead of
// queryLimit. An earlier deadline of the context stays.
func WithQueryLimit(ctx context.Context, limit time.Duration) context.Context {
	return context.WithValue(ctx, limitKey{}, limit)
}

// queryLimiter gives every query of every connection a deadline. It is the one place that
// all of them pass, those of bun and of database/sql too: pgx runs a query with the context
// that its tracer returns.
type queryLimiter struct{}

var _ interface {
	pgx.QueryTracer
	pgx.BatchTracer
	pgx.PrepareTracer
	pgx.ConnectTracer
	pgxpool.AcquireTracer
} = queryLimiter{}

// releaseKey is the key of the function that releases the timer of a limit.
type releaseKey struct{}

func limited(ctx context.Context) context.Context {
	limit, ok := ctx.Value(limitKey{}).(time.Duration)
	if !ok {
		limit = queryLimit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	return context.WithValue(ctx, releaseKey{}, cancel)
}

func release(ctx context.Context) {
	if cancel, ok := ctx.Value(releaseKey{}).(context.CancelFunc); ok {
		cancel()
	}
}

// TraceQueryStart limits a query; TraceQueryEnd is called when its rows are closed.
func (queryLimiter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return limited(ctx)
}

// TraceQueryEnd releases the limit of a query.
func (queryLimiter) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	release(ctx)
}

// TraceBatchStart limits a batch.
func (queryLimiter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return limited(ctx)
}

// TraceBatchQuery does nothing.
func (queryLimiter) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd releases the limit of a batch.
func (queryLimiter) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchEndData) {
	release(ctx)
}

// TracePrepareStart limits the preparation of a statement.
func (queryLimiter) TracePrepareStart(ctx context.Context, _ *pgx.Conn, _ pgx.TracePrepareStartData) context.Context {
	return limited(ctx)
}

// TracePrepareEnd releases the limit of a preparation.
func (queryLimiter) TracePrepareEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TracePrepareEndData) {
	release(ctx)
}

// TraceAcquireStart limits the wait for a connection of the pool.
func (queryLimiter) TraceAcquireStart(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireStartData) context.Context {
	return limited(ctx)
}

// TraceAcquireEnd releases the limit of a wait.
func (queryLimiter) TraceAcquireEnd(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireEndData) {
	release(ctx)
}

// TraceConnectStart marks the context of a new connection for its dialer.
func (queryLimiter) TraceConnectStart(ctx context.Context, _ pgx.TraceConnectStartData) context.Context {
	return context.WithValue(ctx, connectingKey{}, true)
}

// TraceConnectEnd does nothing: the connect timeout bounds connecting.
func (queryLimiter) TraceConnectEnd(context.Context, pgx.TraceConnectEndData) {}
