// SPDX-License-Identifier: Apache-2.0

package neterr

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"
	"unicode"

	"github.com/vigil-monitor/vigil"
)

// The problems of a chain of certificates.
const (
	Expired             = "expired"
	NotYetValid         = "not_yet_valid"
	HostnameMismatch    = "hostname_mismatch"
	UnknownAuthority    = "unknown_authority"
	SelfSigned          = "self_signed"
	IntermediateExpired = "intermediate_expired" // or not valid yet
	MissingIntermediate = "missing_intermediate"
	WeakSignature       = "weak_signature" // of MD5 or SHA-1
	OtherProblem        = "invalid"
)

// Certificate returns what is wrong with a chain that was refused and a sentence that names the
// certificate; both empty for an error of something else. The kinds are those of RFC 5280, section 6,
// and of RFC 9525 for names.
func Certificate(err error) (problem, sentence string) {
	chain := []*x509.Certificate(nil)
	if refused, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		chain = refused.UnverifiedCertificates
	}
	if len(chain) == 0 {
		return withoutChain(err)
	}
	leaf := chain[0]
	now := time.Now() //nolint:forbidigo // the standard library judges by it, too
	switch {
	case now.After(leaf.NotAfter):
		return Expired, "the certificate expired on " + instant(leaf.NotAfter) + " (" + label(leaf) + ")"
	case now.Before(leaf.NotBefore):
		return NotYetValid, "the certificate is not valid before " + instant(leaf.NotBefore) + " (" + label(leaf) + ")"
	}
	if host, ok := errors.AsType[x509.HostnameError](err); ok {
		return HostnameMismatch, wrongName(host)
	}
	path := Path(chain)
	if problem, sentence := wrongIssuer(path, now); problem != "" {
		return problem, sentence
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason != x509.Expired {
		return OtherProblem, wrongUse(invalid)
	}
	return untrusted(path, len(chain) > len(path))
}

// withoutChain judges an error alone.
func withoutChain(err error) (problem, sentence string) {
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired && invalid.Cert != nil {
		if time.Now().Before(invalid.Cert.NotBefore) { //nolint:forbidigo // the standard library judges by it, too
			return NotYetValid, "the certificate is not valid before " + instant(invalid.Cert.NotBefore)
		}
		return Expired, "the certificate expired on " + instant(invalid.Cert.NotAfter)
	}
	if host, ok := errors.AsType[x509.HostnameError](err); ok {
		return HostnameMismatch, wrongName(host)
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return UnknownAuthority, "the certificate is signed by an unknown authority"
	}
	return "", ""
}

// Path returns the certificates of a chain from the server's own one on, each with the one that
// signed it behind it, as far as they were sent. What is sent besides them is left out.
func Path(chain []*x509.Certificate) []*x509.Certificate {
	if len(chain) == 0 {
		return nil
	}
	path := []*x509.Certificate{chain[0]}
	for now := chain[0]; !selfSigned(now) && len(path) <= len(chain); {
		next := issuer(now, chain[1:])
		if next == nil {
			break
		}
		path = append(path, next)
		now = next
	}
	return path
}

// issuer finds the certificate that signed one; of several one that is valid.
func issuer(of *x509.Certificate, among []*x509.Certificate) *x509.Certificate {
	var found *x509.Certificate
	now := time.Now() //nolint:forbidigo // the standard library judges by it, too
	for _, one := range among {
		if one.Equal(of) || !signed(of, one) {
			continue
		}
		if !now.After(one.NotAfter) && !now.Before(one.NotBefore) {
			return one
		}
		found = one
	}
	return found
}

// signed reports whether a certificate was signed with the key of another. A signature of a kind that is too
// weak to be checked counts by the names.
func signed(certificate, by *x509.Certificate) bool {
	if !bytes.Equal(certificate.RawIssuer, by.RawSubject) {
		return false
	}
	err := by.CheckSignature(certificate.SignatureAlgorithm, certificate.RawTBSCertificate, certificate.Signature)
	_, weak := errors.AsType[x509.InsecureAlgorithmError](err)
	return err == nil || weak
}

func selfSigned(certificate *x509.Certificate) bool { return signed(certificate, certificate) }

