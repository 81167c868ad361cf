package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"

	"vigil"
	"vigil/config"
	"vigil/egress"
	"vigil/redact"
)

const (
	maxAnswers    = 50      // in metadata
	maxAnswerText = 512     // bytes of one, in metadata
	maxStray      = 100     // packets that answer another question
	udpBuffer     = 1232    // bytes that are asked for over UDP (DNS flag day 2020)
	maxDNSMessage = 1 << 16 // bytes of any message
)

// DNSConfig is the config of dns checks.
type DNSConfig struct {
	Host           string   `json:"host" doc:"Name to look up; for PTR also an IP address" maxLength:"253" example:"example.com"`
	RecordType     string   `json:"record_type,omitempty" doc:"Type of the records" enum:"A,AAAA,CNAME,MX,NS,TXT,SOA,SRV,CAA,PTR" default:"A"`
	Resolvers      []string `json:"resolvers,omitempty" doc:"Name servers to ask, each an IP address or IP:port, in this order; the first that answers is enough. Default: those of the region's machine" maxItems:"5" example:"[\"1.1.1.1\"]"`
	Protocol       string   `json:"protocol,omitempty" doc:"How to ask; tls is DNS over TLS (RFC 7858)" enum:"udp,tcp,tls" default:"udp"`
	ExpectedValues []string `json:"expected_values,omitempty" doc:"Values that the records must have, as a zone file writes them; TXT without quotes" maxItems:"50" maxLength:"1024"`
	Match          string   `json:"match,omitempty" doc:"any: at least one expected value is there; all: every one is; exact: they and no others are" enum:"any,all,exact" default:"any"`
	ExpectedRcode  string   `json:"expected_rcode,omitempty" doc:"Response code that means success" enum:"NOERROR,NXDOMAIN,SERVFAIL,REFUSED,FORMERR,NOTIMP" default:"NOERROR"`
	TimeoutSeconds int      `json:"timeout_seconds,omitempty" doc:"Longest time for all resolvers together, at most the interval. Default: the smaller of 10 and the interval" minimum:"1" maximum:"60"`
}

// DNSMetadata is the metadata of a result of a dns check.
type DNSMetadata struct {
	Answers     []string `json:"answers" doc:"Values of the records of the type asked for, sorted; at most 50"`
	Rcode       string   `json:"rcode,omitempty" doc:"Response code" example:"NOERROR"`
	TTL         *uint32  `json:"ttl,omitempty" doc:"Smallest time to live of the records, s"`
	Resolver    string   `json:"resolver,omitempty" doc:"Name server that answered; system for the machine's own"`
	Fingerprint string   `json:"fingerprint,omitempty" doc:"Hash of the question, a colon, and one of the whole record set, regardless of order and time to live: it changes when the records do"`
}

var _ = register(newDNS)

// newDNS makes the dns type.
func newDNS(env *environment) Prober { return dnsProber{environment: env} }

type dnsProber struct{ *environment }

func (dnsProber) Type() vigil.CheckType { return vigil.TypeDNS }

func (dnsProber) Documents() (config, metadata any) { return DNSConfig{}, DNSMetadata{} }

func (p dnsProber) Parse(given json.RawMessage, interval time.Duration) (Probe, error) {
	probe := dnsProbe{guard: p.guard, roots: p.roots}
	var err error
	if probe.hidden, err = p.read(p.Type(), given, &probe.config); err != nil {
		return nil, err
	}
	probe.question = dns.StringToType[probe.config.RecordType]
	if probe.name, err = parseQuery(probe.config.Host, probe.question); err != nil {
		return nil, err
	}
	if probe.asksInside() {
		return nil, vigil.Invalid("config.host", "is about a private address, and this instance reaches public addresses only; "+
			"its operator can permit it with %s", egress.Setting)
	}
	if probe.servers, err = p.parseServers(probe.config); err != nil {
		return nil, err
	}
	if probe.expected, err = parseExpected(probe.config, probe.question); err != nil {
		return nil, err
	}
	probe.deadline, err = timeout(probe.config.TimeoutSeconds, interval)
	return probe, err
}

