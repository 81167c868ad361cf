// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

var _ = addFixture(fixtureSSL)

// fixtureSSL is the fixture of the ssl type.
func fixtureSSL(f *world) fixture {
	bare := func(url string) string { return strings.TrimPrefix(url, "https://") }
	return fixture{
		kind:    vigil.TypeSSL,
		healthy: object{"host": bare(f.https(f.authority.Issue(f), site)), "alert_days_before": 14},
		failing: object{"host": bare(f.https(f.authority.Issue(f, probetest.Expired()), site))},
		silent:  object{"host": tcp(f, drain)},
		secrets: []string{"there is no secret in this type"},
	}
}

// secure serves TLS with a certificate and returns its address.
func secure(tb testing.TB, certificate tls.Certificate, limits ...func(*tls.Config)) string {
	tb.Helper()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	for _, limit := range limits {
		limit(server.TLS)
	}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	tb.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// inDays is a validity that ends in so many days and a bit.
func inDays(days int, more time.Duration) probetest.Change {
	return probetest.Valid(time.Now().Add(-365*24*time.Hour), time.Now().Add(time.Duration(days)*24*time.Hour+more))
}

func TestSSL(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	intermediate := probetest.NewAuthority(t, w.authority)
	whole := intermediate.Issue(t)
	incomplete := whole
	incomplete.Certificate = whole.Certificate[:1]
	const hour = time.Hour
	for name, c := range map[string]struct {
		certificate tls.Certificate
		config      object
		problem     string
		days        float64
		reason      string
	}{
		"Valid":               {w.authority.Issue(t), object{}, "", 90, ""},
		"ThroughIntermediate": {whole, object{}, "", 90, ""},
		"IncompleteChain":     {incomplete, object{}, "unknown_authority", 90, "signed by an unknown authority"},
		"Expired":             {w.authority.Issue(t, probetest.Expired()), object{}, "expired", -2, "the certificate expired on "},
		"ExpiredJustNow":      {w.authority.Issue(t, inDays(0, -time.Minute)), object{}, "expired", -1, "the certificate expired on "},
		"NotYetValid":         {w.authority.Issue(t, probetest.NotYet()), object{}, "not_yet_valid", 1, "the certificate is not valid before "},
		"OtherHost": {
			w.authority.Issue(t, probetest.ForNames("a.test", "b.test")),
			object{},
			"hostname_mismatch",
			90,
			"the certificate is for a.test, b.test, not for 127.0.0.1",
		},
		"SelfSigned":       {probetest.SelfSigned(t), object{"server_name": "localhost"}, "self_signed", 90, "signed by itself"},
		"UnknownAuthority": {probetest.NewAuthority(t, nil).Issue(t), object{}, "unknown_authority", 90, "signed by an unknown authority"},
		"ServerName":       {w.authority.Issue(t, probetest.ForNames("a.test")), object{"server_name": "a.test"}, "", 90, ""},
		"WildcardName":     {w.authority.Issue(t, probetest.ForNames("*.a.test")), object{"server_name": "x.a.test"}, "", 90, ""},
		"OtherServerName":  {w.authority.Issue(t), object{"server_name": "a.test"}, "hostname_mismatch", 90, "not for a.test"},
		"AtTheLimit": {
			w.authority.Issue(t, inDays(14, hour)),
			object{"alert_days_before": 14},
			"",
			14,
			"the certificate expires in 14 days, on ",
		},
		"AboveTheLimit":       {w.authority.Issue(t, inDays(15, hour)), object{"alert_days_before": 14}, "", 15, ""},
		"JustBelowTheNextDay": {w.authority.Issue(t, inDays(15, -hour)), object{"alert_days_before": 14}, "", 14, "expires in 14 days"},
		"LastDay":             {w.authority.Issue(t, inDays(0, hour)), object{"alert_days_before": 0}, "", 0, "expires in 0 days"},
		"LastDayWithoutLimit": {w.authority.Issue(t, inDays(0, hour)), object{}, "", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.config["host"] = secure(t, c.certificate)
			seen := w.run(vigil.TypeSSL, c.config)
			if seen.Success != (c.reason == "") || !strings.Contains(seen.Error, c.reason) {
				t.Errorf("got %q, want %q", seen.Error, c.reason)
			}
			problem, _ := seen.Metadata["problem"].(string)
			if problem != c.problem || seen.Metadata["chain_valid"] != (c.problem == "") || seen.Metadata["days_remaining"] != c.days {
				t.Errorf("metadata %v, want problem %q and %v days", seen.Metadata, c.problem, c.days)
			}
			for _, member := range []string{"not_before", "not_after", "issuer", "subject", "tls_version", "ip", "timings"} {
				if seen.Metadata[member] == nil {
					t.Errorf("metadata has no %s", member)
				}
			}
		})
	}
}

func TestSSLServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := secure(t, w.authority.Issue(t), func(c *tls.Config) { c.MinVersion, c.MaxVersion = tls.VersionTLS11, tls.VersionTLS11 })
	if seen := w.run(vigil.TypeSSL, object{"host": old}); !seen.Success || seen.Metadata["tls_version"] != "TLS 1.1" {
		t.Errorf("an old server: %+v", seen)
	}
	plain := tcp(t, banner("220 hello\r\n"))
	if seen := w.run(vigil.TypeSSL, object{"host": plain}); !strings.Contains(seen.Error, "did not answer with TLS") {
		t.Errorf("no TLS at all: %+v", seen)
	}
	closed := closedPort(t)
	if seen := w.run(vigil.TypeSSL, object{"host": closed}); seen.Error != "connection refused by "+closed {
		t.Errorf("a closed port: %+v", seen)
	}
}

func TestSSLConfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for member, configs := range map[string][]object{
		"config.host": {
			{},
			{"host": ""},
			{"host": "https://example.com"},
			{"host": "example.com:0"},
			{"host": "example.com:https"},
			{"host": "example.com:70000"},
			{"host": "169.254.169.254"},
			{"host": "169.254.169.254:443"},
		},
		"config.port":              {{"host": "example.com", "port": 0}, {"host": "example.com:443", "port": 444}},
		"config.alert_days_before": {{"host": "example.com", "alert_days_before": -1}, {"host": "example.com", "alert_days_before": "14"}},
		"config.server_name":       {{"host": "example.com", "server_name": "a b"}, {"host": "example.com", "server_name": "a:1"}},
	} {
		for _, config := range configs {
			_, err := w.Parse(vigil.TypeSSL, encode(t, config), minute)
			rejected(t, err, member)
		}
	}
	for config, want := range map[string]string{
		`{"host": "example.com"}`: "example.com:443", `{"host": "example.com:8443"}`: "example.com:8443",
		`{"host": "2606:4700::1"}`: "[2606:4700::1]:443", `{"host": "[2606:4700::1]:8443", "port": 8443}`: "[2606:4700::1]:8443",
	} {
		parsed, err := w.Parse(vigil.TypeSSL, []byte(config), minute)
		if err != nil || parsed.Target() != want {
			t.Errorf("%s: %v, %v", config, parsed, err)
		}
	}
}