// wrongName words a certificate that is for other names.
func wrongName(err x509.HostnameError) string {
	leaf := err.Certificate
	host := strings.Trim(err.Host, "[]")
	if len(leaf.DNSNames) == 0 && len(leaf.IPAddresses) == 0 && leaf.Subject.CommonName != "" {
		return fmt.Sprintf("the certificate is for %s by its common name only, which does not count (RFC 9525), not for %s",
			clean(leaf.Subject.CommonName), err.Host)
	}
	if _, addressErr := netip.ParseAddr(host); addressErr == nil {
		for _, name := range leaf.DNSNames {
			if name == host {
				return fmt.Sprintf("the certificate holds the address %s as a DNS name and not as an IP address (RFC 9525), so it is not for it", host)
			}
		}
	}
	return fmt.Sprintf("the certificate is for %s, not for %s", names(leaf), err.Host)
}

// wrongIssuer looks for what is wrong with the certificates behind the first.
func wrongIssuer(path []*x509.Certificate, now time.Time) (problem, sentence string) {
	for _, one := range path[1:] {
		kind := "the intermediate certificate "
		if selfSigned(one) {
			kind = "the root certificate "
		}
		switch {
		case now.After(one.NotAfter):
			return IntermediateExpired, kind + label(one) + " expired on " + instant(one.NotAfter)
		case now.Before(one.NotBefore):
			return IntermediateExpired, kind + label(one) + " is not valid before " + instant(one.NotBefore)
		}
	}
	for _, one := range path {
		if weak(one.SignatureAlgorithm) && !selfSigned(one) {
			return WeakSignature, "the certificate " + label(one) + " has a weak signature, " + one.SignatureAlgorithm.String()
		}
	}
	return "", ""
}

func weak(algorithm x509.SignatureAlgorithm) bool {
	switch algorithm { //nolint:exhaustive // the others are not weak
	case x509.MD2WithRSA, x509.MD5WithRSA, x509.SHA1WithRSA, x509.DSAWithSHA1, x509.ECDSAWithSHA1:
		return true
	}
	return false
}

// wrongUse words a certificate that may not do what it is used for.
func wrongUse(err x509.CertificateInvalidError) string {
	which := "the certificate"
	if err.Cert != nil {
		which += " " + label(err.Cert)
	}
	switch err.Reason { //nolint:exhaustive // the others have no words of their own
	case x509.NotAuthorizedToSign:
		return which + " is not one of an authority, and signed another"
	case x509.IncompatibleUsage:
		return which + " is not for servers: its extended key usage says otherwise"
	case x509.TooManyIntermediates:
		return which + " permits fewer intermediate certificates"
	case x509.CANotAuthorizedForThisName, x509.UnconstrainedName:
		return which + " may not sign for this name"
	case x509.CANotAuthorizedForExtKeyUsage:
		return which + " may not sign certificates of servers"
	}
	return which + " is not valid"
}

// untrusted words a chain that leads to no authority that is known. Others are certificates that were
// sent and signed none of it.
func untrusted(path []*x509.Certificate, others bool) (problem, sentence string) {
	top := path[len(path)-1]
	switch {
	case selfSigned(top) && len(path) == 1:
		return SelfSigned, "the certificate is signed by itself (" + label(top) + ")"
	case selfSigned(top):
		return UnknownAuthority, "the certificate is signed by an unknown authority, " + label(top)
	}
	sentence = fmt.Sprintf("the server does not send the certificate of %s, which signed %s: "+
		"an intermediate certificate is missing, or the certificate is signed by an unknown authority",
		clean(top.Issuer.String()), label(top))
	if others || len(top.IssuingCertificateURL) > 0 {
		return MissingIntermediate, sentence
	}
	return UnknownAuthority, sentence
}

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// label names a certificate for people.
func label(certificate *x509.Certificate) string {
	if subject := certificate.Subject.String(); subject != "" {
		return clean(subject)
	}
	return names(certificate)
}

// maxName bounds a name of a certificate in a sentence, in bytes.
const maxName = 255

// clean is a name from a certificate as one bounded line.
func clean(name string) string {
	return vigil.Truncate(strings.Join(strings.FieldsFunc(strings.ToValidUTF8(name, " "), unicode.IsControl), " "), maxName)
}

// names lists a few of the names that a certificate is for.
func names(certificate *x509.Certificate) string {
	all := append([]string{}, certificate.DNSNames...)
	for _, ip := range certificate.IPAddresses {
		all = append(all, ip.String())
	}
	for i, name := range all {
		all[i] = clean(name)
	}
	switch {
	case len(all) == 0:
		return "no name at all"
	case len(all) > 3:
		return strings.Join(all[:3], ", ") + " and others"
	}
	return strings.Join(all, ", ")
}
