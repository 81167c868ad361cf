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
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"vigil"
	"vigil/egress"
)

const (
	maxQUICAddresses = 3       // of a name, tried one after the other
	maxQUICWindow    = 2 << 20 // bytes that a server may send ahead
)

var _ = register(newHTTP3)

// newHTTP3 makes the http3 type: an https check that speaks HTTP/3 and nothing
// else. In its timings the QUIC handshake is the TLS phase.
func newHTTP3(env *environment) Prober {
	return http3Prober{httpProber{environment: env, kind: vigil.TypeHTTP3, schemes: []string{"https"}}}
}

type http3Prober struct{ httpProber }

func (p http3Prober) Parse(given json.RawMessage, interval time.Duration) (Probe, error) {
	request, err := p.parse(given, interval)
	if err != nil {
		return nil, err
	}
	return http3Probe{httpProbe{guard: p.guard, request: request}}, nil
}

type http3Probe struct{ httpProbe }

func (p http3Probe) Run(ctx context.Context) vigil.Observation {
	seen, _ := p.runForAnswer(ctx, wanted{})
	return seen
}

func (p http3Probe) runForAnswer(ctx context.Context, more wanted) (vigil.Observation, answer) {
	return p.runWith(ctx, more, func(ctx context.Context, t *timeline, opts egress.ClientOptions) (*http.Client, func()) {
		dialer := &quicDialer{guard: p.guard, life: ctx, timeline: t, ipVersion: opts.IPVersion}
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
	closers   []func() error
}

func (d *quicDialer) close() {
	for _, closer := range d.closers {
		_ = closer()
	}
}

func (d *quicDialer) dial(_ context.Context, address string, secure *tls.Config, config *quic.Config) (*quic.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("address: %w", err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("port: %w", err)
	}
	network := "ip"
	if d.ipVersion != 0 {
		network += strconv.Itoa(d.ipVersion)
	}
	addrs, err := d.guard.Resolve(d.life, network, host) //nolint:contextcheck // life is what the transport detached
	if err != nil {
		return nil, err
	}
	d.timeline.enter(phaseConnect)
	addrs = addrs[:min(len(addrs), maxQUICAddresses)]
	for i, addr := range addrs {
		part, cancel := share(d.life, len(addrs)-i)
		var conn *quic.Conn
		to := netip.AddrPortFrom(addr.Unmap(), uint16(number))
		conn, err = d.dialOne(part, to, secure, config) //nolint:contextcheck // life is what the transport detached
		cancel()
		if err == nil {
			return conn, nil
		}
	}
	return nil, err
}

// dialOne connects to one address. Only the handshake ends with ctx.
func (d *quicDialer) dialOne(ctx context.Context, addr netip.AddrPort, secure *tls.Config, config *quic.Config) (*quic.Conn, error) {
	packets, err := d.guard.ListenPacket(d.life, addr) //nolint:contextcheck // life is what the transport detached
	if err != nil {
		return nil, err
	}
	transport := &quic.Transport{Conn: packets}
	d.closers = append(d.closers, transport.Close, packets.Close)
	d.timeline.enter(phaseTLS)
	d.timeline.step("in the QUIC handshake")
	conn, err := transport.Dial(ctx, net.UDPAddrFromAddrPort(addr), secure, config)
	_, answered := errors.AsType[*tls.CertificateVerificationError](err)
	if err == nil || answered {
		d.timeline.recorder.connected(addr.String(), nil)
	} else {
		d.timeline.recorder.connected(addr.String(), err)
	}
	if err != nil {
		return nil, fmt.Errorf("quic: %w", err)
	}
	d.timeline.recorder.certificates(conn.ConnectionState().TLS.PeerCertificates)
	return conn, nil
}
