// SPDX-License-Identifier: Apache-2.0

package probetest

import (
	"net"
	"sync"
	"testing"
)

// Serve handles each connection of a listener with serve, in a goroutine of its own. It closes
// a connection when serve returns, and what is left when the test ends, which waits for all.
func Serve(tb testing.TB, listener net.Listener, serve func(net.Conn)) {
	tb.Helper()
	var mu sync.Mutex
	open := make(map[net.Conn]bool)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open[conn] = true
			mu.Unlock()
			running.Go(func() {
				serve(conn)
				mu.Lock()
				defer mu.Unlock()
				delete(open, conn)
				_ = conn.Close()
			})
		}
	})
	tb.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for conn := range open {
			_ = conn.Close()
		}
		mu.Unlock()
		running.Wait()
	})
}
