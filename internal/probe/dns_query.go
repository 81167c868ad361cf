// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/miekg/dns"

	"github.com/vigil-monitor/vigil/internal/egress"
)

// Bounds of the time after which a query that is not answered is sent again over UDP (RFC 1035,
// section 4.2.1). It doubles with each; the first is a part of the time that there is.
const (
	minResend    = 100 * time.Millisecond
	maxResend    = time.Second // of the first
	resendParts  = 16
	ednsAttempts = 2 // queries with EDNS before one without: some firewalls drop them (RFC 6891, section 6.2.6)
)

// queryServers asks one server after the other until one gives a usable answer. Each
// gets an equal part of the time that is left. The time of those before the one whose
// answer counts is not response time.
func (p dnsProbe) queryServers(ctx context.Context, t *timeline, seen *DNSMetadata) (*dns.Msg, error) {
	servers, system := p.servers, len(p.servers) == 0
	if system {
		servers = p.guard.NameServers()
	}
	var reply *dns.Msg
	var failure error
	began, unused := time.Now(), time.Duration(0)
	for i, server := range servers {
		part, cancel := share(ctx, len(servers)-i)
		since := time.Now()
		asker := &dnsAsker{dnsProbe: p, t: t, server: server, system: system, sent: &seen.Queries}
		got, err := asker.query(part)
		p.noteAnswer(part, t, server, system, got, err)
		cancel()
		if err != nil {
			failure = err
			continue
		}
		reply, seen.Resolver = got, server
		unused = time.Since(began) - time.Since(since)
		if system {
			seen.Resolver = "system"
		}
		if got.Rcode == dns.RcodeSuccess || got.Rcode == dns.RcodeNameError || p.expectsRcode(got) {
			break
		}
	}
	if reply == nil {
		return nil, failure
	}
	t.unused(unused)
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

// dnsAsker asks one name server, as resolvers do.
type dnsAsker struct {
	dnsProbe

	t      *timeline
	server string
	system bool
	sent   *int // queries, to all servers
}

// query asks with EDNS, and without it a server that does not know it (RFC 6891, section 7).
func (a *dnsAsker) query(ctx context.Context) (*dns.Msg, error) {
	reply, err := a.ask(ctx, true)
	if err != nil || !mayBeEDNS(reply) {
		return reply, err
	}
	if plain, err := a.ask(ctx, false); err == nil {
		return plain, nil
	}
	return reply, nil
}

// mayBeEDNS reports whether an answer can mean that the server does not know EDNS: those
// that do not are to answer FORMERR, and many answer something else.
func mayBeEDNS(reply *dns.Msg) bool {
	switch reply.Rcode {
	case dns.RcodeFormatError, dns.RcodeNotImplemented, dns.RcodeBadVers:
		return true
	case dns.RcodeServerFailure:
		return reply.IsEdns0() == nil
	}
	return false
}

// ask asks once over each protocol that it takes: an answer that was cut is asked for again
// over TCP (RFC 7766, section 5).
func (a *dnsAsker) ask(ctx context.Context, edns bool) (*dns.Msg, error) {
	protocol := a.config.Protocol
	reply, err := a.exchange(ctx, protocol, edns)
	if err != nil || protocol != "udp" || !reply.Truncated {
		return reply, err
	}
	return a.exchange(ctx, "tcp", edns)
}

func (a *dnsAsker) exchange(ctx context.Context, protocol string, edns bool) (*dns.Msg, error) {
	network, dial := "tcp", a.guard.DialContext
	if protocol == "udp" {
		network = "udp"
	}
	if a.system {
		dial = a.guard.DialNameServer
	}
	conn, err := dial(ctx, network, a.server)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	if protocol == "tls" {
		host, _, _ := net.SplitHostPort(a.server)
		secured := tls.Client(conn, &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: a.roots, ServerName: egress.ServerName(host)})
		if err := secured.HandshakeContext(ctx); err != nil {
			return nil, err
		}
		conn = secured
	}
	a.t.enter(phaseWait)
	a.t.step("waiting for the name server " + a.server)
	if a.system {
		a.t.step("waiting for the name server")
	}
	if network == "udp" {
		return a.overUDP(ctx, conn, edns)
	}
	return a.overStream(conn, edns)
}

