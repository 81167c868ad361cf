// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
)

// DirectClient is Client with less work for a plain exchange: the goroutine that asks dials, writes and reads
// as well. The transport of net/http is made for connections that stay: it has three goroutines for each.
//
// A server sees the same bytes, and answers and errors are the same. What is not plain goes over the transport, as with
// Client: a request with a body, since the answer may come while it is written; a proxy; headers
// that change the connection; a name that is not ASCII; and all that the transport would refuse. A
// server that chooses HTTP/2 in the TLS handshake has it on the same connection, over the client of net/http:
// both paths make the same offer.
//
// Requests under another context than ctx go over the transport.
func (g *Guard) DirectClient(ctx context.Context, opts ClientOptions) *http.Client {
	d := &direct{guard: g, life: ctx, opts: opts}
	return &http.Client{Transport: d, CheckRedirect: d.opts.CheckRedirect}
}

// direct makes exchanges of one client.
type direct struct {
	guard *Guard
	life  context.Context // that every connection ends with
	opts  ClientOptions

	once      sync.Once
	transport *http.Transport // for what is not plain
}

// RoundTrip makes one exchange.
func (d *direct) RoundTrip(req *http.Request) (*http.Response, error) {
	if !d.plain(req) {
		d.once.Do(func() { d.transport = d.guard.transport(d.life, &d.opts) })
		return d.transport.RoundTrip(req)
	}
	ctx := req.Context()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	trace := httptrace.ContextClientTrace(ctx)
	if trace == nil {
		trace = &httptrace.ClientTrace{}
	}
	address := net.JoinHostPort(req.URL.Hostname(), port(req.URL))
	if trace.GetConn != nil {
		trace.GetConn(address)
	}
	conn, secured, err := d.connect(ctx, req, address)
	if err != nil {
		return nil, endOf(ctx, err)
	}
	if secured != nil && secured.ConnectionState().NegotiatedProtocol == "h2" {
		return d.opts.overHTTP2("", secured).RoundTrip(req)
	}
	if trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{Conn: conn})
	}
	response, err := exchange(req, conn, trace)
	if err != nil {
		_ = conn.Close()
		return nil, endOf(ctx, err)
	}
	if secured != nil {
		state := secured.ConnectionState()
		response.TLS = &state
	}
	return response, nil
}

// plain reports whether the direct way makes an exchange as the transport would.
func (d *direct) plain(req *http.Request) bool {
	switch {
	case d.opts.Proxy != nil, req.Body != nil && req.Body != http.NoBody, req.Context() != d.life, req.Close, req.Trailer != nil:
		return false
	case req.Method != http.MethodGet && req.Method != http.MethodHead && req.Method != http.MethodOptions:
		return false
	case req.URL.Scheme != "http" && req.URL.Scheme != "https", req.URL.Hostname() == "" || !isASCII(req.URL.Host):
		return false
	}
	for name, values := range req.Header {
		switch name {
		case "Connection", "Upgrade", "Expect", "Te", "Trailer", "Transfer-Encoding", "Content-Length":
			return false
		}
		if !isField(name, values) {
			return false
		}
	}
	// Without one of these the transport asks for gzip by itself, and decodes it.
	return d.opts.AcceptEncoding != "" || req.Method == http.MethodHead ||
		req.Header.Get("Accept-Encoding") != "" || req.Header.Get("Range") != ""
}

// isField reports whether a header is written as it is: in ASCII, without control characters.
func isField(name string, values []string) bool {
	for i := range len(name) {
		c := name[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	for _, value := range values {
		for i := range len(value) {
			if c := value[i]; c < ' ' && c != '\t' || c >= 0x7f {
				return false
			}
		}
	}
	return name != ""
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

// connect opens the connection of an exchange; secured is nil over plain HTTP.
func (d *direct) connect(ctx context.Context, req *http.Request, address string) (conn net.Conn, secured *tls.Conn, err error) {
	held, err := d.guard.dialFor(ctx, context.WithoutCancel(ctx), d.opts.network("tcp"), address)
	if err != nil {
		return nil, nil, err
	}
	if req.URL.Scheme == "http" {
		return held, nil, nil
	}
	if secured, err = handshake(ctx, held, d.opts.secure(address), req.URL.Hostname()); err != nil {
		return nil, nil, err
	}
	return secured, secured, nil
}

// endOf is why an exchange failed: the end of its context is what closes a connection.
func endOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// broken is what the transport writes before the errors of an answer.
const broken = "net/http: HTTP/1.x transport connection broken"

// exchange writes a request and reads the answer up to its body.
func exchange(req *http.Request, conn net.Conn, trace *httptrace.ClientTrace) (*http.Response, error) {
	var head bytes.Buffer
	if err := req.Write(&head); err != nil {
		return nil, err
	}
	head.Truncate(head.Len() - len("\r\n")) // the transport has this header behind all others
	head.WriteString("Connection: close\r\n\r\n")
	if _, err := conn.Write(head.Bytes()); err != nil {
		return nil, err
	}
	limited := &io.LimitedReader{R: conn, N: MaxHeaderBytes}
	reader := bufio.NewReaderSize(limited, exchangeBuffer)
	if _, err := reader.Peek(1); err != nil {
		return nil, err
	}
	if trace.GotFirstResponseByte != nil {
		trace.GotFirstResponseByte()
	}
	response, err := readFinal(reader, req)
	switch {
	case err != nil && limited.N <= 0:
		return nil, fmt.Errorf("%s: net/http: server response headers exceeded %d bytes; aborted", broken, MaxHeaderBytes)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", broken, err)
	}
	limited.N = math.MaxInt64
	body := response.Body
	if switches(response) {
		body = io.NopCloser(reader)
	}
	response.Body = &answerBody{ReadCloser: body, conn: conn, ctx: req.Context()}
	return response, nil
}

// readFinal reads the answer behind those of status 1xx that only announce it (RFC 9110, section 15.2). Their
// headers count with its own.
func readFinal(reader *bufio.Reader, req *http.Request) (*http.Response, error) {
	for {
		response, err := http.ReadResponse(reader, req)
		if err != nil || response.StatusCode < 100 || response.StatusCode > 199 || response.StatusCode == http.StatusSwitchingProtocols {
			return response, err
		}
	}
}

// switches reports whether another protocol follows an answer on its connection.
func switches(response *http.Response) bool {
	if response.StatusCode != http.StatusSwitchingProtocols || response.Header.Get("Upgrade") == "" {
		return false
	}
	for _, line := range response.Header["Connection"] {
		for token := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.Trim(token, " \t"), "upgrade") {
				return true
			}
		}
	}
	return false
}

// answerBody is a body that is closed with its connection. Its end does not close it: closing is no part of
// an exchange that is measured.
type answerBody struct {
	io.ReadCloser

	conn net.Conn
	ctx  context.Context
}

func (b *answerBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = endOf(b.ctx, err)
	}
	return n, err
}

// Close does not read the rest, as that of the body itself would.
func (b *answerBody) Close() error { return b.conn.Close() }
