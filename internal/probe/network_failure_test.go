// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

// TestNetworkFailure is about which failures are those of the network, for checks that
// retry no others.
func TestNetworkFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t, egress.WithNameServer(probetest.NameServer(t, zone(t))))
	closed, silent := closedPort(t), tcp(t, drain)
	ok := w.http(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "fine") })
	broken := w.http(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	noise := "http://" + tcp(t, func(conn net.Conn) { _, _ = conn.Write([]byte("220 mail\r\n")) })
	hangUp := "http://" + tcp(t, func(net.Conn) {})
	stranger := w.https(probetest.NewAuthority(t, nil).Issue(t), echo)
	expired := w.https(w.authority.Issue(t, probetest.Valid(time.Now().Add(-48*time.Hour), time.Now().Add(-24*time.Hour))), echo)
	alerting := "https://" + tcp(t, func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 1))
		_, _ = conn.Write([]byte{21, 3, 3, 0, 2, 2, 40}) // handshake_failure (RFC 8446, section 6)
		drain(conn)
	})
	ancient := "https://" + tcp(t, func(conn net.Conn) {
		_ = tls.Server(conn, &tls.Config{
			Certificates: []tls.Certificate{w.authority.Issue(t)}, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11,
		}).HandshakeContext(t.Context())
	})
	wantsClient := tcp(t, func(conn net.Conn) {
		secured := tls.Server(conn, &tls.Config{
			Certificates: []tls.Certificate{w.authority.Issue(t)}, ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12,
		})
		_ = secured.HandshakeContext(t.Context())
	})
	steps := func(url string) object {
		return object{"steps": []object{{"name": "one", "type": "http", "config": object{"url": url}}}}
	}
	for name, c := range map[string]struct {
		kind    vigil.CheckType
		config  object
		network bool
	}{
		"Refused":            {vigil.TypeHTTP, object{"url": "http://" + closed}, true},
		"HangsUp":            {vigil.TypeHTTP, object{"url": hangUp}, true},
		"TimesOut":           {vigil.TypeHTTP, object{"url": "http://" + silent, "timeout_seconds": 1}, true},
		"NoSuchName":         {vigil.TypeHTTP, object{"url": "http://nowhere.example.test/"}, true},
		"BadCertificate":     {vigil.TypeHTTPS, object{"url": stranger}, true},
		"TLSAlert":           {vigil.TypeHTTPS, object{"url": alerting}, true},
		"TLSAlertThroughput": {vigil.TypeThroughput, object{"url": alerting}, true},
		"TLSAlertMail": {vigil.TypeSMTPIMAP, object{
			"imap": serverAt(t, alerting[len("https://"):], object{"security": "tls"}),
		}, true},
		"TLSAlertStep":       {vigil.TypeMultistep, steps(alerting), true},
		"TLSVersion":         {vigil.TypeHTTPS, object{"url": ancient}, true},
		"TLSWantsClient":     {vigil.TypeHTTPS, object{"url": "https://" + wantsClient}, true},
		"TLSWantsClientMail": {vigil.TypeSMTPIMAP, object{"imap": serverAt(t, wantsClient, object{"security": "tls"})}, true},
		"PlainHTTP":          {vigil.TypeHTTPS, object{"url": "https" + ok[len("http"):]}, true},
		"WrongStatus":        {vigil.TypeHTTP, object{"url": broken}, false},
		"WrongBody": {vigil.TypeHTTP, object{"url": ok, "assertions": []object{
			{"source": "body", "operator": "contains", "target": "good"},
		}}, false},
		"OtherProtocol":      {vigil.TypeHTTP, object{"url": noise}, false},
		"TCPRefused":         {vigil.TypeTCP, serverAt(t, closed, object{}), true},
		"TCPTimesOut":        {vigil.TypeTCP, serverAt(t, silent, object{"expect": "hello", "timeout_seconds": 1}), true},
		"SSLRefused":         {vigil.TypeSSL, object{"host": closed}, true},
		"SSLExpired":         {vigil.TypeSSL, object{"host": expired[len("https://"):]}, false},
		"SSLOtherAuthority":  {vigil.TypeSSL, object{"host": stranger[len("https://"):]}, false},
		"StepRefused":        {vigil.TypeMultistep, steps("http://" + closed), true},
		"StepWrong":          {vigil.TypeMultistep, steps(broken), false},
		"ThroughputRefused":  {vigil.TypeThroughput, object{"url": "http://" + closed}, true},
		"ThroughputWrong":    {vigil.TypeThroughput, object{"url": broken}, false},
		"ThroughputTooSlow":  {vigil.TypeThroughput, object{"url": ok, "min_mbps": 1e6}, false},
		"DNSServerIsSilent":  {vigil.TypeDNS, object{"host": "example.test", "resolvers": []string{closed}}, true},
		"SMTPServerIsSilent": {vigil.TypeSMTPIMAP, object{"smtp": serverAt(t, silent, object{}), "timeout_seconds": 1}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := w.run(c.kind, c.config)
			if seen.Success || seen.NetworkFailure != c.network {
				t.Errorf("success %v, network %v: %s", seen.Success, seen.NetworkFailure, seen.Error)
			}
		})
	}
	if seen := w.run(vigil.TypeHTTP, object{"url": ok}); !seen.Success || seen.NetworkFailure {
		t.Errorf("a success: %+v", seen)
	}
}

// TestChangesOf is about which probes may change something at their target.
func TestChangesOf(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url := func(method string) object { return object{"url": "http://127.0.0.1/", "method": method} }
	for _, c := range []struct {
		kind   vigil.CheckType
		config object
		want   string
	}{
		{vigil.TypeHTTP, url("GET"), ""},
		{vigil.TypeHTTP, url("HEAD"), ""},
		{vigil.TypeHTTP, url("OPTIONS"), ""},
		{vigil.TypeHTTP, url("POST"), "config.method is POST"},
		{vigil.TypeHTTP3, object{"url": "https://127.0.0.1/", "method": "DELETE"}, "config.method is DELETE"},
		{vigil.TypeTCP, object{"host": "127.0.0.1", "port": 1}, ""},
		{vigil.TypeThroughput, object{"url": "http://127.0.0.1/"}, ""},
		{vigil.TypeThroughput, object{"url": "http://127.0.0.1/", "direction": "upload"}, "config.direction is upload"},
		{vigil.TypeMultistep, object{"steps": []object{
			{"name": "read", "type": "http", "config": url("GET")}, {"name": "write", "type": "http", "config": url("PUT")},
		}}, `in step "write" config.method is PUT`},
	} {
		if got := probe.ChangesOf(w.must(c.kind, c.config)); got != c.want {
			t.Errorf("%s %v: %q, want %q", c.kind, c.config, got, c.want)
		}
	}
}
