package neterr

import (
	"crypto/tls"
	"errors"
	"strings"
)

// explainTLS words a certificate or a handshake that failed, as far as the cause
// is known; else it returns nothing, see IsTLS.
func (x Exchange) explainTLS(err error) string {
	if _, sentence := Certificate(err); sentence != "" {
		return sentence
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return x.Peer + " did not answer with TLS"
	}
	if alert, ok := errors.AsType[tls.AlertError](err); ok {
		return x.Peer + " ended the TLS handshake: " + strings.TrimPrefix(alert.Error(), "tls: ")
	}
	return ""
}

// IsTLS reports whether an error that Explain has no words for is one of a
// certificate or a handshake.
func IsTLS(err error) bool {
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	text := err.Error()
	return certificate || strings.Contains(text, "tls: ") || strings.Contains(text, "server gave HTTP response to HTTPS client")
}
