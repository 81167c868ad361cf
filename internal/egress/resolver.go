// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"errors"
	"net"
	"os"
	"time"
)

// firstResend is how long a query over UDP waits for its answer until it is sent again; the
// time doubles (RFC 1035, section 4.2.1). The library itself sends one query in 5 s.
const firstResend = 500 * time.Millisecond

// resolver is Go's own one on every platform: the C library's reads numbers
// such as 2130706433 as addresses. The name servers are the operator's choice
// and are not guarded. An empty server stands for the machine's configuration.
func resolver(server string) *net.Resolver {
	return &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			if server != "" {
				address = server
			}
			conn, err := (&net.Dialer{}).DialContext(untraced{ctx}, network, address) //nolint:contextcheck // it is ctx, without its values
			if err != nil {
				return nil, err
			}
			// A query waits for its own timeout even when no caller waits for
			// it any more; closing its socket ends it.
			context.AfterFunc(ctx, func() { _ = conn.Close() })
			if udp, ok := conn.(*net.UDPConn); ok {
				return &resending{UDPConn: udp}, nil
			}
			return conn, nil
		},
	}
}

// untraced hides the values of a context: connecting to a name server is part of
// resolving, not the connection that a trace in the context is about.
type untraced struct{ context.Context }

func (untraced) Value(any) any { return nil }

// resending is the socket of one query at a time, which is sent again while no answer comes: a
// packet that is lost is not a name server that is down.
type resending struct {
	*net.UDPConn

	query []byte
	wait  time.Duration
	until time.Time // zero: no deadline
}

// SetDeadline is the end of all attempts.
func (r *resending) SetDeadline(until time.Time) error {
	r.until = until
	return r.UDPConn.SetDeadline(until)
}

func (r *resending) Write(query []byte) (int, error) {
	r.query, r.wait = append(r.query[:0], query...), firstResend
	return r.UDPConn.Write(query)
}

func (r *resending) Read(buffer []byte) (int, error) {
	for {
		next, last := time.Now().Add(r.wait), false
		if !r.until.IsZero() && !next.Before(r.until) {
			next, last = r.until, true
		}
		if err := r.SetReadDeadline(next); err != nil {
			return 0, err
		}
		n, err := r.UDPConn.Read(buffer)
		if last || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		r.wait *= 2
		if _, err := r.UDPConn.Write(r.query); err != nil {
			return 0, err
		}
	}
}
