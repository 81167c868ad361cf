// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/redact"
	"github.com/vigil-monitor/vigil/internal/secret"
)

// evidence makes the evidence of an exchange that failed with err.
func (w *recorder) evidence(err error, hidden *redact.Redactor) *vigil.Evidence {
	w.mu.Lock()
	defer w.mu.Unlock()
	hide := hider{hidden.Join(w.hidden).Join(w.extracted())}
	e := &vigil.Evidence{DNS: w.lookups, Redirects: w.redirects}
	if w.shows(w.address) {
		e.Address = w.address
	}
	for i := range e.DNS {
		one := &e.DNS[i]
		one.Name, one.Error = hide.text(one.Name), hide.text(one.Error)
		for k := range one.Answers {
			one.Answers[k] = hide.text(one.Answers[k])
		}
	}
	for _, one := range w.attempts {
		if !w.shows(one.address) {
			continue
		}
		e.Attempts = append(e.Attempts, vigil.EvidenceAttempt{Address: one.address, Error: hide.text(attemptError(one.err))})
	}
	for i := range e.Redirects {
		e.Redirects[i].From, e.Redirects[i].To = hide.text(e.Redirects[i].From), hide.text(e.Redirects[i].To)
	}
	if n := len(e.Redirects); n > 0 && w.response == nil {
		e.Redirects[n-1].Failed = true
	}
	w.describeAnswer(e, hide)
	w.describeChain(e, err, hide)
	for _, line := range w.dialog {
		e.Dialog = append(e.Dialog, hide.text(line))
	}
	e.Packets = w.packets
	return e
}

// shows reports whether an address, with or without a port, may be shown: it is not one of the
// inside.
func (w *recorder) shows(address string) bool {
	addr, err := netip.ParseAddr(address)
	if with, withErr := netip.ParseAddrPort(address); withErr == nil {
		addr, err = with.Addr(), nil
	}
	return err == nil && w.guard != nil && !w.guard.Discloses(addr)
}

// extracted hides the values of the answer that the config extracts.
func (w *recorder) extracted() *redact.Redactor {
	if w.got == nil {
		return nil
	}
	var values []string
	for _, one := range w.extract {
		if value, err := one.take(w.got); err == nil && len(value) >= minSecret {
			values = append(values, value)
		}
	}
	return redact.New(values...)
}

// describeAnswer adds status line, headers and body.
func (w *recorder) describeAnswer(e *vigil.Evidence, hide hider) {
	contentType := ""
	if r := w.response; r != nil {
		e.StatusLine = hide.text(strings.TrimSpace(r.Proto + " " + r.Status))
		contentType = r.Header.Get("Content-Type")
		for _, name := range sortedNames(r.Header) {
			for _, value := range r.Header[name] {
				if len(e.Headers) == maxEvidenceHeaders {
					e.Truncated = true
					break
				}
				e.Headers = append(e.Headers, vigil.EvidenceHeader{Name: hide.text(name), Value: hide.header(name, value)})
			}
		}
	}
	if !w.hasBody {
		return
	}
	e.Body = &vigil.EvidenceContent{Bytes: w.bytes, ContentType: hide.text(contentType)}
	if isBinary(w.body, contentType) {
		e.Body.Binary = true
		return
	}
	text := readable(hide.Excerpt(w.body, w.whole, readEvidenceBody))
	e.Body.Text = vigil.Truncate(text, maxEvidenceBody)
	e.Body.Truncated = !w.whole || len(e.Body.Text) < len(text)
}

// describeChain adds the certificates: those that were refused, or those of the connection.
func (w *recorder) describeChain(e *vigil.Evidence, err error, hide hider) {
	chain := w.chain
	if refused, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		chain, e.CertificateError = refused.UnverifiedCertificates, hide.text(refused.Err.Error())
	}
	if w.chainErr != "" {
		e.CertificateError = hide.text(w.chainErr)
	}
	for _, cert := range chain[:min(len(chain), maxEvidenceChain)] {
		e.Certificates = append(e.Certificates, describeCertificate(cert, hide))
	}
}

func describeCertificate(cert *x509.Certificate, hide hider) vigil.EvidenceCertificate {
	found := vigil.EvidenceCertificate{
		Subject: hide.text(cert.Subject.String()), Issuer: hide.text(cert.Issuer.String()),
		NotBefore: cert.NotBefore.UTC().Format(time.RFC3339), NotAfter: cert.NotAfter.UTC().Format(time.RFC3339),
	}
	names := slices.Clone(cert.DNSNames)
	for _, ip := range cert.IPAddresses {
		names = append(names, ip.String())
	}
	for _, name := range names[:min(len(names), maxEvidenceNames)] {
		found.SANs = append(found.SANs, hide.text(name))
	}
	return found
}

// attemptError is why an address could not be connected to, without the address.
func attemptError(err error) string {
	if refusal, ok := errors.AsType[*egress.Refusal](err); ok {
		return refusal.Error()
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Err != nil {
		err = op.Err
	}
	return strings.TrimPrefix(err.Error(), "connect: ")
}

// hider makes texts from outside fit to be kept.
type hider struct{ *redact.Redactor }

// text hides the secrets of a line and bounds it.
func (h hider) text(line string) string {
	return strings.TrimSpace(clip(readable(h.Text(clip(line, 4*maxEvidenceText))), maxEvidenceText))
}

// header returns the value of a header of an answer: *** when its name says credential, and
// an address without its query.
func (h hider) header(name, value string) string {
	if secret.IsCredentialName(name) {
		return secret.Mask
	}
	if strings.EqualFold(name, "Location") || strings.EqualFold(name, "Content-Location") {
		value, _, _ = strings.Cut(value, "?")
	}
	return h.text(value)
}
