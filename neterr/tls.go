package neterr

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"vigil"
)

// explainTLS words a certificate or a handshake that failed, as far as the cause
// is known; else it returns nothing, see IsTLS.
func (x Exchange) explainTLS(err error) string {
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired && invalid.Cert != nil {
		return x.expired(invalid.Cert)
	}
	if host, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Sprintf("the certificate is for %s, not for %s", names(host.Certificate), host.Host)
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "the certificate is signed by an unknown authority"
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return x.Peer + " did not answer with TLS"
	}
	if alert, ok := errors.AsType[tls.AlertError](err); ok {
		return x.Peer + " ended the TLS handshake: " + strings.TrimPrefix(alert.Error(), "tls: ")
	}
	return ""
}

// expired words a certificate that is not valid at the machine's time, by which
// it was judged.
func (x Exchange) expired(certificate *x509.Certificate) string {
	if time.Now().Before(certificate.NotBefore) { //nolint:forbidigo // the standard library judges by it, too
		return "the certificate is not valid before " + certificate.NotBefore.UTC().Format(time.RFC3339)
	}
	return "the certificate expired on " + certificate.NotAfter.UTC().Format(time.RFC3339)
}

// IsTLS reports whether an error that Explain has no words for is one of a
// certificate or a handshake.
func IsTLS(err error) bool {
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	text := err.Error()
	return certificate || strings.Contains(text, "tls: ") || strings.Contains(text, "server gave HTTP response to HTTPS client")
}

// maxName bounds a name of a certificate in a sentence, in bytes.
const maxName = 255

// names lists a few of the names that a certificate is for.
func names(certificate *x509.Certificate) string {
	all := append([]string{}, certificate.DNSNames...)
	for _, ip := range certificate.IPAddresses {
		all = append(all, ip.String())
	}
	for i, name := range all {
		all[i] = vigil.Truncate(strings.Join(strings.FieldsFunc(strings.ToValidUTF8(name, " "), unicode.IsControl), " "), maxName)
	}
	switch {
	case len(all) == 0:
		return "no name at all"
	case len(all) > 3:
		return strings.Join(all[:3], ", ") + " and others"
	}
	return strings.Join(all, ", ")
}
