package standalone

import (
	"context"
	"fmt"
	"net"
	"strconv"
)

const loopback = "127.0.0.1"

// freePorts returns n ports of the loopback address that nobody listens on. They
// are all held open until the last is found, so no two are the same.
func freePorts(ctx context.Context, n int) ([]int, error) {
	ports := make([]int, 0, n)
	var config net.ListenConfig
	for range n {
		l, err := config.Listen(ctx, "tcp", loopback+":0")
		if err != nil {
			return nil, fmt.Errorf("no free port on %s: %w", loopback, err)
		}
		defer func() { _ = l.Close() }()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
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