// message makes a query with an ID of its own.
func (a *dnsAsker) message(edns bool) (*dns.Msg, []byte, error) {
	query := new(dns.Msg).SetQuestion(a.name, a.question)
	if edns {
		query.SetEdns0(udpBuffer, false)
	}
	packed, err := query.Pack()
	if err != nil {
		return nil, nil, fmt.Errorf("pack: %w", err)
	}
	*a.sent++
	return query, packed, nil
}

// overStream sends a query over a stream, where it cannot be lost, and returns its answer.
func (a *dnsAsker) overStream(conn net.Conn, edns bool) (*dns.Msg, error) {
	query, packed, err := a.message(edns)
	if err != nil {
		return nil, err
	}
	packed = append(binary.BigEndian.AppendUint16(nil, uint16(len(packed))), packed...) //nolint:gosec // a query is short
	if _, err := conn.Write(packed); err != nil {
		return nil, fmt.Errorf("ask: %w", err)
	}
	var size [2]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	buffer := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(conn, buffer); err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	reply := new(dns.Msg)
	if reply.Unpack(buffer) != nil || !answers(reply, query) {
		return nil, errMalformedDNS
	}
	return reply, nil
}

var errMalformedDNS = fail("the name server's answer is malformed")

// overUDP sends a query, again and again while no answer comes, and returns the first answer
// to one of them. Packets that answer another question are passed over. Each query has an ID
// of its own, so that it is known which one was answered: its time is the response time.
func (a *dnsAsker) overUDP(ctx context.Context, conn net.Conn, edns bool) (*dns.Msg, error) {
	inbox := udpInbox{conn: conn, buffer: make([]byte, maxDNSMessage)}
	wait := firstResend(ctx)
	for n := 0; ; n++ {
		query, packed, err := a.message(edns && n != ednsAttempts)
		if err != nil {
			return nil, err
		}
		inbox.sent = append(inbox.sent, udpQuery{query, time.Now()})
		if _, err := conn.Write(packed); err != nil {
			return nil, fmt.Errorf("ask: %w", err)
		}
		reply, at, err := inbox.await(time.Now().Add(wait))
		wait *= 2
		switch {
		case err == nil:
			a.t.unused(at.Sub(inbox.sent[0].at))
			return reply, nil
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return nil, err
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
	}
}

// firstResend is how long the first query waits for its answer until another is sent.
func firstResend(ctx context.Context) time.Duration {
	wait := maxResend
	if until, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(until)/resendParts)
	}
	return max(wait, minResend)
}

// udpInbox takes the answers to the queries of one exchange.
type udpInbox struct {
	conn   net.Conn
	buffer []byte
	sent   []udpQuery
	broken bool // an answer came that cannot be read
}

type udpQuery struct {
	*dns.Msg

	at time.Time
}

// await returns an answer that comes until an instant, and when its query was sent. The error
// is os.ErrDeadlineExceeded when none came.
func (b *udpInbox) await(until time.Time) (*dns.Msg, time.Time, error) {
	if err := b.conn.SetReadDeadline(until); err != nil {
		return nil, until, fmt.Errorf("answer: %w", err)
	}
	for stray := 0; ; {
		n, err := b.conn.Read(b.buffer)
		if err != nil && b.broken && !errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, until, errMalformedDNS
		}
		if err != nil {
			return nil, until, fmt.Errorf("answer: %w", err)
		}
		reply := new(dns.Msg)
		damage := reply.Unpack(b.buffer[:n])
		for _, query := range b.sent {
			switch {
			case damage == nil && answers(reply, query.Msg):
				return reply, query.at, nil
			case damage == nil || reply.Id != query.Id || !reply.Response:
			case reply.Truncated: // cut in the middle of a record
				return reply, query.at, nil
			default:
				b.broken = true
			}
		}
		if stray++; stray >= maxStray {
			return nil, until, errMalformedDNS
		}
	}
}

// answers reports whether a message is the answer to a query. The spelling of the name does not
// matter (RFC 4343), and some servers leave the question out, above all of errors.
func answers(reply, query *dns.Msg) bool {
	if reply.Id != query.Id || !reply.Response || len(reply.Question) > 1 {
		return false
	}
	if len(reply.Question) == 0 {
		return true
	}
	asked, got := query.Question[0], reply.Question[0]
	return got.Qtype == asked.Qtype && got.Qclass == asked.Qclass && sameName(got.Name, asked.Name)
}
