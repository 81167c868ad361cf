// SPDX-License-Identifier: Apache-2.0

package neterr

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
)

// explainTLS words a certificate or a handshake that failed, as far as the cause
// is known; else it returns nothing, see IsTLS.
func (x Exchange) explainTLS(err error) string {
	if _, sentence := Certificate(err); sentence != "" {
		return sentence
	}
	if other, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return x.Peer + " did not answer with TLS" + beganWith(other.RecordHeader)
	}
	// The alerts of QUIC have a type, those over TCP are errors of the operation "remote error"
	// (RFC 8446, section 6).
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" && op.Err != nil {
		return x.Peer + " ended the TLS handshake: " + strings.TrimPrefix(op.Err.Error(), "tls: ")
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "local error" && op.Err != nil {
		return "what " + x.Peer + " sent in the TLS handshake is not valid: " + strings.TrimPrefix(op.Err.Error(), "tls: ")
	}
	if alert, ok := errors.AsType[tls.AlertError](err); ok {
		return x.Peer + " ended the TLS handshake: " + strings.TrimPrefix(alert.Error(), "tls: ")
	}
	return ""
}

// beganWith shows the first bytes of an answer that is not TLS, where they are a text.
func beganWith(header [5]byte) string {
	for _, c := range header {
		if c < ' ' || c > '~' {
			return ""
		}
	}
	return fmt.Sprintf(", but with text that begins with %q", header[:])
}

// maxTLSReason bounds what the library says of a handshake, in bytes.
const maxTLSReason = 120

// handshakeFailed words a handshake of which the library has no type of error. What it says of
// the protocol is numbers and names of the standard; of a certificate it would quote.
func (x Exchange) handshakeFailed(err error) string {
	text := err.Error()
	switch _, reason, found := strings.Cut(text, "tls: "); {
	case strings.Contains(text, "server gave HTTP response to HTTPS client"):
		return x.Peer + " answered with plain HTTP, expected TLS"
	case strings.Contains(text, "x509: "):
		return "the certificate of " + x.Peer + " is not acceptable"
	case found && len(reason) <= maxTLSReason:
		return "the TLS handshake with " + x.Peer + " failed: " + reason
	}
	return "the TLS handshake with " + x.Peer + " failed"
}

// IsTLS reports whether an error that Explain has no words for is one of a
// certificate or a handshake.
func IsTLS(err error) bool {
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	text := err.Error()
	return certificate || strings.Contains(text, "tls: ") || strings.Contains(text, "server gave HTTP response to HTTPS client")
}
