// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package standalone_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/vigil-monitor/vigil/internal/standalone"
)

// TestLocalCalls holds that a call in the process is to both sides what one over the network is.
func TestLocalCalls(t *testing.T) {
	t.Parallel()
	calls := standalone.NewLocalCalls()
	service, network := &mirror{}, &requests{}
	client := grpc_health_v1.NewHealthClient(serveMirror(t, calls, service, network))

	type private struct{}
	ask := func(t *testing.T, service string) (*grpc_health_v1.HealthCheckResponse, metadata.MD, metadata.MD, error) {
		t.Helper()
		ctx := context.WithValue(deadlined(t), private{}, "of the client")
		var header, trailer metadata.MD
		answer, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: service}, grpc.Header(&header), grpc.Trailer(&trailer))
		return answer, header, trailer, err
	}
	service.look = func(ctx context.Context) {
		deadline, ok := ctx.Deadline()
		if left := time.Until(deadline); !ok || left > time.Minute || left < 50*time.Second {
			t.Errorf("the deadline is in %v, %v", left, ok)
		}
		if ctx.Value(private{}) != nil {
			t.Error("the handler sees a value of the client's context")
		}
		if md, _ := metadata.FromIncomingContext(ctx); len(md.Get("asked")) != 1 {
			t.Errorf("metadata %v", md)
		}
	}
	for i, over := range []string{"the network", "the process", "the process"} {
		answer, header, trailer, err := ask(t, "fine")
		if err != nil || answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Errorf("over %s: %v, %v", over, answer, err)
		}
		if len(header.Get("head")) != 1 || len(trailer.Get("tail")) != 1 {
			t.Errorf("over %s: header %v, trailer %v", over, header, trailer)
		}
		if answer == service.last.Load() {
			t.Errorf("over %s: the client has the handler's own message", over)
		}
		if _, _, _, err = ask(t, "unknown"); status.Code(err) != codes.NotFound || status.Convert(err).Message() != "no such service" {
			t.Errorf("over %s: %v", over, err)
		}
		if got := network.count.Load(); got != 1 {
			t.Errorf("after %d calls %d went over the network, want the first one", 2*i+2, got)
		}
	}

	request := &grpc_health_v1.HealthCheckRequest{Service: "changed"}
	if _, err := client.Check(deadlined(t), request); err != nil || request.GetService() != "changed" {
		t.Errorf("the handler changed the client's message: %v, %v", request, err)
	}
	var served context.Context
	service.look = func(ctx context.Context) { served = ctx } //nolint:fatcontext // to look at it after the call
	if _, err := client.Check(deadlined(t), request); err != nil || served.Err() == nil {
		t.Errorf("the handler's context goes on after the call: %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := client.Check(canceled, &grpc_health_v1.HealthCheckRequest{Service: "waits"}); status.Code(err) != codes.Canceled {
		t.Errorf("a canceled call: %v", err)
	}
	if _, err := client.Check(canceled, &grpc_health_v1.HealthCheckRequest{}); status.Code(err) != codes.Canceled {
		t.Errorf("a call with a canceled context: %v", err)
	}
	before := network.count.Load()
	calls.Close()
	if _, _, _, err := ask(t, "fine"); err != nil || network.count.Load() != before+1 {
		t.Errorf("after close: %v, %d over the network", err, network.count.Load()-before)
	}
}

// deadlined is the context of a call, with a deadline in a minute and metadata.
func deadlined(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), "Asked", "once"), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// mirror answers what its name says.
type mirror struct {
	grpc_health_v1.UnimplementedHealthServer

	look func(context.Context)
	last atomic.Pointer[grpc_health_v1.HealthCheckResponse]
}

func (m *mirror) Check(ctx context.Context, request *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	m.look(ctx)
	switch request.GetService() {
	case "unknown":
		return nil, status.Error(codes.NotFound, "no such service")
	case "changed":
		request.Service = "by the handler"
	case "waits":
		derived, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		<-derived.Done()
		return nil, status.Error(codes.Internal, "not what the client sees")
	}
	if err := grpc.SetHeader(ctx, metadata.Pairs("head", "er")); err != nil {
		return nil, err
	}
	if err := grpc.SetTrailer(ctx, metadata.Pairs("tail", "er")); err != nil {
		return nil, err
	}
	answer := &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVING}
	m.last.Store(answer)
	return answer, nil
}

// requests counts the requests that came over the network.
type requests struct{ count atomic.Int64 }

func (r *requests) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (r *requests) HandleRPC(_ context.Context, event stats.RPCStats) {
	if _, ok := event.(*stats.Begin); ok {
		r.count.Add(1)
	}
}

func (r *requests) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (r *requests) HandleConn(context.Context, stats.ConnStats) {}

// serveMirror serves the service and returns a connection to it.
func serveMirror(t *testing.T, calls *standalone.LocalCalls, service *mirror, network *requests) *grpc.ClientConn {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(calls.ServerOption(), grpc.StatsHandler(network))
	grpc_health_v1.RegisterHealthServer(server, service)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()), calls.DialOption())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}
