// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
)

// ProxyError is a proxy that did not connect to the target. Its text is a sentence for people.
type ProxyError struct {
	// Status is the proxy's answer to CONNECT; 0: it was no answer of HTTP.
	Status int
}

// Error says what the proxy answered.
func (e *ProxyError) Error() string {
	switch e.Status {
	case 0:
		return "the proxy did not answer CONNECT with HTTP"
	case http.StatusProxyAuthRequired:
		return "the proxy asks for a user name and a password, or does not accept them (407)"
	}
	return fmt.Sprintf("the proxy answered CONNECT with the status %d", e.Status)
}

// plainProxy returns what the transport asks for the proxy of a request over plain HTTP, which the
// proxy is sent as it is (RFC 9112, section 3.2.2). Those over TLS go through a tunnel.
func (g *Guard) plainProxy(opts *ClientOptions) func(*http.Request) (*url.URL, error) {
	if opts.Proxy == nil {
		return nil
	}
	return func(req *http.Request) (*url.URL, error) {
		if req.URL.Scheme != "http" {
			return nil, nil //nolint:nilnil // what the transport takes for no proxy
		}
		return opts.Proxy, g.judgeHost(req.URL.Hostname(), port(req.URL))
	}
}

// judgeHost judges the host of a URL as it is written: the proxy resolves names.
func (g *Guard) judgeHost(host, port string) error {
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return fmt.Errorf("port: %w", err)
	}
	return g.CheckHost(host, uint16(number))
}

// proxyAddress is the host and port of the proxy.
func (o *ClientOptions) proxyAddress() string {
	return net.JoinHostPort(o.Proxy.Hostname(), port(o.Proxy))
}

// tunnel connects to an address through the proxy, by CONNECT (RFC 9110, section 9.3.6). The
// address is judged as far as it can be: the proxy resolves names.
func (g *Guard) tunnel(ctx, values context.Context, opts *ClientOptions, network, address string) (*gate, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("address: %w", err)
	}
	if err := g.judgeHost(host, port); err != nil {
		return nil, err
	}
	conn, err := g.dialFor(ctx, values, opts.network(network), opts.proxyAddress())
	if err != nil {
		return nil, err
	}
	connect := &http.Request{
		Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{"User-Agent": {opts.UserAgent}},
	}
	if user := opts.Proxy.User; user != nil {
		password, _ := user.Password()
		credentials := base64.StdEncoding.EncodeToString([]byte(user.Username() + ":" + password))
		connect.Header.Set("Proxy-Authorization", "Basic "+credentials)
	}
	if err := exchangeConnect(conn, connect); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// exchangeConnect asks for the tunnel and reads the answer.
func exchangeConnect(conn net.Conn, connect *http.Request) error {
	if err := connect.Write(conn); err != nil {
		return fmt.Errorf("connect through the proxy: %w", err)
	}
	reader := bufio.NewReader(io.LimitReader(conn, MaxHeaderBytes))
	response, err := http.ReadResponse(reader, connect)
	if err != nil {
		if _, failed := errors.AsType[net.Error](
			err,
		); failed || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
			errors.Is(err, net.ErrClosed) {
			return fmt.Errorf("connect through the proxy: %w", err)
		}
		return &ProxyError{}
	}
	_ = response.Body.Close() // has nothing: what follows an answer of 2xx is the tunnel
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return &ProxyError{Status: response.StatusCode}
	}
	if reader.Buffered() > 0 { // the target speaks after the client
		return &ProxyError{}
	}
	return nil
}
