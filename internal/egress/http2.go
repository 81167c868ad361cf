// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
)

// ErrNoHTTP2Agreed is the error of a server whose TLS does not agree on HTTP/2. Its text is a
// sentence for people.
var ErrNoHTTP2Agreed = errors.New("the server did not agree on HTTP/2 in the TLS handshake (ALPN)")

// HTTP2Client returns a client for one exchange that speaks HTTP/2 and nothing else: over
// TLS when the server agrees on it by ALPN, over plain connections with prior knowledge
// (RFC 9113, sections 3.2 and 3.3). It follows no redirects. In all else it is as Client.
func (g *Guard) HTTP2Client(ctx context.Context, opts ClientOptions) *http.Client {
	opts.NoRedirects = true
	secure := opts.TLS.Clone()
	if secure == nil {
		secure = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	secure.NextProtos = []string{"h2"}
	opts.TLS = secure
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	transport := g.transport(ctx, &opts)
	transport.Protocols = protocols
	dial, dialTLS := transport.DialContext, transport.DialTLSContext
	transport.DialContext = func(values context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(values, network, address)
		if err == nil {
			awaitRequest(conn)
		}
		return conn, err
	}
	transport.DialTLSContext = func(values context.Context, network, address string) (net.Conn, error) {
		conn, err := dialTLS(values, network, address)
		if err != nil {
			return nil, err
		}
		if secured, ok := conn.(*tls.Conn); ok && secured.ConnectionState().NegotiatedProtocol != "h2" {
			_ = conn.Close()
			return nil, ErrNoHTTP2Agreed
		}
		awaitRequest(conn)
		return conn, nil
	}
	return &http.Client{Transport: transport, CheckRedirect: opts.CheckRedirect}
}
