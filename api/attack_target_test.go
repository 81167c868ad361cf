// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

// aim is a config that leads where it must not, or breaks out of its protocol.
type aim struct {
	name   string
	kind   vigil.CheckType
	config map[string]any
	member string // that a 400 names; empty: accepted, and refused when it is probed
}

// urlAims are about what one parser takes for the host and another does not.
func urlAims() []aim {
	with := func(name, url, member string) aim {
		return aim{name, vigil.TypeHTTP, map[string]any{"url": url}, member}
	}
	return []aim{
		with("credentials", "https://ada:hunter2@example.com/", "config.url"),
		with("an empty user", "https://@example.com/", "config.url"),
		with("a host as user", "https://example.com@127.0.0.1/", "config.url"),
		with("a host and a port as user", "https://example.com:443@169.254.169.254/", "config.url"),
		with("a backslash before the host", `https://example.com\@127.0.0.1/`, "config.url"),
		with("backslashes for slashes", `https:\\127.0.0.1\`, "config.url"),
		with("a host behind the fragment", "https://127.0.0.1#@example.com/", "config.url"),
		with("a host behind the query", "https://127.0.0.1?@example.com/", "config.url"),
		with("no slashes", "https:127.0.0.1", "config.url"),
		with("one slash", "https:/127.0.0.1/", "config.url"),
		with("three slashes", "https:///127.0.0.1/", "config.url"),
		with("no scheme", "//127.0.0.1/", "config.url"),
		with("gopher", "gopher://127.0.0.1:6379/_FLUSHALL", "config.url"),
		with("a socket", "unix:///var/run/docker.sock", "config.url"),
		with("dict", "dict://127.0.0.1:11211/stat", "config.url"),
		with("CRLF in the path", "https://example.com/\r\nX-A: b", "config.url"),
		with("LF in the host", "https://exa\nmple.com/", "config.url"),
		with("escaped CRLF in the host", "https://example.com%0d%0a/", "config.url"),
		with("a space in the host", "https://exa mple.com/", "config.url"),
		with("port 0", "https://example.com:0/", "config.url"),
		with("port 65536", "https://example.com:65536/", "config.url"),
		with("two ports", "https://example.com:80:80/", "config.url"),
		with("an open bracket", "http://[::1", "config.url"),
		with("IPv4 in brackets", "http://[127.0.0.1]/", "config.url"),
		with("a label too long", "http://"+strings.Repeat("a", 64)+".example.com/", "config.url"),
		with("Google's metadata by name", "http://metadata.google.internal/computeMetadata/v1/", ""),
		with("a name that says its address", "http://127.0.0.1.nip.io/", ""),
		with("a name of the cluster", "https://kubernetes.default.svc/", ""),
		with("a name of one label", "http://vault:8200/", ""),
		with("a name with a dot behind", "http://localtest.me./", ""),
		with("digits of another script in a name", "http://１２７.example.com/", ""),
	}
}

// headerAims are about headers that say where a message ends or goes.
func headerAims() []aim {
	var aims []aim
	for name, value := range map[string]string{
		"Transfer-Encoding": "chunked", "transfer-encoding": "identity", "Content-Length": "0", "Connection": "X-Secret",
		"Upgrade": "h2c", "TE": "trailers",
		"Trailer": "X-A", "Expect": "100-continue", "Keep-Alive": "timeout=5", "Proxy-Connection": "close", "HTTP2-Settings": "AAMAAABk",
		"Host": "a.example\r\nX-B: c", "host": "a.example/path", "X-LF": "a\nHost: b", "X-CR": "a\rb", "X-NUL": "a\x00b", "X-A:": "b", "X A": "b",
	} {
		aims = append(
			aims,
			aim{
				"header " + name,
				vigil.TypeHTTP,
				map[string]any{"url": "https://example.com/", "headers": map[string]string{name: value}},
				"config.headers." + name,
			},
		)
	}
	return append(
		aims,
		aim{
			"a request as method",
			vigil.TypeHTTP,
			map[string]any{"url": "https://example.com/", "method": "GET / HTTP/1.1\r\nX-A: b"},
			"config.method",
		},
		aim{
			"a colon in a user",
			vigil.TypeHTTP3,
			map[string]any{"url": "https://example.com/", "basic_auth": map[string]any{"username": "a:b", "password": "c"}},
			"config.basic_auth.username",
		},
	)
}

// protocolAims are about the types that do not speak HTTP, or speak it in steps.
func protocolAims() []aim {
	mail := func(name, member string, smtp, imap, more map[string]any) aim {
		config := map[string]any{
			"smtp": map[string]any{"host": "mail.example.com"}, "imap": map[string]any{"host": "mail.example.com", "username": "a", "password": "b"},
			"from": "a@example.com", "to": "b@example.com",
		}
		for _, changes := range []struct {
			into any
			from map[string]any
		}{{config["smtp"], smtp}, {config["imap"], imap}, {config, more}} {
			for name, value := range changes.from {
				changes.into.(map[string]any)[name] = value
			}
		}
		return aim{name, vigil.TypeSMTPIMAP, config, member}
	}
	steps := func(name, url, member string) aim {
		return aim{name, vigil.TypeMultistep, map[string]any{"steps": []map[string]any{
			{
				"name":    "one",
				"type":    "http",
				"config":  map[string]any{"url": "https://example.com/"},
				"extract": []map[string]any{{"name": "v", "source": "body"}},
			},
			{"name": "two", "type": "http", "config": map[string]any{"url": url}},
		}}, member}
	}
	host := func(kind vigil.CheckType, name, host string, more ...any) aim {
		config := map[string]any{"host": host}
		for i := 0; i+1 < len(more); i += 2 {
			config[more[i].(string)] = more[i+1]
		}
		return aim{name, kind, config, "config.host"}
	}
	resolver := func(name, address string) aim {
		return aim{
			"resolver " + name,
			vigil.TypeDNS,
			map[string]any{"host": "example.com", "resolvers": []string{address}},
			"config.resolvers[0]",
		}
	}
	return []aim{
		host(vigil.TypeTCP, "a URL as host", "http://example.com", "port", 80),
		host(vigil.TypeTCP, "credentials in a host", "a@example.com", "port", 80),
		host(vigil.TypeTCP, "a port in a host", "127.0.0.1:22", "port", 80),
		host(vigil.TypePing, "a command behind a host", "example.com;id"),
		host(vigil.TypePing, "a broadcast", "255.255.255.255"),
		host(vigil.TypePing, "a link-local address with a zone", "fe80::1%eth0"),
		host(vigil.TypeSSL, "a metadata service with a port", "169.254.169.254:443"),
		host(vigil.TypeDNS, "CRLF in a name to look up", "example.com\r\n", "record_type", "A"),
		resolver("on this machine", "127.0.0.1"),
		resolver("with a port", "127.0.0.1:5432"),
		resolver("of AWS", "169.254.169.253"),
		resolver(
			"of Azure", "168.63.129.16",
		),
		resolver("with a zone", "[fe80::1%25eth0]:53"),
		resolver("by a name with a space", "dns example.com"),
		resolver("by the name of this machine", "localhost"),
		resolver("as a URL", "https://dns.example.com/"),
		resolver("in decimal", "2130706433"),
		{"a zone transfer", vigil.TypeDNS, map[string]any{"host": "example.com", "record_type": "AXFR"}, "config.record_type"},
		{"a download of the metadata", vigil.TypeThroughput, map[string]any{"url": "http://169.254.169.254/"}, "config.url"},
		{"HTTP/3 to this machine", vigil.TypeHTTP3, map[string]any{"url": "https://localhost/"}, "config.url"},
		mail("an SMTP server on this machine", "config.smtp.host", map[string]any{"host": "127.0.0.1"}, nil, nil),
		mail("an IMAP server in a private network", "config.imap.host", nil, map[string]any{"host": "10.0.0.1"}, nil),
		mail("CRLF in the SMTP host", "config.smtp.host", map[string]any{"host": "mail.example.com\r\nQUIT"}, nil, nil),
		mail("CRLF in the sender", "config.from", nil, nil, map[string]any{"from": "a@b.example>\r\nRCPT TO:<x@y.example"}),
		mail("a parameter behind the sender", "config.from", nil, nil, map[string]any{"from": "a@b.example> SIZE=1"}),
		mail("CRLF in the receiver", "config.to", nil, nil, map[string]any{"to": "a@b.example\r\nDATA"}),
		mail("two receivers", "config.to", nil, nil, map[string]any{"to": "a@b.example,c@d.example"}),
		mail("CRLF in the user", "config.imap.username", nil, map[string]any{"username": "a\r\nA1 LOGOUT"}, nil),
		mail("CRLF in the password", "config.imap.password", nil, map[string]any{"password": "b\r\nA1 DELETE INBOX"}, nil),
		mail("CRLF in the mailbox", "config.imap.mailbox", nil, map[string]any{"mailbox": "INBOX\r\nA1 DELETE INBOX"}, nil),
		mail("NUL in the SMTP password", "config.smtp.password", map[string]any{"username": "a", "password": "b\x00c\x00d"}, nil, nil),
		steps("a private address in a step", "http://10.0.0.1/", "config.steps[1].config.url"),
		steps("a private address with a variable behind it", "http://127.0.0.1/{{v}}", "config.steps[1].config.url"),
		steps("a variable as user", "http://{{v}}@example.com/", "config.steps[1].config.url"),
		steps("a variable that no step sets", "http://example.com/{{w}}", "config.steps[1].config.url"),
	}
}

// TestAttackTargets writes checks and channels with every target that must not
// be reached, at create and at update. A server that listens publicly refuses them by
// name, or takes a name and refuses the address that it leads to.
func TestAttackTargets(t *testing.T) {
	t.Parallel()
	// Every name leads to this machine.
	guard := egress.New(egress.Policy{}, egress.WithNameServer(probetest.Resolver(t, probetest.At("127.0.0.1"))))
	probes := probe.NewRegistry(guard)
	b := setup(t, func(d *api.Deps) { d.Probes, d.Channels = probes, notify.NewRegistry(guard) })
	a := b.tier(t, b.signup(t), account.TierEnterprise)
	check := "/v1/checks/" + text(a.check(t), "id")
	channel := "/v1/notification-channels/" + text(a.channel(t, with("config", map[string]any{"url": "https://hooks.example.com"})), "id")
	requests := 0
	refused := func(t *testing.T, member, method, path string, body any) {
		t.Helper()
		requests++
		r := a.want(t, http.StatusBadRequest, method, path, body)
		if r.detail("member") != member || strings.Contains(string(r.raw), "hunter2") {
			t.Errorf("it names %v, want %s: %s", r.detail("member"), member, r.raw)
		}
	}

	for _, host := range probetest.Forbidden() { // one after the other: what is stored is compared at the end
		t.Run(host, func(t *testing.T) {
			config := map[string]any{"url": "http://" + host + ":8080/"}
			refused(t, "config.url", http.MethodPost, "/v1/checks", newCheck(with("type", "http"), with("config", config)))
			refused(t, "config.url", http.MethodPut, check, map[string]any{"type": "http", "config": config})
			refused(t, "config.url", http.MethodPost, "/v1/notification-channels", map[string]any{"name": "x", "type": "webhook", "config": config})
			refused(t, "config.url", http.MethodPut, channel, map[string]any{"config": config})
		})
	}
	aims := append(append(urlAims(), headerAims()...), protocolAims()...)
	for _, aim := range aims { //nolint:paralleltest // as above
		t.Run(aim.name, func(t *testing.T) {
			if aim.member != "" {
				refused(t, aim.member, http.MethodPost, "/v1/checks", newCheck(with("type", aim.kind), with("config", aim.config)))
				refused(t, aim.member, http.MethodPut, check, map[string]any{"type": aim.kind, "config": aim.config})
				return
			}
			accepted := a.check(t, with("type", aim.kind), with("config", aim.config))
			a.want(t, http.StatusNoContent, http.MethodDelete, "/v1/checks/"+text(accepted, "id"), nil)
			parsed, err := probes.Parse(aim.kind, []byte(encoded(t, aim.config)), time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			seen := parsed.Run(t.Context())
			if seen.Success || !strings.Contains(seen.Error, "loopback address") || !strings.Contains(seen.Error, egress.Setting) {
				t.Errorf("the probe says %q", seen.Error)
			}
		})
	}
	t.Logf("%d targets, %d refused requests", len(probetest.Forbidden())+len(aims), requests)

	if got := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks", nil).rows(t); len(got) != 1 || got[0]["type"] != "https" {
		t.Errorf("stored: %v", got)
	}
	got := a.want(t, http.StatusOK, http.MethodGet, channel, nil).data(t)
	if encoded(t, got["config"]) != `{"url":"https://hooks.example.com"}` {
		t.Errorf("stored: %v", got)
	}
}