// parseQuery returns the name to ask for, with a dot at its end.
func parseQuery(host string, question uint16) (string, error) {
	if addr, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		if question != dns.TypePTR {
			return "", vigil.Invalid("config.host", "must be a name; an address can only be looked up as PTR")
		}
		name, err := dns.ReverseAddr(addr.WithZone("").String())
		if err != nil {
			return "", vigil.Invalid("config.host", "is not a valid address")
		}
		return name, nil
	}
	name, err := parseName("config.host", host)
	if err != nil {
		return "", err
	}
	return dns.Fqdn(name), nil
}

func (p dnsProber) parseServers(c DNSConfig) ([]string, error) {
	servers := make([]string, len(c.Resolvers))
	port := uint16(53)
	if c.Protocol == "tls" {
		port = 853
	}
	for i, given := range c.Resolvers {
		path := config.Element("config.resolvers", i)
		server, err := netip.ParseAddrPort(given)
		if err != nil {
			addr, err := netip.ParseAddr(strings.Trim(given, "[]"))
			if err != nil {
				return nil, vigil.Invalid(path, "must be an IP address, or an IP address and a port")
			}
			server = netip.AddrPortFrom(addr, port)
		}
		if server.Port() == 0 {
			return nil, vigil.Invalid(path, "has a port that is not from 1 to 65535")
		}
		if err := p.guard.Check("udp", server.String()); err != nil {
			return nil, vigil.Invalid(path, "%s", err)
		}
		servers[i] = server.String()
	}
	return servers, nil
}

// parseExpected returns the expected values as the answers are written.
func parseExpected(c DNSConfig, question uint16) ([]string, error) {
	if len(c.ExpectedValues) > 0 && c.ExpectedRcode != "NOERROR" {
		return nil, vigil.Invalid("config.expected_values", "cannot be combined with an expected_rcode other than NOERROR")
	}
	expected := make([]string, len(c.ExpectedValues))
	for i, given := range c.ExpectedValues {
		if question == dns.TypeA || question == dns.TypeAAAA {
			addr, err := netip.ParseAddr(given)
			if err != nil || addr.Is4() != (question == dns.TypeA) {
				return nil, vigil.Invalid(config.Element("config.expected_values", i), "must be an address of the record type")
			}
			given = addr.String()
		}
		if given == "" {
			return nil, vigil.Invalid(config.Element("config.expected_values", i), "must not be empty")
		}
		expected[i] = canonical(given, question)
	}
	slices.Sort(expected)
	return slices.Compact(expected), nil
}

type dnsProbe struct {
	hidden   *redact.Redactor
	guard    *egress.Guard
	roots    *x509.CertPool
	config   DNSConfig
	name     string
	question uint16
	servers  []string // none: the machine's
	expected []string
	deadline time.Duration
}

func (p dnsProbe) Deadline() time.Duration { return p.deadline }

func (p dnsProbe) Target() string { return strings.TrimSuffix(p.name, ".") }

func (p dnsProbe) Run(ctx context.Context) vigil.Observation {
	return observe(ctx, p.guard, p.deadline, p.hidden, func(ctx context.Context, t *timeline) outcome {
		seen := DNSMetadata{Answers: []string{}}
		if p.asksInside() { // private targets may be closed by now
			return outcome{metadata: seen, err: fail("the question is about a private address, which this instance does not ask")}
		}
		reply, err := p.queryServers(ctx, t, &seen)
		t.stop()
		if err != nil {
			return outcome{metadata: seen, err: err}
		}
		err = p.judge(reply, &seen)
		return outcome{metadata: seen, err: err}
	})
}

// queryServers asks one server after the other until one gives a usable answer. Each
// gets an equal part of the time that is left.
func (p dnsProbe) queryServers(ctx context.Context, t *timeline, seen *DNSMetadata) (*dns.Msg, error) {
	servers, system := p.servers, len(p.servers) == 0
	if system {
		servers = p.guard.NameServers()
	}
	var reply *dns.Msg
	var failure error
	for i, server := range servers {
		part, cancel := share(ctx, len(servers)-i)
		got, err := p.queryServer(part, t, server, system)
		cancel()
		p.noteAnswer(part, t, server, system, got, err)
		if err != nil {
			failure = err
			continue
		}
		reply, seen.Resolver = got, server
		if system {
			seen.Resolver = "system"
		}
		if useful := got.Rcode != dns.RcodeServerFailure && got.Rcode != dns.RcodeRefused; useful || p.expectsRcode(got) {
			break
		}
	}
	if reply == nil {
		return nil, failure
	}
	return reply, nil
}

