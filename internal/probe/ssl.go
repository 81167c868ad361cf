// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/neterr"
	"github.com/vigil-monitor/vigil/internal/redact"
)

const (
	maxSANs     = 50  // in metadata
	maxNameText = 255 // bytes of a name in metadata
)

// SSLConfig is the config of ssl checks.
type SSLConfig struct {
	Host            string      `json:"host" place:"text" doc:"Host name or IP address, with a port if the member port is not used" maxLength:"260" example:"example.com"`
	Port            int         `json:"port,omitempty" form:"address,mono,short" sample:"443" place:"text" doc:"Port that answers with TLS. Default 443" minimum:"1" maximum:"65535"`
	AlertDaysBefore *int        `json:"alert_days_before,omitempty" title:"Fail this many days before the certificate expires" form:"expect,short" doc:"Fail when the certificate expires in so many days or fewer" minimum:"0" maximum:"3650" example:"14"`
	ServerName      string      `json:"server_name,omitempty" doc:"Name to ask for and to verify the certificate against. Default: the host" maxLength:"253"`
	VerifyTLS       bool        `json:"verify_tls,omitempty" doc:"Fail when the certificate is not valid for the host; it is described in any case" default:"true"`
	TLS             *TLSOptions `json:"tls,omitempty" doc:"Names and certificates of the connection; server_name stands for the member of the same name beside it"`
	TimeoutSeconds  int         `json:"timeout_seconds,omitempty" doc:"Longest time for everything, at most the interval. Default: the smaller of 10 and the interval" minimum:"1" maximum:"60"`
}

// SSLMetadata is the metadata of a result of an ssl check.
type SSLMetadata struct {
	Timings       Timings  `json:"timings" doc:"How long each phase took"`
	IP            string   `json:"ip,omitempty" doc:"Address that answered"`
	TLSVersion    string   `json:"tls_version,omitempty" doc:"Version of TLS" example:"TLS 1.3"`
	DaysRemaining *int     `json:"days_remaining,omitempty" doc:"Whole days until the first certificate of the chain expires that a client needs, negative after"`
	FirstToExpire string   `json:"first_to_expire,omitempty" doc:"Subject of that certificate, where it is not the server's own"`
	NotBefore     string   `json:"not_before,omitempty" doc:"First instant of validity (RFC 3339)"`
	NotAfter      string   `json:"not_after,omitempty" doc:"Last instant of validity (RFC 3339)"`
	Issuer        string   `json:"issuer,omitempty" doc:"Who signed the certificate"`
	Subject       string   `json:"subject,omitempty" doc:"Who the certificate is for"`
	SANs          []string `json:"sans,omitempty" doc:"Names and addresses that the certificate is for, at most 50"`
	ChainValid    bool     `json:"chain_valid" doc:"The certificate is valid for the host and leads to a known authority"`
	Problem       string   `json:"problem,omitempty" doc:"What is wrong with the chain" enum:"expired,not_yet_valid,hostname_mismatch,unknown_authority,self_signed,intermediate_expired,missing_intermediate,weak_signature,invalid"`
	WantsClient   bool     `json:"wants_client_certificate,omitempty" doc:"The server asks for a certificate of the client"`
}

var _ = register(newSSL)

// newSSL makes the ssl type.
func newSSL(env *environment) Prober { return sslProber{environment: env} }

type sslProber struct{ *environment }

func (sslProber) Type() vigil.CheckType { return vigil.TypeSSL }

func (sslProber) Documents() (config, metadata any) { return SSLConfig{}, SSLMetadata{} }

// Describe says what the type is for.
func (sslProber) Describe() TypeInfo {
	return TypeInfo{Position: 9, About: "Certificate and chain", Conditions: []string{vigil.KeySSLDaysRemaining}}
}

func (p sslProber) Parse(given json.RawMessage, interval time.Duration) (Probe, error) {
	probe := sslProbe{guard: p.guard}
	var err error
	if probe.hidden, err = p.read(p.Type(), given, &probe.config); err != nil {
		return nil, err
	}
	host, err := p.parseTarget(&probe)
	if err != nil {
		return nil, err
	}
	probe.name = host
	if probe.config.ServerName != "" {
		if probe.name, err = parseName("config.server_name", probe.config.ServerName); err != nil {
			return nil, err
		}
	}
	secure, err := probe.config.TLS.parse("config.tls", p.roots)
	if err != nil {
		return nil, err
	}
	if secure.ServerName != "" {
		if probe.config.ServerName != "" && probe.name != secure.ServerName {
			return nil, vigil.Invalid("config.tls.server_name", "differs from config.server_name; give one of them")
		}
		probe.name = secure.ServerName
	}
	probe.roots, probe.identity = secure.RootCAs, secure.Certificates
	probe.deadline, err = timeout(probe.config.TimeoutSeconds, interval)
	return probe, err
}

// parseTarget reads host and port, which may both stand in host.
func (p sslProber) parseTarget(probe *sslProbe) (host string, err error) {
	host, port := probe.config.Host, probe.config.Port
	if name, text, err := net.SplitHostPort(host); err == nil {
		number, err := strconv.ParseUint(text, 10, 16)
		if err != nil || number == 0 {
			return "", vigil.Invalid("config.host", "has a port that is not a number from 1 to 65535")
		}
		if port != 0 && port != int(number) {
			return "", vigil.Invalid("config.port", "differs from the port in config.host; give one of them")
		}
		host, port = name, int(number)
	}
	if port == 0 {
		port = 443
	}
	if host, err = parseHost(p.guard, "config.host", host, port); err != nil {
		return "", err
	}
	probe.target = net.JoinHostPort(host, strconv.Itoa(port))
	return host, nil
}

