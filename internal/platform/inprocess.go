// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/rest"
)

// serveInProcess returns a client of the API in this process, whose requests are those of
// the operator without a credential: they never leave the process. The operator's account
// must exist.
func (p *Process) serveInProcess(api http.Handler, store operatorStore) *http.Client {
	listener := &memoryListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			operator, err := store.Operator(r.Context())
			if err != nil {
				p.Log.DebugContext(r.Context(), "the operator's account cannot be read", "error", err)
				http.Error(w, fmt.Sprintf(`{"error": %q}`, vigil.ErrorMessage(err)), http.StatusServiceUnavailable)
				return
			}
			r.RemoteAddr = "127.0.0.1:0"
			api.ServeHTTP(w, r.WithContext(rest.ActAs(r.Context(), operator.ID, operator.SessionVersion)))
		}),
	}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			p.fail(fmt.Errorf("the API in this process stopped: %w", err))
		}
	}()
	p.onStop(func(context.Context) { _ = server.Close() })
	return &http.Client{Transport: &http.Transport{DialContext: listener.dial, DisableCompression: true}}
}

// memoryListener accepts connections from within the process.
type memoryListener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *memoryListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept waits for the next connection.
func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends the listener.
func (l *memoryListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr is an address for logs.
func (l *memoryListener) Addr() net.Addr {
	return &net.UnixAddr{Name: "in this process", Net: "memory"}
}
