// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
)

// offered are the protocols that a client offers to a TLS server (RFC 7301).
func offered() []string { return []string{"h2", "http/1.1"} }

// overHTTP2 makes the exchange over a connection whose server chose HTTP/2 (RFC 9113). Nothing of it
// costs a client whose server did not.
func (o *ClientOptions) overHTTP2(_ string, conn *tls.Conn) http.RoundTripper {
	awaitRequest(conn)
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	return &http.Transport{
		Protocols:              protocols,
		DialTLSContext:         func(context.Context, string, string) (net.Conn, error) { return conn, nil },
		DisableKeepAlives:      true,
		DisableCompression:     o.AcceptEncoding != "",
		MaxResponseHeaderBytes: MaxHeaderBytes,
	}
}

// awaitRequest holds the reads of a new connection back until the client has sent its request over HTTP/2.
func awaitRequest(conn net.Conn) {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	if held, ok := conn.(*gate); ok {
		held.shut(writesHTTP2)
	}
}

// streamError has the fields of the standard library's own, which it gives to such a type.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (streamError) Error() string { return "a stream of HTTP/2 was reset" }

// NeedsHTTP1 reports whether a server that chose HTTP/2 wants the request over HTTP/1.1, which it says with
// the error HTTP_1_1_REQUIRED (RFC 9113, section 7). It has not handled the request.
func NeedsHTTP1(err error) bool {
	const required = 0xd
	reset, ok := errors.AsType[streamError](err)
	return ok && reset.Code == required
}
