// SPDX-License-Identifier: Apache-2.0

package egress_test

import (
	"context"
	"errors"
	"io"
	"net"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

// countedContext counts the functions that wait for its end.
type countedContext struct {
	context.Context

	waiting atomic.Int32
}

func (c *countedContext) AfterFunc(f func()) (stop func() bool) {
	c.waiting.Add(1)
	inner := context.AfterFunc(c.Context, f)
	return func() bool {
		c.waiting.Add(-1)
		return inner()
	}
}

// Value hides the standard library's own context within, which would register
// the functions instead.
func (c *countedContext) Value(any) any { return nil }

// accepted returns a guard's connection under ctx, and the server's end of it.
func accepted(ctx context.Context, t *testing.T) (conn, peer net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	conn, err = egress.New(everything()).DialContext(ctx, "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	peer, err = listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = peer.Close() })
	if err := peer.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn, peer
}

func TestClosedConnection(t *testing.T) {
	t.Parallel()

	t.Run("EndsThePeerAndLeavesItsContext", func(t *testing.T) {
		t.Parallel()
		ctx := &countedContext{Context: t.Context()}
		conn, peer := accepted(ctx, t)
		if ctx.waiting.Load() == 0 {
			t.Fatal("the connection does not wait for its context")
		}
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		if n, err := peer.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("the peer read %d bytes and %v, want the end", n, err)
		}
		if n := ctx.waiting.Load(); n != 0 {
			t.Errorf("%d functions still wait for the context: a long context keeps every connection", n)
		}
		if _, err := conn.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a write to it ended with %v", err)
		}
		if err := conn.Close(); err != nil {
			t.Errorf("closing it again: %v", err)
		}
	})

	t.Run("EndsThePeerWhenTheContextEnds", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		_, peer := accepted(ctx, t)
		cancel()
		if _, err := peer.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("the peer read %v, want the end", err)
		}
	})

	t.Run("ReturnsTheErrorOfClosing", func(t *testing.T) {
		t.Parallel()
		conn, _ := accepted(t.Context(), t)
		inner, ok := reflect.ValueOf(conn).Elem().FieldByName("Conn").Interface().(net.Conn)
		if !ok || inner.Close() != nil {
			t.Fatal("the connection within cannot be closed")
		}
		if err := conn.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("closing it then: %v", err)
		}
	})
}

func TestDialToAClosedPort(t *testing.T) {
	t.Parallel()
	conn, err := egress.New(everything()).DialContext(t.Context(), "tcp", probetest.ClosedPort(t))
	var failure *net.OpError
	if conn != nil || !errors.As(err, &failure) {
		t.Errorf("dialling gave %v", err)
	}
}
