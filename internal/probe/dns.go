// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/config"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/redact"
)

const (
	maxAnswers    = 50      // in metadata
	maxAnswerText = 512     // bytes of one, in metadata
	maxStray      = 100     // packets that answer another question, after one query
	udpBuffer     = 1232    // bytes that are asked for over UDP (DNS flag day 2020)
	maxDNSMessage = 1 << 16 // bytes of any message
)

// DNSConfig is the config of dns checks.
type DNSConfig struct {
	RecordType     string   `json:"record_type,omitempty" title:"Records" form:"address,short" doc:"Type of the records" enum:"A,AAAA,CNAME,MX,NS,TXT,SOA,SRV,CAA,PTR" default:"A"`
	Host           string   `json:"host" title:"Name to look up" help:"For PTR also an IP address." doc:"Name to look up, also an internationalized one; a single dot for the root; for PTR also an IP address" maxLength:"253" example:"example.com"`
	Resolvers      []string `json:"resolvers,omitempty" title:"Name servers" help:"One IP address or host name a line, with or without a port; the first that answers is enough. Without one, those of the region's machine." form:"more,mono" doc:"Name servers to ask, each an IP address or a host name, with a port if it is not the standard one, in this order; the first that answers is enough. Names are looked up by the region's machine. Default: those of the region's machine; required with protocol tls" maxItems:"5" example:"[\"1.1.1.1\"]"`
	Protocol       string   `json:"protocol,omitempty" title:"Ask over" form:"more,medium" words:"udp=UDP|tcp=TCP|tls=TLS (RFC 7858)" doc:"How to ask; tls is DNS over TLS (RFC 7858), which needs resolvers. Over udp a query that is not answered is sent again, and an answer that was cut short is asked for over TCP" enum:"udp,tcp,tls" default:"udp"`
	ExpectedValues []string `json:"expected_values,omitempty" title:"Expected values" help:"One a line, as a zone file writes them; TXT without quotes." form:"expect,mono" doc:"Values that the records must have, as a zone file writes them; TXT as text, without quotes" maxItems:"50" maxLength:"1024"`
	Match          string   `json:"match,omitempty" title:"Which of them" form:"expect,medium" words:"any=at least one is there|all=every one is there|exact=they and no others are there" doc:"any: at least one expected value is there; all: every one is; exact: they and no others are" enum:"any,all,exact" default:"any"`
	ExpectedRcode  string   `json:"expected_rcode,omitempty" title:"Response code" form:"expect,medium" doc:"Response code that means success. NOERROR demands a record of the type, NODATA that the name exists and has none (RFC 2308)" enum:"NOERROR,NODATA,FORMERR,SERVFAIL,NXDOMAIN,NOTIMP,REFUSED,YXDOMAIN,YXRRSET,NXRRSET,NOTAUTH,NOTZONE,DSOTYPENI,RCODE12,RCODE13,RCODE14,RCODE15,BADVERS,BADKEY,BADTIME,BADMODE,BADNAME,BADALG,BADTRUNC,BADCOOKIE" default:"NOERROR"`
	TimeoutSeconds int      `json:"timeout_seconds,omitempty" help:"For all name servers together." doc:"Longest time for all resolvers together, at most the interval. Default: the smaller of 10 and the interval" minimum:"1" maximum:"60"`
}

// DNSMetadata is the metadata of a result of a dns check.
type DNSMetadata struct {
	Answers     []string `json:"answers" doc:"Values of the records of the type asked for, sorted; at most 50"`
	Rcode       string   `json:"rcode,omitempty" doc:"Response code" example:"NOERROR"`
	TTL         *uint32  `json:"ttl,omitempty" doc:"Smallest time to live of the records, s"`
	Resolver    string   `json:"resolver,omitempty" doc:"Name server that answered; system for the machine's own"`
	Queries     int      `json:"queries,omitempty" doc:"Queries that were sent, to all resolvers together; more than one when some were lost or had to be asked in another way. The response time is that of the one that was answered"`
	Fingerprint string   `json:"fingerprint,omitempty" doc:"Hash of the question, a colon, and one of the whole record set, regardless of order and time to live: it changes when the records do"`
}

var _ = register(newDNS)

// newDNS makes the dns type.
func newDNS(env *environment) Prober { return dnsProber{environment: env} }

type dnsProber struct{ *environment }

func (dnsProber) Type() vigil.CheckType { return vigil.TypeDNS }

func (dnsProber) Documents() (config, metadata any) { return DNSConfig{}, DNSMetadata{} }

// Describe says what the type is for.
func (dnsProber) Describe() TypeInfo {
	return TypeInfo{Position: 8, About: "Records", Conditions: []string{vigil.KeyDNSChanged}}
}

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

func (p dnsProber) parseServers(c DNSConfig) ([]string, error) {
	servers := make([]string, len(c.Resolvers))
	port := uint16(53)
	if c.Protocol == "tls" {
		if port = 853; len(servers) == 0 {
			return nil, vigil.Invalid("config.resolvers", "is required with protocol tls: the name servers of a machine are asked at port 53, "+
				"and DNS over TLS has a port of its own (RFC 7858)")
		}
	}
	for i, given := range c.Resolvers {
		server, err := p.parseServer(config.Element("config.resolvers", i), given, port)
		if err != nil {
			return nil, err
		}
		servers[i] = server
	}
	return servers, nil
}

// parseServer reads a name server, whose port is the standard one unless the text has another.
func (p dnsProber) parseServer(path, given string, port uint16) (string, error) {
	host := given
	if _, err := netip.ParseAddr(strings.Trim(given, "[]")); err != nil && strings.Contains(given, ":") {
		bare, text, err := net.SplitHostPort(given)
		number, wrong := strconv.ParseUint(text, 10, 16)
		switch {
		case err != nil || strings.Contains(given, "://"):
			return "", vigil.Invalid(path, "must be an IP address or a host name, with or without a port")
		case wrong != nil || number == 0:
			return "", vigil.Invalid(path, "has a port that is not from 1 to 65535")
		}
		host, port = bare, uint16(number)
	}
	host, err := parseHost(p.guard, path, host, int(port))
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(host, strconv.FormatUint(uint64(port), 10)), nil
}

type dnsProbe struct {
	hidden   *redact.Redactor
	guard    *egress.Guard
	roots    *x509.CertPool
	config   DNSConfig
	name     string
	question uint16
	servers  []string // host:port; none: the machine's
	expected []expectedValue
	deadline time.Duration
}

func (p dnsProbe) Deadline() time.Duration { return p.deadline }

func (p dnsProbe) Target() string {
	if p.name == "." {
		return p.name
	}
	return strings.TrimSuffix(p.name, ".")
}

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
