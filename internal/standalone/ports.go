// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
)

const (
	loopback = "127.0.0.1"

	// Chosen ports are below those that the kernel assigns to outgoing connections, so
	// that they are still free when the server opens them.
	minPort, maxPort = 10_000, 29_999
	portTries        = 100
)

// freePorts returns n free ports of the loopback address. All are held open until the
// last is found, so no two are the same.
func freePorts(ctx context.Context, n int) ([]int, error) {
	ports := make([]int, 0, n)
	for range n {
		l, err := listenFree(ctx, loopback)
		if err != nil {
			return nil, fmt.Errorf("no free port on %s: %w", loopback, err)
		}
		defer func() { _ = l.Close() }()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// listenFree listens on a free port of the host.
func listenFree(ctx context.Context, host string) (net.Listener, error) {
	var config net.ListenConfig
	for range portTries {
		port := minPort + rand.IntN(maxPort-minPort+1) //nolint:gosec // no secret
		l, err := config.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if !errors.Is(err, syscall.EADDRINUSE) {
			return l, err
		}
	}
	return config.Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
}

// portFree reports whether the loopback port can be listened on now.
func portFree(ctx context.Context, port int) bool {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}
