// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"strings"

	"github.com/vigil-monitor/vigil"
)

// TLSOptions is the member tls of the types that speak TLS.
type TLSOptions struct {
	ServerName        string `json:"server_name,omitempty" doc:"Name to ask for (SNI, RFC 6066) and to verify the certificate against. Default: the host" maxLength:"253" example:"shop.example.com"`
	CACertificates    string `json:"ca_certificates,omitempty" title:"Authorities" help:"Trusted instead of those of the region's machine: certificates in PEM." form:"area,mono" sample:"-----BEGIN CERTIFICATE-----" doc:"Authorities to trust instead of those of the region's machine: certificates in PEM" maxLength:"65536"`
	ClientCertificate string `json:"client_certificate,omitempty" title:"Client certificate" help:"Shown to a server that asks for one: PEM, with the intermediates below it." form:"area,mono" sample:"-----BEGIN CERTIFICATE-----" doc:"Certificate to show to a server that asks for one, with the intermediates below it: PEM. Needs client_key" maxLength:"65536"`
	ClientKey         string `json:"client_key,omitempty" title:"Client key" help:"The private key of the client certificate: PEM, without a passphrase." form:"area,mono" secret:"true" doc:"Private key of client_certificate: PEM, without a passphrase" maxLength:"16384"`
}

// parse returns the configuration of TLS that the member at a path asks for. Roots are the
// authorities where the member names none; nil are the machine's. Without the member the
// receiver is nil.
func (o *TLSOptions) parse(path string, roots *x509.CertPool) (*tls.Config, error) {
	secure := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	if o == nil {
		return secure, nil
	}
	var err error
	if o.ServerName != "" {
		if secure.ServerName, err = parseName(path+".server_name", o.ServerName); err != nil {
			return nil, err
		}
	}
	if o.CACertificates != "" {
		if secure.RootCAs, err = parseAuthorities(path+".ca_certificates", o.CACertificates); err != nil {
			return nil, err
		}
	}
	if o.ClientCertificate != "" || o.ClientKey != "" {
		secure.Certificates, err = o.parseIdentity(path)
	}
	return secure, err
}

// parseAuthorities reads certificates in PEM. Text around them is ignored, as in the files
// that operating systems keep.
func parseAuthorities(path, text string) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	count := 0
	for rest := []byte(text); ; count++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, vigil.Invalid(path, "must hold certificates only, each between BEGIN CERTIFICATE and END CERTIFICATE")
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, vigil.Invalid(path, "certificate %d cannot be read", count+1)
		}
		pool.AddCert(certificate)
	}
	if count == 0 {
		return nil, vigil.Invalid(path, "must be at least one certificate in PEM, between BEGIN CERTIFICATE and END CERTIFICATE")
	}
	return pool, nil
}

// parseIdentity reads the certificate of the client and its key.
func (o *TLSOptions) parseIdentity(path string) ([]tls.Certificate, error) {
	switch {
	case o.ClientKey == "":
		return nil, vigil.Invalid(path+".client_key", "is required with client_certificate")
	case o.ClientCertificate == "":
		return nil, vigil.Invalid(path+".client_certificate", "is required with client_key")
	case strings.Contains(o.ClientKey, "ENCRYPTED"):
		return nil, vigil.Invalid(path+".client_key", "is protected by a passphrase; give the key without one")
	}
	if _, err := parseAuthorities(path+".client_certificate", o.ClientCertificate); err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair([]byte(o.ClientCertificate), []byte(o.ClientKey))
	if err != nil {
		return nil, vigil.Invalid(path+".client_key", "must be the private key of client_certificate, in PEM")
	}
	return []tls.Certificate{pair}, nil
}

// secured notes what a TLS connection says of itself: its version, and the days that the
// certificates have left.
func secured(state *tls.ConnectionState) (version string, days *int) {
	if state == nil {
		return "", nil
	}
	version = tls.VersionName(state.Version)
	if first := firstToExpire(state.PeerCertificates, state.VerifiedChains); first != nil {
		left := daysUntil(first.NotAfter)
		days = &left
	}
	return version, days
}
