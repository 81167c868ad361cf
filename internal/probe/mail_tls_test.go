// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

// TestMailTLSMember holds what the member tls of the servers of a mail check does: over TLS from
// the first byte and after STARTTLS, of an SMTP and of an IMAP server that want a certificate of
// the client.
func TestMailTLSMember(t *testing.T) {
	t.Parallel()
	c := newClub(t)
	for _, security := range []string{"starttls", "tls"} {
		house := probetest.NewPostOfficeWith(t, c.secure, security, security)
		for name, change := range map[string]struct {
			without string
			reasons []string // one of them; none: it succeeds
		}{
			"All":            {},
			"OtherAuthority": {"ca_certificates", []string{"unknown authority"}},
			"OtherName":      {"server_name", []string{"the certificate is for club.test, not for 127.0.0.1"}},
			"NoClient":       {"client", []string{"certificate", "the connection was", "ended the TLS handshake"}},
		} {
			options := object{}
			for member, value := range c.tls {
				if change.without == "" || !strings.HasPrefix(member, change.without) {
					options[member] = value
				}
			}
			smtp, imap := house.SMTPServer("hunter2"), house.IMAPServer("hunter2")
			smtp["tls"], imap["tls"] = options, options
			for kind, config := range map[string]object{
				"SMTP": {"smtp": smtp}, "IMAP": {"imap": imap}, "RoundTrip": house.Config(object{"smtp": smtp, "imap": imap}),
			} {
				t.Run(security+kind+name, func(t *testing.T) {
					t.Parallel()
					seen := c.run(vigil.TypeSMTPIMAP, config)
					found := len(change.reasons) == 0
					for _, reason := range change.reasons {
						found = found || strings.Contains(seen.Error, reason)
					}
					if seen.Success != (len(change.reasons) == 0) || !found {
						t.Errorf("got %q, want one of %q", seen.Error, change.reasons)
					}
				})
			}
		}
	}
}

// TestMailTLSConfig holds that each mistake in the member tls of a mail server is named.
func TestMailTLSConfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	chain, key := identity(t, w.authority.Issue(t))
	for _, c := range []struct {
		member, part string // of the message, below the server
		server       object
	}{
		{"tls", "needs security starttls or tls", object{"security": "none", "tls": object{"server_name": "a.example"}}},
		{"tls", "needs security starttls or tls", object{"security": "none", "tls": object{}}},
		{
			"tls.server_name", "differs from config.SERVER.server_name; give one of them",
			object{"server_name": "a.example", "tls": object{"server_name": "b.example"}},
		},
		{"tls.server_name", "not a URL", object{"tls": object{"server_name": "https://a.example"}}},
		{"tls.ca_certificates", "at least one certificate in PEM", object{"tls": object{"ca_certificates": "none"}}},
		{"tls.client_key", "is required", object{"tls": object{"client_certificate": chain}}},
		{"tls.client_certificate", "is required", object{"tls": object{"client_key": key}}},
		{"tls.client_key", "must be the private key", object{"tls": object{"client_certificate": chain, "client_key": "s3cr3t"}}},
		{"tls.passphrase", "is not a member here", object{"tls": object{"passphrase": "x"}}},
		{"", "", object{"server_name": "a.example", "tls": object{"server_name": "a.example"}}},
		{"", "", object{"security": "tls", "tls": object{"client_certificate": chain, "client_key": key}}},
	} {
		for _, name := range []string{"smtp", "imap"} {
			server := object{"host": "mail.example.com"}
			for member, value := range c.server {
				server[member] = value
			}
			_, err := w.Parse(vigil.TypeSMTPIMAP, encode(t, object{name: server}), minute)
			if c.member == "" {
				if err != nil {
					t.Errorf("%s %v: %v", name, c.server, err)
				}
				continue
			}
			rejected(t, err, "config."+name+"."+c.member)
			text := vigil.ErrorMessage(err)
			if !strings.Contains(text, strings.ReplaceAll(c.part, "SERVER", name)) || strings.Contains(text, "s3cr3t") {
				t.Errorf("%s: %s", name, text)
			}
		}
	}
}
