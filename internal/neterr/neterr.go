// SPDX-License-Identifier: Apache-2.0

package neterr

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/vigil-monitor/vigil/internal/egress"
)

// The codes of errors.
const (
	Timeout     = "timeout"
	Canceled    = "canceled"           // by the platform, not by the other side
	DNS         = "dns"                // the name does not resolve
	Refused     = "connection_refused" // no process listens there
	Reset       = "connection_reset"   // the other side ended the connection
	Unreachable = "unreachable"        // there is no way there
	TLS         = "tls"                // certificate or handshake
	Forbidden   = "forbidden_address"  // this instance may not reach it
)

// Exchange describes what failed, for the sentences.
type Exchange struct {
	// Peer is the other side, such as "the receiver".
	Peer string
	// Doing is the step that was under way, such as "reading the body"; empty
	// when it is not known.
	Doing string
	// Waited is how long the answer was waited for, such as "15s"; empty when it
	// is not known.
	Waited string
}

// Explain returns the code and the sentence of an error of an exchange under
// ctx. Both are empty for an error that is not one of the network: what the
// other side answered is for the caller to judge.
func (x Exchange) Explain(ctx context.Context, err error) (code, sentence string) {
	if refusal, ok := errors.AsType[*egress.Refusal](err); ok {
		return Forbidden, refusal.Error()
	}
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return Canceled, x.while("interrupted", "the attempt was interrupted")
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return Timeout, x.timeout()
	}
	// QUIC wraps a bad certificate in an error that is also a closed connection.
	if sentence := x.explainTLS(err); sentence != "" {
		return TLS, sentence
	}
	if missing, ok := errors.AsType[*egress.NoAddressError](err); ok {
		return DNS, missing.Error()
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return DNS, explainDNS(dns)
	}
	if timed, ok := errors.AsType[net.Error](err); ok && timed.Timeout() {
		return Timeout, x.timeout()
	}
	if code, sentence := x.explainConnection(err); code != "" {
		return code, sentence
	}
	if IsTLS(err) {
		return TLS, x.handshakeFailed(err)
	}
	return "", ""
}

// IsNetwork reports whether a code of Explain is a failure of the network: there was no answer
// to judge, and another attempt can fare better. What this instance forbids or interrupts, and
// what an answer says, is none.
func IsNetwork(code string) bool {
	switch code {
	case Timeout, DNS, Refused, Reset, Unreachable, TLS:
		return true
	}
	return false
}

func (x Exchange) timeout() string {
	switch {
	case x.Doing != "" && x.Waited != "":
		return "timed out after " + x.Waited + " while " + x.Doing
	case x.Waited != "":
		return x.Peer + " did not answer within " + x.Waited
	}
	return x.Peer + " did not answer in time"
}

// while is an event and the step that it happened in, or another sentence when
// the step is not known.
func (x Exchange) while(event, otherwise string) string {
	if x.Doing == "" {
		return otherwise
	}
	return event + " while " + x.Doing
}

func explainDNS(err *net.DNSError) string {
	switch {
	case err.IsNotFound:
		return "no such host: " + err.Name
	case err.IsTimeout:
		return "the name server did not answer for " + err.Name
	}
	return "the name server could not resolve " + err.Name
}

func (x Exchange) explainConnection(err error) (code, sentence string) {
	address := ""
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Addr != nil {
		address = op.Addr.String()
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return Refused, strings.TrimSuffix("connection refused by "+address, " by ")
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return Reset, x.while("the connection was reset", x.Peer+" reset the connection")
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EADDRNOTAVAIL):
		return Unreachable, strings.TrimSuffix("there is no route to "+address, " to ")
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return Unreachable, "the worker ran out of file descriptors"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return Reset, x.while("the connection was closed", x.Peer+" closed the connection without an answer")
	}
	if _, ok := errors.AsType[*net.AddrError](err); ok {
		return Unreachable, "the host has no suitable address"
	}
	return "", ""
}
