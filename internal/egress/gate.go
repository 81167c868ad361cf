// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptrace"
	"sync"
)

// gate holds reads back until the next write. HTTP/1.1 clients speak first; the
// transport logs what a server says before that, so a target that speaks first
// could fill the log.
type gate struct {
	net.Conn

	mu     sync.Mutex
	opened chan struct{} // nil: reads pass
}

// shut makes reads wait for a write that begins after this moment.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.opened = make(chan struct{})
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened != nil {
		close(g.opened)
		g.opened = nil
	}
}

func (g *gate) Write(p []byte) (int, error) {
	g.open()
	return g.Conn.Write(p)
}

func (g *gate) Read(p []byte) (int, error) {
	g.mu.Lock()
	opened := g.opened
	g.mu.Unlock()
	if opened != nil {
		<-opened
	}
	return g.Conn.Read(p)
}

func (g *gate) Close() error {
	g.open()
	return g.Conn.Close()
}

// handshake secures a connection with a configuration of its own and returns it with its gate shut. It
// reports to the trace of ctx, as the transport would.
func handshake(ctx context.Context, conn *gate, config *tls.Config, host string) (*tls.Conn, error) {
	if config.ServerName == "" {
		config.ServerName = ServerName(host)
	}
	if trace := httptrace.ContextClientTrace(ctx); trace != nil && trace.TLSHandshakeStart != nil {
		trace.TLSHandshakeStart()
	}
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	conn.shut()
	return secured, nil
}
