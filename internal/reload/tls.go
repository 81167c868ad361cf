// SPDX-License-Identifier: Apache-2.0

package reload

import (
	"crypto/tls"
	"errors"
	"fmt"
)

// Lost returns an error that names what protects a connection by one TLS configuration and not by the other; nil is none. A file
// that is gone for a moment is no error where its place is a default.
func Lost(before, now *tls.Config) error {
	if before == nil {
		return nil
	}
	if now == nil {
		return errors.New("they have no TLS any more")
	}
	shows := func(c *tls.Config) bool { return len(c.Certificates) > 0 || c.GetClientCertificate != nil }
	for _, each := range []struct {
		before, now bool
		what        string
	}{
		{!before.InsecureSkipVerify, !now.InsecureSkipVerify, "the verification of the server"},
		{before.VerifyPeerCertificate != nil, now.VerifyPeerCertificate != nil, "the verification of the server"},
		{before.RootCAs != nil, now.RootCAs != nil, "the certificates of authorities"},
		{shows(before), shows(now), "the certificate of the client"},
	} {
		if each.before && !each.now {
			return fmt.Errorf("they have not %s any more", each.what)
		}
	}
	return nil
}
