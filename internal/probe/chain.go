// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"slices"

	"github.com/vigil-monitor/vigil/internal/neterr"
)

// firstToExpire returns the certificate that ends first of those that a server sent and that a client needs:
// of the chain that was verified, or of several that were the one that lasts longest. Where
// none was verified it is the server's own certificate and those that signed it.
func firstToExpire(sent []*x509.Certificate, verified [][]*x509.Certificate) *x509.Certificate {
	var last *x509.Certificate
	for _, chain := range verified {
		first := earliest(slices.DeleteFunc(slices.Clone(chain), func(one *x509.Certificate) bool {
			return !slices.ContainsFunc(sent, one.Equal)
		}))
		if first != nil && (last == nil || first.NotAfter.After(last.NotAfter)) {
			last = first
		}
	}
	if last == nil {
		last = earliest(neterr.Path(sent))
	}
	return last
}

func earliest(chain []*x509.Certificate) *x509.Certificate {
	var first *x509.Certificate
	for _, one := range chain {
		if first == nil || one.NotAfter.Before(first.NotAfter) {
			first = one
		}
	}
	return first
}

// describeCertificates notes the certificate with the fewest days over all the hosts that redirects
// led through.
func (m *HTTPMetadata) describeCertificates(response *http.Response) {
	var first *x509.Certificate
	for at := response; at != nil; at = at.Request.Response {
		state := at.TLS
		if state == nil || len(state.PeerCertificates) == 0 {
			continue
		}
		one := soleCertificate(state)
		if one == nil {
			one = firstToExpire(state.PeerCertificates, state.VerifiedChains)
		}
		if first != nil && !one.NotAfter.Before(first.NotAfter) {
			continue
		}
		first, m.CertSubject = one, ""
		if at != response || one != state.PeerCertificates[0] {
			m.CertSubject = clip(one.Subject.String()+" of "+at.Request.URL.Host, maxNameText)
		}
	}
	if first != nil {
		days := daysUntil(first.NotAfter)
		m.CertDaysRemaining = &days
	}
}

// soleCertificate returns the certificate of a server that sent only one, else nil.
func soleCertificate(state *tls.ConnectionState) *x509.Certificate {
	if len(state.PeerCertificates) == 1 {
		return state.PeerCertificates[0]
	}
	return nil
}
