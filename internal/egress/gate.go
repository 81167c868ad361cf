// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptrace"
	"sync"
)

// Writes of a client before it reads. HTTP/1.1 clients speak first; the transport logs what a
// server says before that, so a target that speaks first could fill the log. HTTP/2 clients send
// their preface and then the request (RFC 9113, section 3.4); the transport forgets what a server
// says before the request, as if the connection had been closed.
const (
	writesHTTP1 = 1
	writesHTTP2 = 2
)

// gate holds reads back until the client has begun a number of writes.
type gate struct {
	net.Conn

	mu     sync.Mutex
	opened chan struct{} // nil: reads pass
	writes int           // that are to come before opened
}

// shut makes reads wait for that many writes that begin after this moment.
func (g *gate) shut(writes int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened == nil {
		g.opened = make(chan struct{})
	}
	g.writes = writes
}

// open lets reads pass; mu is held.
func (g *gate) open() {
	if g.opened != nil {
		close(g.opened)
		g.opened = nil
	}
}

func (g *gate) Write(p []byte) (int, error) {
	g.mu.Lock()
	if g.writes--; g.writes <= 0 {
		g.open()
	}
	g.mu.Unlock()
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
	g.mu.Lock()
	g.open()
	g.mu.Unlock()
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
	// The gate ends with its context, so that the handshake needs no goroutine of its own that watches one.
	if err := secured.HandshakeContext(context.WithoutCancel(ctx)); err != nil {
		_ = conn.Close()
		return nil, err
	}
	conn.shut(writesHTTP1)
	return secured, nil
}