type sslProbe struct {
	hidden   *redact.Redactor
	guard    *egress.Guard
	roots    *x509.CertPool
	identity []tls.Certificate // shown to a server that asks
	config   SSLConfig
	target   string
	name     string
	deadline time.Duration
}

func (p sslProbe) Deadline() time.Duration { return p.deadline }

func (p sslProbe) Target() string { return p.target }

func (p sslProbe) Run(ctx context.Context) vigil.Observation {
	return observe(ctx, p.guard, p.deadline, p.hidden, func(ctx context.Context, t *timeline) outcome {
		var seen SSLMetadata
		shown, err := p.handshake(ctx, t)
		t.stop()
		seen.Timings, seen.IP = t.timings(), t.address()
		if len(shown.PeerCertificates) > 0 {
			t.recorder.certificates(shown.PeerCertificates)
			seen.WantsClient = shown.asked
			verdict := p.judge(shown.ConnectionState, &seen)
			t.recorder.noteVerification(verdict, seen.Problem)
			if err == nil || shown.asked {
				err = verdict
			}
		} else if err == nil {
			err = fail("the server sent no certificate")
		}
		return outcome{metadata: seen, err: err}
	})
}

// shown is what a server showed in a handshake, which may have failed later.
type shown struct {
	tls.ConnectionState

	asked bool // for a certificate of the client
}

// handshake accepts any certificate: it is verified afterwards, so that a bad one is described,
// too. So is that of a handshake which fails after it, such as of a server that wants a
// certificate of the client. Every suite that the library has is offered.
func (p sslProbe) handshake(ctx context.Context, t *timeline) (found shown, err error) {
	conn, err := p.guard.DialContext(ctx, "tcp", p.target)
	if err != nil {
		return found, err
	}
	defer func() { _ = conn.Close() }()
	t.enter(phaseTLS)
	t.at(conn)
	var sent [][]byte
	config := &tls.Config{
		ServerName:         egress.ServerName(p.name),
		InsecureSkipVerify: true,             //nolint:gosec // verified by judge
		MinVersion:         tls.VersionTLS10, // old servers have certificates, too
		//nolint:gosec // no session is resumed: there is no cache of them
		VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			sent = raw
			return nil
		},
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			if found.asked = len(p.identity) == 0; !found.asked {
				return &p.identity[0], nil
			}
			return &tls.Certificate{}, nil
		},
	}
	for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		config.CipherSuites = append(config.CipherSuites, suite.ID)
	}
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		for _, one := range sent {
			if certificate, err := x509.ParseCertificate(one); err == nil {
				found.PeerCertificates = append(found.PeerCertificates, certificate)
			}
		}
		return found, err
	}
	found.ConnectionState = secured.ConnectionState()
	return found, nil
}

// judge describes the certificate and returns why it is a failure, or nil.
func (p sslProbe) judge(state tls.ConnectionState, seen *SSLMetadata) error {
	if state.Version != 0 { // the handshake came to its end
		seen.TLSVersion = tls.VersionName(state.Version)
	}
	leaf := state.PeerCertificates[0]
	seen.describe(leaf)
	verified, err := p.verify(state.PeerCertificates)
	first := firstToExpire(state.PeerCertificates, verified)
	days := daysUntil(first.NotAfter)
	seen.DaysRemaining = &days
	which := "the certificate"
	if first != leaf {
		seen.FirstToExpire = clip(first.Subject.String(), maxNameText)
		which = "the intermediate certificate " + seen.FirstToExpire
	}
	if err != nil {
		err = &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
		if seen.Problem, _ = neterr.Certificate(err); seen.Problem == "" {
			seen.Problem = neterr.OtherProblem
		}
		if p.config.VerifyTLS {
			return judged{err}
		}
	}
	seen.ChainValid = err == nil
	if limit := p.config.AlertDaysBefore; limit != nil && days <= *limit {
		return fail("%s expires in %d days, on %s", which, days, first.NotAfter.UTC().Format(time.RFC3339))
	}
	return nil
}

// describe notes what a certificate says.
func (m *SSLMetadata) describe(leaf *x509.Certificate) {
	m.NotBefore, m.NotAfter = leaf.NotBefore.UTC().Format(time.RFC3339), leaf.NotAfter.UTC().Format(time.RFC3339)
	m.Issuer, m.Subject = clip(leaf.Issuer.String(), maxNameText), clip(leaf.Subject.String(), maxNameText)
	for _, name := range leaf.DNSNames[:min(len(leaf.DNSNames), maxSANs)] {
		m.SANs = append(m.SANs, clip(name, maxNameText))
	}
	for _, ip := range leaf.IPAddresses[:min(len(leaf.IPAddresses), maxSANs-len(m.SANs))] {
		m.SANs = append(m.SANs, ip.String())
	}
}

// verify returns the chains that lead to a known authority, or why there is none.
func (p sslProbe) verify(sent []*x509.Certificate) ([][]*x509.Certificate, error) {
	intermediates := x509.NewCertPool()
	for _, certificate := range sent[1:] {
		intermediates.AddCert(certificate)
	}
	name := p.name
	if addr, err := netip.ParseAddr(name); err == nil {
		name = "[" + addr.WithZone("").String() + "]" // the library takes a name in brackets for an address
	}
	return sent[0].Verify(x509.VerifyOptions{Roots: p.roots, Intermediates: intermediates, DNSName: name})
}
