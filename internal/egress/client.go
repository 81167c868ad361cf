// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// Bounds of every exchange.
const (
	// MaxRedirects is how many redirects a client follows.
	MaxRedirects = 10
	// MaxHeaderBytes bounds the headers of one response.
	MaxHeaderBytes = 64 << 10
	// exchangeBuffer is the buffer of each direction of a connection, which lasts one exchange.
	exchangeBuffer = 2 << 10
)

// The errors of a redirect that is not followed. Each text is a sentence for
// people and names nothing that the server sent.
var (
	ErrTooManyRedirects = errors.New("stopped after 10 redirects")
	ErrRedirectScheme   = errors.New("redirected to an address that is neither http nor https")
	ErrRedirectBody     = errors.New("redirected to another host with a status that repeats the request's body, which is not sent there")
)

// ClientOptions says how a client speaks.
type ClientOptions struct {
	// TLS is cloned for every connection; nil for the defaults, TLS 1.2 up.
	TLS *tls.Config
	// NoRedirects returns a redirect as the answer instead of following it.
	NoRedirects bool
	// IPVersion is 4 or 6, or 0 for both.
	IPVersion int
	// UserAgent is what is still said to a host that a redirect led to.
	UserAgent string
	// AcceptEncoding is said to every host that a redirect leads to, and bodies are left in the content
	// coding that they come with. Empty: gzip is asked for and decoded.
	AcceptEncoding string
	// HTTP2 offers HTTP/2 to TLS servers besides HTTP/1.1.
	HTTP2 bool
	// Home is the host and port that the name and the certificates of TLS are for; other
	// hosts, which redirects lead to, get neither. Empty: all get them.
	Home string
	// Proxy is the http URL of a proxy, with credentials where it wants some; nil: none is
	// used.
	Proxy *url.URL
}

// tlsFor returns the configuration of TLS for an address.
func (o *ClientOptions) tlsFor(address string) *tls.Config {
	if o.TLS == nil || o.Home == "" || strings.EqualFold(address, o.Home) {
		return o.TLS
	}
	other := o.TLS.Clone()
	other.ServerName, other.Certificates = "", nil
	return other
}

// Client returns an HTTP/1.1 client, with HTTP/2 where the options say so, for one exchange, redirects included.
// Every connection it opens is new, is judged, is used once and ends with ctx.
// No proxy is used but that of the options; the environment's proxy settings are ignored.
func (g *Guard) Client(ctx context.Context, opts ClientOptions) *http.Client {
	return &http.Client{Transport: g.transport(ctx, &opts), CheckRedirect: opts.CheckRedirect}
}

func (g *Guard) transport(ctx context.Context, opts *ClientOptions) *http.Transport {
	transport := &http.Transport{
		DialContext: func(values context.Context, network, address string) (net.Conn, error) {
			conn, err := g.dialFor(ctx, values, opts.network(network), address)
			if err != nil {
				return nil, err
			}
			conn.shut(writesHTTP1)
			return conn, nil
		},
		DialTLSContext: func(values context.Context, network, address string) (net.Conn, error) {
			conn, err := g.reach(ctx, values, opts, network, address)
			if err != nil {
				return nil, err
			}
			host, _, err := net.SplitHostPort(address)
			if err != nil {
				_ = conn.Close()
				return nil, err
			}
			return handshake(values, conn, opts.secure(address), host)
		},
		Proxy:                  g.plainProxy(opts),
		DisableKeepAlives:      true,
		DisableCompression:     opts.AcceptEncoding != "",
		MaxResponseHeaderBytes: MaxHeaderBytes,
		ReadBufferSize:         exchangeBuffer,
		WriteBufferSize:        exchangeBuffer,
	}
	if opts.HTTP2 {
		transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{"h2": opts.overHTTP2}
	}
	return transport
}

// reach connects to an address for TLS: through the proxy, where there is one.
func (g *Guard) reach(ctx, values context.Context, opts *ClientOptions, network, address string) (*gate, error) {
	if opts.Proxy != nil {
		return g.tunnel(ctx, values, opts, network, address)
	}
	return g.dialFor(ctx, values, opts.network(network), address)
}

// dialFor connects for a transport, which detaches its dials from the request
// so that they outlive it: this one ends with ctx, and only takes the values of
// the transport's context, where the trace is.
func (g *Guard) dialFor(ctx, values context.Context, network, address string) (*gate, error) {
	dial, cancel := context.WithCancel(values)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	conn, err := g.connect(dial, network, address)
	if err != nil {
		return nil, g.asNamed(err, address)
	}
	return &gate{Conn: bind(ctx, conn)}, nil
}

// secure is the configuration of TLS for one connection.
func (o *ClientOptions) secure(address string) *tls.Config {
	config := o.tlsFor(address).Clone()
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if o.HTTP2 {
		config.NextProtos = offered()
	}
	return config
}

func (o *ClientOptions) network(network string) string {
	switch o.IPVersion {
	case 4:
		return network + "4"
	case 6:
		return network + "6"
	}
	return network
}

// CheckRedirect prepares the request to a redirect's target, for http.Client.
// The standard library forwards all headers but a few to any host; here nothing
// that the user set leaves the place it was meant for, nor comes back once it has
// left.
func (o *ClientOptions) CheckRedirect(req *http.Request, via []*http.Request) error {
	if o.NoRedirects {
		return http.ErrUseLastResponse
	}
	if len(via) > MaxRedirects {
		return ErrTooManyRedirects
	}
	if req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return ErrRedirectScheme
	}
	req.URL.User = nil
	req.Header.Del("Referer") // it would carry the query
	stays := true
	for i, previous := range via {
		next := req
		if i+1 < len(via) {
			next = via[i+1]
		}
		stays = stays && samePlace(previous.URL, next.URL)
	}
	if stays {
		return nil
	}
	if req.Body != nil && req.Body != http.NoBody {
		return ErrRedirectBody
	}
	req.Header = http.Header{} //nolint:gosec // it propagates nothing: all that was copied goes
	if o.UserAgent != "" {
		req.Header.Set("User-Agent", o.UserAgent)
	}
	if o.AcceptEncoding != "" {
		req.Header.Set("Accept-Encoding", o.AcceptEncoding)
	}
	return nil
}

// samePlace reports whether headers meant for one address may go to another:
// the same host and port, or the same host from plain HTTP up to HTTPS.
func samePlace(from, to *url.URL) bool {
	if !strings.EqualFold(from.Hostname(), to.Hostname()) {
		return false
	}
	if from.Scheme == to.Scheme {
		return port(from) == port(to)
	}
	return from.Scheme == "http" && port(from) == "80" && to.Scheme == "https" && port(to) == "443"
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}