// share returns a context with one of n equal parts of the time that ctx has.
func share(ctx context.Context, n int) (context.Context, context.CancelFunc) {
	until, ok := ctx.Deadline()
	if !ok || n <= 1 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(until)/time.Duration(n))
}

func (p dnsProbe) expectsRcode(reply *dns.Msg) bool {
	return dns.RcodeToString[reply.Rcode] == p.config.ExpectedRcode
}

// queryServer asks one server, and again over TCP when its answer was cut.
func (p dnsProbe) queryServer(ctx context.Context, t *timeline, server string, system bool) (*dns.Msg, error) {
	query := new(dns.Msg).SetQuestion(p.name, p.question)
	query.SetEdns0(udpBuffer, false)
	reply, err := p.exchange(ctx, t, p.config.Protocol, server, system, query)
	if err == nil && reply.Truncated && p.config.Protocol == "udp" {
		return p.exchange(ctx, t, "tcp", server, system, query)
	}
	return reply, err
}

func (p dnsProbe) exchange(ctx context.Context, t *timeline, protocol, server string, system bool, query *dns.Msg) (*dns.Msg, error) {
	network, dial := "tcp", p.guard.DialContext
	if protocol == "udp" {
		network = "udp"
	}
	if system {
		dial = p.guard.DialNameServer
	}
	conn, err := dial(ctx, network, server)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	if protocol == "tls" {
		host, _, _ := net.SplitHostPort(server)
		secured := tls.Client(conn, &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: p.roots, ServerName: host})
		if err := secured.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		conn = secured
	}
	t.enter(phaseWait)
	t.step("waiting for the name server " + server)
	if system {
		t.step("waiting for the name server")
	}
	return transfer(conn, network == "udp", query)
}

// transfer sends a query and returns its answer. Packets that answer another
// question are passed over; on a stream they are a failure.
func transfer(conn net.Conn, packets bool, query *dns.Msg) (*dns.Msg, error) {
	packed, err := query.Pack()
	if err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	if !packets {
		packed = append(binary.BigEndian.AppendUint16(nil, uint16(len(packed))), packed...) //nolint:gosec // a query is short
	}
	if _, err := conn.Write(packed); err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	buffer := make([]byte, maxDNSMessage)
	for range maxStray {
		n, err := receive(conn, packets, buffer)
		if err != nil {
			return nil, fmt.Errorf("answer: %w", err)
		}
		reply := new(dns.Msg)
		if err := reply.Unpack(buffer[:n]); err == nil && answers(reply, query) {
			return reply, nil
		}
		if !packets {
			break
		}
	}
	return nil, fail("the name server's answer is malformed")
}

func receive(conn net.Conn, packet bool, buffer []byte) (int, error) {
	if packet {
		return conn.Read(buffer)
	}
	var size [2]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return 0, err
	}
	return io.ReadFull(conn, buffer[:binary.BigEndian.Uint16(size[:])])
}

func answers(reply, query *dns.Msg) bool {
	if reply.Id != query.Id || !reply.Response || len(reply.Question) != 1 {
		return false
	}
	asked, got := query.Question[0], reply.Question[0]
	return got.Qtype == asked.Qtype && got.Qclass == asked.Qclass && strings.EqualFold(got.Name, asked.Name)
}

// judge returns why the answer is a failure, or nil.
func (p dnsProbe) judge(reply *dns.Msg, seen *DNSMetadata) error {
	seen.Rcode = dns.RcodeToString[reply.Rcode]
	if seen.Rcode == "" {
		seen.Rcode = fmt.Sprintf("RCODE%d", reply.Rcode)
	}
	if p.disclosesInside(reply) {
		return fail("the answer holds private addresses, which this instance does not show; its operator can permit them with %s", egress.Setting)
	}
	values, ttl := p.values(reply)
	seen.TTL = ttl
	seen.Fingerprint = p.fingerprint(seen.Rcode, values)
	for _, value := range values[:min(len(values), maxAnswers)] {
		seen.Answers = append(seen.Answers, clip(value, maxAnswerText))
	}
	switch {
	case !p.expectsRcode(reply):
		return fail("the name server answered %s, expected %s", seen.Rcode, p.config.ExpectedRcode)
	case p.config.ExpectedRcode == "NOERROR" && len(values) == 0:
		return fail("%s has no %s record", p.Target(), p.config.RecordType)
	}
	return p.compare(values)
}
