// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// link is a TCP proxy in front of a Postgres that listens on a Unix socket. While it is
// cut it swallows what is sent: for a client the server is a black hole.
type link struct {
	listener net.Listener
	socket   string
	delay    time.Duration // of each answer of the server

	swallowing atomic.Bool
	trips      atomic.Int64 // how often a client sent something after an answer

	mu    sync.Mutex
	conns []net.Conn
}

// newLink returns a link to the server of a connection string, and a connection string
// that leads through it.
func newLink(tb testing.TB, dsn string, delay time.Duration) (l *link, through string) {
	tb.Helper()
	address, err := url.Parse(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	query := address.Query()
	if !strings.HasPrefix(query.Get("host"), "/") {
		tb.Skip("the server of the tests has no Unix socket")
	}
	var config net.ListenConfig
	listener, err := config.Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	port := query.Get("port")
	if port == "" {
		port = address.Port()
	}
	l = &link{listener: listener, socket: query.Get("host") + "/.s.PGSQL." + port, delay: delay}
	query.Del("host")
	query.Del("port")
	address.Host, address.RawQuery = listener.Addr().String(), query.Encode()
	ctx, stop := context.WithCancel(context.WithoutCancel(tb.Context()))
	var running sync.WaitGroup
	tb.Cleanup(func() {
		stop()
		_ = listener.Close()
		l.mu.Lock()
		for _, conn := range l.conns {
			_ = conn.Close()
		}
		l.mu.Unlock()
		running.Wait()
	})
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { l.serve(ctx, client) })
		}
	})
	return l, address.String()
}

func (l *link) serve(ctx context.Context, client net.Conn) {
	var dialer net.Dialer
	server, err := dialer.DialContext(ctx, "unix", l.socket)
	if err != nil {
		_ = client.Close()
		return
	}
	l.mu.Lock()
	l.conns = append(l.conns, client, server)
	l.mu.Unlock()
	var answered atomic.Bool
	answered.Store(true)
	var both sync.WaitGroup
	both.Go(func() {
		l.forward(server, client, func() {
			if answered.Swap(false) {
				l.trips.Add(1)
			}
		})
	})
	both.Go(func() {
		l.forward(client, server, func() {
			answered.Store(true)
			time.Sleep(l.delay) // sleep: a slow network
		})
	})
	both.Wait()
}

// forward copies one direction. A connection that was cut stays so.
func (l *link) forward(to, from net.Conn, seen func()) {
	buffer := make([]byte, 256<<10)
	swallowed := false
	for {
		n, err := from.Read(buffer)
		if swallowed = swallowed || l.swallowing.Load(); n > 0 && !swallowed {
			seen()
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			if !swallowed { // a lost host does not close its connections
				_ = to.Close()
			}
			return
		}
	}
}
