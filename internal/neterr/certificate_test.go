// SPDX-License-Identifier: Apache-2.0

package neterr_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"testing"

	"github.com/vigil-monitor/vigil/internal/neterr"
)

// TestErrorsOfNoCertificate: the other kinds are shown against servers, by the check types.
func TestErrorsOfNoCertificate(t *testing.T) {
	t.Parallel()
	for _, err := range []error{io.EOF, tls.RecordHeaderError{}, &tls.CertificateVerificationError{Err: io.EOF}} {
		if problem, sentence := neterr.Certificate(err); problem != "" || sentence != "" {
			t.Errorf("%v: %q, %q", err, problem, sentence)
		}
	}
	problem, sentence := neterr.Certificate(x509.UnknownAuthorityError{})
	if problem != neterr.UnknownAuthority || sentence != "the certificate is signed by an unknown authority" {
		t.Errorf("%q, %q", problem, sentence)
	}
	if neterr.Path(nil) != nil {
		t.Error("no certificates have no path")
	}
}
