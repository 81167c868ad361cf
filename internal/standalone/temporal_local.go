// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package standalone

import (
	"context"
	"reflect"
	"sync"
	"sync/atomic"

	"go.temporal.io/server/client"
	"go.temporal.io/server/common"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
	"go.temporal.io/server/common/membership"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/rpc"
	"go.temporal.io/server/common/testing/testhooks"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// localCalls lets the services of the server call each other without the network. All of
// them run in this process, and a turn of a loop is five calls between them and three of its
// worker: as requests over loopback their transport took a fifth of the server's CPU time.
//
// A server has it as the outermost interceptor and keeps the handler of each method that is
// called. A client has it as the innermost and calls that handler instead of sending. So
// both sides keep all their other interceptors, and the first call of a method, streams and
// everything after close go over the network.
type localCalls struct {
	handlers sync.Map // grpc.UnaryHandler by the full name of the method
	closed   atomic.Bool
}

// keep is the interceptor of a server.
func (l *localCalls) keep(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	l.handlers.LoadOrStore(info.FullMethod, handler)
	return handler(ctx, request)
}

// serverOption adds keep to a server. It must be the first of the options.
func (l *localCalls) serverOption() grpc.ServerOption { return grpc.ChainUnaryInterceptor(l.keep) }

// dialOption adds call to a client. It must be the last of the options that add interceptors.
func (l *localCalls) dialOption() grpc.DialOption { return grpc.WithChainUnaryInterceptor(l.call) }

// close sends all further calls over the network, whose servers refuse them while they stop.
func (l *localCalls) close() { l.closed.Store(true) }

// call is the interceptor of a client. As over the network, neither side sees values of the
// other's context, or changes that the other makes to a message.
func (l *localCalls) call(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
	send grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	handler, ok := l.handlers.Load(method)
	message, isMessage := request.(proto.Message)
	if !ok || !isMessage || l.closed.Load() {
		return send(ctx, method, request, reply, conn, options...)
	}
	if ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	stream := localStream{method: method}
	sent, _ := metadata.FromOutgoingContext(ctx)
	bare, cancel := context.WithCancel(withoutValues{ctx}) // it ends with the call, as that of a server
	defer cancel()
	served := metadata.NewIncomingContext(grpc.NewContextWithServerTransportStream(bare, &stream), sent)
	answer, err := handler.(grpc.UnaryHandler)(served, proto.Clone(message)) //nolint:contextcheck // it has the end of ctx
	stream.deliver(options)
	switch {
	case ctx.Err() != nil:
		return status.FromContextError(ctx.Err()).Err()
	case err != nil:
		if failure, ok := status.FromError(err); ok {
			return failure.Err()
		}
		return status.FromContextError(err).Err()
	}
	return copyMessage(reply, answer)
}

// copyMessage copies what a handler answered into an empty reply. The two may have different
// types for one form on the wire: history answers with events that are still encoded.
func copyMessage(reply, answer any) error {
	into, from := reply.(proto.Message), answer.(proto.Message)
	if reflect.TypeOf(into) == reflect.TypeOf(from) {
		proto.Merge(into, from)
		return nil
	}
	raw, err := proto.Marshal(from)
	if err != nil {
		return err
	}
	return proto.Unmarshal(raw, into)
}

// withoutValues is a context with the deadline and the end of another one, but none of its
// values.
type withoutValues struct{ context.Context }

// Value returns nil.
func (withoutValues) Value(any) any { return nil }

// AfterFunc spares package context a goroutine for each context that is derived from c itself.
func (c withoutValues) AfterFunc(f func()) func() bool { return context.AfterFunc(c.Context, f) }

// localStream collects what a handler sends beside its answer.
type localStream struct {
	method          string
	mu              sync.Mutex
	header, trailer metadata.MD
}

// Method is the full name of the method.
func (s *localStream) Method() string { return s.method }

// SetHeader adds to the header.
func (s *localStream) SetHeader(md metadata.MD) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.header = metadata.Join(s.header, md)
	return nil
}

// SendHeader adds to the header, which the client gets with the answer.
func (s *localStream) SendHeader(md metadata.MD) error { return s.SetHeader(md) }

// SetTrailer adds to the trailer.
func (s *localStream) SetTrailer(md metadata.MD) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trailer = metadata.Join(s.trailer, md)
	return nil
}

// deliver fills what the options of the client point to.
func (s *localStream) deliver(options []grpc.CallOption) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, option := range options {
		switch o := option.(type) {
		case grpc.HeaderCallOption:
			*o.HeaderAddr = s.header
		case grpc.TrailerCallOption:
			*o.TrailerAddr = s.trailer
		}
	}
}

// localClients makes the clients with which the services call each other.
type localClients struct {
	calls   *localCalls
	secure  mutualTLS
	network client.FactoryProvider
}

// NewFactory makes the clients of one service.
func (l localClients) NewFactory(connections common.RPCFactory, monitor membership.Monitor, handler metrics.Handler,
	settings *dynamicconfig.Collection, hooks testhooks.TestHooks, shards int32, logger, throttled log.Logger,
) client.Factory {
	local := localConnections{connections, l.calls, l.secure, handler, logger}
	return l.network.NewFactory(local, monitor, handler, settings, hooks, shards, logger, throttled)
}

// localConnections are the connections of one service to history and matching.
type localConnections struct {
	common.RPCFactory
	calls   *localCalls
	secure  mutualTLS
	metrics metrics.Handler
	log     log.Logger
}

// CreateHistoryGRPCConnection returns a connection to history.
func (c localConnections) CreateHistoryGRPCConnection(address string) *grpc.ClientConn {
	return c.dial(address)
}

// CreateMatchingGRPCConnection returns a connection to matching.
func (c localConnections) CreateMatchingGRPCConnection(address string) *grpc.ClientConn {
	return c.dial(address)
}

func (c localConnections) dial(address string) *grpc.ClientConn {
	conn, err := rpc.Dial(address, c.secure.client(), c.log, c.metrics, c.calls.dialOption())
	if err != nil {
		c.log.Fatal("the address of a service of this server cannot be used", tag.Error(err))
	}
	return conn
}
