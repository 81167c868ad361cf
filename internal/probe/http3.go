// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
)

// maxQUICWindow is how many bytes a server may send ahead.
const maxQUICWindow = 2 << 20

var _ = register(newHTTP3)

// newHTTP3 makes the http3 type: an https check that speaks HTTP/3 and nothing
// else. In its timings the QUIC handshake is the TLS phase.
func newHTTP3(env *environment) Prober {
	return http3Prober{httpProber{
		environment: env, kind: vigil.TypeHTTP3, schemes: []string{"https"}, about: "Over QUIC", position: 3,
	}}
}

type http3Prober struct{ httpProber }

func (p http3Prober) Parse(given json.RawMessage, interval time.Duration) (Probe, error) {
	request, err := p.parse(given, interval)
	if err != nil {
		return nil, err
	}
	if request.proxy != nil {
		return nil, vigil.Invalid("config.proxy", "is not for http3, which goes over UDP")
	}
	return http3Probe{httpProbe{guard: p.guard, client: p.client, tokens: p.tokens, request: request}}, nil
}

type http3Probe struct{ httpProbe }

func (p http3Probe) Run(ctx context.Context) vigil.Observation {
	seen, _ := p.runForAnswer(ctx, wanted{})
	return seen
}

func (p http3Probe) runForAnswer(ctx context.Context, more wanted) (vigil.Observation, answer) {
	return p.runWith(ctx, more, func(ctx context.Context, t *timeline, opts egress.ClientOptions) (*http.Client, func()) {
		dialer := &quicDialer{guard: p.guard, life: ctx, timeline: t, ipVersion: opts.IPVersion, home: opts.Home}
		transport := &http3.Transport{
			TLSClientConfig: opts.TLS,
			QUICConfig: &quic.Config{
				// The context is what ends an exchange, not these.
				HandshakeIdleTimeout:       p.request.deadline + time.Second,
				MaxIdleTimeout:             p.request.deadline + time.Second,
				MaxStreamReceiveWindow:     maxQUICWindow,
				MaxConnectionReceiveWindow: maxQUICWindow,
			},
			Dial:                   dialer.dial,
			MaxResponseHeaderBytes: egress.MaxHeaderBytes,
			DisableCompression:     true, // the headers are asserted as they came
		}
		return &http.Client{Transport: transport, CheckRedirect: opts.CheckRedirect}, func() { //nolint:forbidigo // its sockets come from egress
			_ = transport.Close()
			dialer.close()
		}
	})
}

// quicDialer opens QUIC connections through the guard and closes what they
// were made of.
type quicDialer struct {
	guard     *egress.Guard
	life      context.Context // the transport detaches the context that it passes
	timeline  *timeline
	ipVersion int
	home      string // host and port that the name and the certificates of TLS are for

	mu      sync.Mutex
	closers []func() error
	closed  bool
}

// closing notes how to close what an attempt opened; at once when the exchange is over.
func (d *quicDialer) closing(closers ...func() error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.closers = append(d.closers, closers...)
		return
	}
	for _, closer := range closers {
		_ = closer()
	}
}

func (d *quicDialer) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for _, closer := range d.closers {
		_ = closer()
	}
}

func (d *quicDialer) dial(_ context.Context, address string, secure *tls.Config, config *quic.Config) (*quic.Conn, error) {
	if !strings.EqualFold(address, d.home) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, fmt.Errorf("address: %w", err)
		}
		secure = secure.Clone()
		secure.ServerName, secure.Certificates = host, nil
	}
	secure.ServerName = egress.ServerName(secure.ServerName)
	network := "ip"
	if d.ipVersion != 0 {
		network += strconv.Itoa(d.ipVersion)
	}
	made, err := egress.Connect(d.life, d.guard, network, address, //nolint:contextcheck // life is what the transport detached
		func(ctx context.Context, to netip.AddrPort) (quicAttempt, error) {
			return d.dialOne(ctx, to, secure, config)
		},
		func(late quicAttempt) { late.close() })
	if err != nil {
		return nil, err
	}
	if made.refusal != nil {
		return nil, made.refusal
	}
	d.timeline.recorder.certificates(made.conn.ConnectionState().TLS.PeerCertificates)
	return made.conn, nil
}

// quicAttempt is a handshake that was answered.
type quicAttempt struct {
	conn    *quic.Conn
	refusal error // what was wrong with the answer; no other address is tried
}

func (a quicAttempt) close() {
	if a.conn != nil {
		_ = a.conn.CloseWithError(0, "")
	}
}

// dialOne connects to one address. Only the handshake ends with ctx.
func (d *quicDialer) dialOne(ctx context.Context, to netip.AddrPort, secure *tls.Config, config *quic.Config) (quicAttempt, error) {
	packets, err := d.guard.ListenPacket(d.life, to) //nolint:contextcheck // life is what the transport detached
	if err != nil {
		return quicAttempt{}, err
	}
	transport := &quic.Transport{Conn: packets}
	d.closing(transport.Close, packets.Close)
	d.timeline.enter(phaseTLS)
	d.timeline.step("in the QUIC handshake")
	conn, err := transport.Dial(ctx, net.UDPAddrFromAddrPort(to), secure, config)
	if err == nil {
		return quicAttempt{conn: conn}, nil
	}
	err = fmt.Errorf("quic: %w", err)
	if _, answered := errors.AsType[*tls.CertificateVerificationError](err); answered {
		return quicAttempt{refusal: err}, nil
	}
	return quicAttempt{}, err
}
