package probe

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"time"

	"vigil"
	"vigil/egress"
	"vigil/redact"
)

const (
	maxSANs     = 50  // in metadata
	maxNameText = 255 // bytes of a name in metadata
)

// SSLConfig is the config of ssl checks.
type SSLConfig struct {
	Host            string `json:"host" doc:"Host name or IP address, with a port if the member port is not used" maxLength:"260" example:"example.com"`
	Port            int    `json:"port,omitempty" doc:"Port that answers with TLS. Default 443" minimum:"1" maximum:"65535"`
	AlertDaysBefore *int   `json:"alert_days_before,omitempty" doc:"Fail when the certificate expires in so many days or fewer" minimum:"0" maximum:"3650" example:"14"`
	ServerName      string `json:"server_name,omitempty" doc:"Name to ask for and to verify the certificate against. Default: the host" maxLength:"253"`
	TimeoutSeconds  int    `json:"timeout_seconds,omitempty" doc:"Longest time for everything, at most the interval. Default: the smaller of 10 and the interval" minimum:"1" maximum:"60"`
}

// SSLMetadata is the metadata of a result of an ssl check.
type SSLMetadata struct {
	Timings       Timings  `json:"timings" doc:"How long each phase took"`
	IP            string   `json:"ip,omitempty" doc:"Address that answered"`
	TLSVersion    string   `json:"tls_version,omitempty" doc:"Version of TLS" example:"TLS 1.3"`
	DaysRemaining *int     `json:"days_remaining,omitempty" doc:"Whole days until the certificate expires, negative after"`
	NotBefore     string   `json:"not_before,omitempty" doc:"First instant of validity (RFC 3339)"`
	NotAfter      string   `json:"not_after,omitempty" doc:"Last instant of validity (RFC 3339)"`
	Issuer        string   `json:"issuer,omitempty" doc:"Who signed the certificate"`
	Subject       string   `json:"subject,omitempty" doc:"Who the certificate is for"`
	SANs          []string `json:"sans,omitempty" doc:"Names and addresses that the certificate is for, at most 50"`
	ChainValid    bool     `json:"chain_valid" doc:"The certificate is valid for the host and leads to a known authority"`
	Problem       string   `json:"problem,omitempty" doc:"What is wrong with the chain" enum:"expired,not_yet_valid,hostname_mismatch,unknown_authority,self_signed"`
}

var _ = register(newSSL)

// newSSL makes the ssl type.
func newSSL(env *environment) Prober { return sslProber{environment: env} }

type sslProber struct{ *environment }

func (sslProber) Type() vigil.CheckType { return vigil.TypeSSL }

func (sslProber) Documents() (config, metadata any) { return SSLConfig{}, SSLMetadata{} }

func (p sslProber) Parse(given json.RawMessage, interval time.Duration) (Probe, error) {
	probe := sslProbe{guard: p.guard, roots: p.roots}
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
		state, err := p.handshake(ctx, t)
		t.stop()
		seen.Timings, seen.IP = t.timings(), t.address()
		if err == nil {
			t.recorder.certificates(state.PeerCertificates)
			err = p.judge(state, &seen)
			t.recorder.noteVerification(err, seen.Problem)
		}
		return outcome{metadata: seen, err: err}
	})
}

// handshake accepts any certificate: it is verified afterwards, so
// that a bad one is described, too.
func (p sslProbe) handshake(ctx context.Context, t *timeline) (tls.ConnectionState, error) {
	conn, err := p.guard.DialContext(ctx, "tcp", p.target)
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer func() { _ = conn.Close() }()
	t.enter(phaseTLS)
	t.at(conn)
	secured := tls.Client(conn, &tls.Config{
		ServerName:         p.name,
		InsecureSkipVerify: true,             //nolint:gosec // verified by judge
		MinVersion:         tls.VersionTLS10, // old servers have certificates, too
	})
	if err := secured.HandshakeContext(ctx); err != nil {
		return tls.ConnectionState{}, err
	}
	return secured.ConnectionState(), nil
}

// judge describes the certificate and returns why it is a failure, or nil.
func (p sslProbe) judge(state tls.ConnectionState, seen *SSLMetadata) error {
	seen.TLSVersion = tls.VersionName(state.Version)
	if len(state.PeerCertificates) == 0 {
		return fail("the server sent no certificate")
	}
	leaf := state.PeerCertificates[0]
	days := daysUntil(leaf.NotAfter)
	seen.DaysRemaining = &days
	seen.NotBefore, seen.NotAfter = leaf.NotBefore.UTC().Format(time.RFC3339), leaf.NotAfter.UTC().Format(time.RFC3339)
	seen.Issuer, seen.Subject = clip(leaf.Issuer.String(), maxNameText), clip(leaf.Subject.String(), maxNameText)
	for _, name := range leaf.DNSNames[:min(len(leaf.DNSNames), maxSANs)] {
		seen.SANs = append(seen.SANs, clip(name, maxNameText))
	}
	for _, ip := range leaf.IPAddresses[:min(len(leaf.IPAddresses), maxSANs-len(seen.SANs))] {
		seen.SANs = append(seen.SANs, ip.String())
	}
	if err := p.verify(state.PeerCertificates); err != nil {
		seen.Problem = problemOf(err, leaf)
		if seen.Problem == problemSelfSigned {
			return fail("the certificate is signed by itself")
		}
		return judged{err}
	}
	seen.ChainValid = true
	if limit := p.config.AlertDaysBefore; limit != nil && days <= *limit {
		return fail("the certificate expires in %d days, on %s", days, seen.NotAfter)
	}
	return nil
}

func (p sslProbe) verify(chain []*x509.Certificate) error {
	intermediates := x509.NewCertPool()
	for _, certificate := range chain[1:] {
		intermediates.AddCert(certificate)
	}
	name := p.name
	if addr, err := netip.ParseAddr(name); err == nil {
		name = "[" + addr.WithZone("").String() + "]" // the library takes a name in brackets for an address
	}
	_, err := chain[0].Verify(x509.VerifyOptions{Roots: p.roots, Intermediates: intermediates, DNSName: name})
	return err
}

// The problems of a chain.
const (
	problemExpired    = "expired"
	problemNotYet     = "not_yet_valid"
	problemHostname   = "hostname_mismatch"
	problemAuthority  = "unknown_authority"
	problemSelfSigned = "self_signed"
)

// problemOf names what is wrong with a chain.
func problemOf(err error, leaf *x509.Certificate) string {
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		if invalid.Cert != nil && time.Now().Before(invalid.Cert.NotBefore) {
			return problemNotYet
		}
		return problemExpired
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return problemHostname
	}
	if bytes.Equal(leaf.RawIssuer, leaf.RawSubject) {
		return problemSelfSigned
	}
	return problemAuthority
}
