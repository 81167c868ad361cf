// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/redact"
)

// maxExpectBytes is how much a TCP target may send before the expected text.
const maxExpectBytes = 64 << 10

// TCPConfig is the config of tcp checks.
type TCPConfig struct {
	Host           string      `json:"host" place:"text" doc:"Host name or IP address to connect to" maxLength:"253" example:"db.example.com"`
	Port           int         `json:"port" place:"text" doc:"Port to connect to" minimum:"1" maximum:"65535" example:"5432"`
	Send           string      `json:"send,omitempty" title:"Send this text" help:"Once connected. Nothing is sent when it is empty." form:"expect,area,mono" doc:"Text to send once connected" maxLength:"4096"`
	Expect         string      `json:"expect,omitempty" title:"Text that must come back" help:"Anywhere in the first 64 KiB." form:"expect,mono" doc:"Text that must appear in the first 64 KiB of the answer" maxLength:"1024"`
	Security       string      `json:"security,omitempty" title:"Security" form:"more,medium" words:"none=none|tls=TLS" doc:"tls secures the connection before anything is sent" enum:"none,tls" default:"none"`
	VerifyTLS      bool        `json:"verify_tls,omitempty" doc:"Fail when the certificate is not valid for the host" default:"true"`
	TLS            *TLSOptions `json:"tls,omitempty" doc:"Names and certificates of the TLS connection; needs security tls"`
	TimeoutSeconds int         `json:"timeout_seconds,omitempty" doc:"Longest time for everything, at most the interval. Default: the smaller of 10 and the interval" minimum:"1" maximum:"60"`
}

// TCPMetadata is the metadata of a result of a tcp check.
type TCPMetadata struct {
	Timings           Timings `json:"timings" doc:"How long each phase took"`
	IP                string  `json:"ip,omitempty" doc:"Address that was connected to"`
	TLSVersion        string  `json:"tls_version,omitempty" doc:"Version of TLS" example:"TLS 1.3"`
	CertDaysRemaining *int    `json:"cert_days_remaining,omitempty" doc:"Whole days until the first certificate of the chain expires that a client needs"`
	BytesReceived     int     `json:"bytes_received,omitempty" doc:"Bytes read while looking for the expected text"`
}

var _ = register(newTCP)

// newTCP makes the tcp type.
func newTCP(env *environment) Prober { return tcpProber{environment: env} }

type tcpProber struct{ *environment }

func (tcpProber) Type() vigil.CheckType { return vigil.TypeTCP }

func (tcpProber) Documents() (config, metadata any) { return TCPConfig{}, TCPMetadata{} }

// Describe says what the type is for.
func (tcpProber) Describe() TypeInfo {
	return TypeInfo{Position: 4, About: "A port answers", Conditions: []string{vigil.KeySSLDaysRemaining}}
}

func (p tcpProber) Parse(given json.RawMessage, interval time.Duration) (Probe, error) {
	probe := tcpProbe{guard: p.guard}
	var err error
	if probe.hidden, err = p.read(p.Type(), given, &probe.config); err != nil {
		return nil, err
	}
	host, err := parseHost(p.guard, "config.host", probe.config.Host, probe.config.Port)
	if err != nil {
		return nil, err
	}
	probe.target = net.JoinHostPort(host, strconv.Itoa(probe.config.Port))
	if probe.config.Security == "none" && probe.config.TLS != nil {
		return nil, vigil.Invalid("config.tls", "needs security tls")
	}
	if probe.tls, err = probe.config.TLS.parse("config.tls", p.roots); err != nil {
		return nil, err
	}
	probe.tls.InsecureSkipVerify = !probe.config.VerifyTLS // the owner of the check asked for it
	if probe.tls.ServerName == "" {
		probe.tls.ServerName = host
	}
	probe.deadline, err = timeout(probe.config.TimeoutSeconds, interval)
	return probe, err
}

type tcpProbe struct {
	hidden   *redact.Redactor
	guard    *egress.Guard
	tls      *tls.Config
	config   TCPConfig
	target   string
	deadline time.Duration
}

func (p tcpProbe) Deadline() time.Duration { return p.deadline }

func (p tcpProbe) Target() string { return p.target }

func (p tcpProbe) Run(ctx context.Context) vigil.Observation {
	return observe(ctx, p.guard, p.deadline, p.hidden, func(ctx context.Context, t *timeline) outcome {
		var seen TCPMetadata
		err := p.exchange(ctx, t, &seen)
		t.stop()
		seen.Timings, seen.IP = t.timings(), t.address()
		return outcome{metadata: seen, err: err}
	})
}

// exchange connects, and sends and expects what the config says.
func (p tcpProbe) exchange(ctx context.Context, t *timeline, seen *TCPMetadata) error {
	conn, err := p.guard.DialContext(ctx, "tcp", p.target)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if p.config.Security == "tls" {
		within, err := p.secure(ctx, conn, t, seen)
		if err != nil {
			return err
		}
		conn = within
	}
	if p.config.Send == "" && p.config.Expect == "" {
		t.at(conn)
		return nil
	}
	t.connected(conn)
	t.step("sending")
	if _, err := conn.Write([]byte(p.config.Send)); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	if p.config.Expect == "" {
		return nil
	}
	t.step("waiting for the expected text")
	return p.expect(conn, t, seen)
}

// secure makes the TLS handshake.
func (p tcpProbe) secure(ctx context.Context, conn net.Conn, t *timeline, seen *TCPMetadata) (net.Conn, error) {
	t.enter(phaseTLS)
	t.at(conn)
	within := tls.Client(conn, p.tls)
	if err := within.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("secure: %w", err)
	}
	state := within.ConnectionState()
	t.recorder.certificates(state.PeerCertificates)
	seen.TLSVersion, seen.CertDaysRemaining = secured(&state)
	return within, nil
}

func (p tcpProbe) expect(conn net.Conn, t *timeline, seen *TCPMetadata) error {
	var got []byte
	defer func() { t.recorder.received(got, false) }()
	part := make([]byte, 4<<10)
	for len(got) < maxExpectBytes {
		n, err := conn.Read(part[:min(len(part), maxExpectBytes-len(got))])
		got = append(got, part[:n]...)
		seen.BytesReceived = len(got)
		if bytes.Contains(got[max(0, len(got)-n-len(p.config.Expect)):], []byte(p.config.Expect)) {
			return nil
		}
		if errors.Is(err, io.EOF) && len(got) > 0 {
			return fail("the server sent %d bytes without the expected text and closed the connection", len(got))
		}
		if err != nil {
			return fmt.Errorf("receive: %w", err)
		}
		t.step(fmt.Sprintf("waiting for the expected text, which is not in the %d bytes that came", len(got)))
	}
	return fail("the expected text is not in the first %d KiB of the answer", maxExpectBytes>>10)
}
