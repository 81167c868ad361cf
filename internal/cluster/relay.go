// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing"
)

// Relay carries bytes between pairs of addresses, listen=to, each of them late by the given time in each
// direction, until ctx ends. It stands for a long way: the kernel may have no netem.
func Relay(ctx context.Context, late time.Duration, pairs []string) error {
	for _, pair := range pairs {
		listen, to, ok := strings.Cut(pair, "=")
		if !ok {
			return fmt.Errorf("%q is not listen=to", pair)
		}
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
		if err != nil {
			return err
		}
		context.AfterFunc(ctx, func() { _ = listener.Close() })
		go CarryAll(ctx, listener, to, late, 2*late)
	}
	<-ctx.Done()
	return nil
}

// CarryAll carries bytes between the connections of a listener and an address until the listener is closed or ctx ends,
// each of them late by the given time in each direction. The handshake of a connection behind takes the time shake.
func CarryAll(ctx context.Context, listener net.Listener, to string, late, shake time.Duration) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = conn.Close() }()
			if timing.Sleep(ctx, shake) != nil {
				return
			}
			behind, err := new(net.Dialer).DialContext(ctx, "tcp", to)
			if err != nil {
				return
			}
			defer func() { _ = behind.Close() }()
			context.AfterFunc(ctx, func() {
				_ = conn.Close()
				_ = behind.Close()
			})
			go carryLate(ctx, behind, conn, late)
			carryLate(ctx, conn, behind, late)
		}()
	}
}

// carryLate copies what comes, each part as late as the others, so that they follow as they came.
func carryLate(ctx context.Context, to, from net.Conn, late time.Duration) {
	type part struct {
		due  time.Time
		data []byte
	}
	parts := make(chan part, 4096)
	go func() {
		defer close(parts)
		for {
			data := make([]byte, 16<<10)
			n, err := from.Read(data)
			if n > 0 {
				parts <- part{time.Now().Add(late), data[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	for one := range parts {
		_ = timing.Sleep(ctx, time.Until(one.due))
		if _, err := to.Write(one.data); err != nil {
			_ = from.Close()
		}
	}
	_ = to.Close()
}
