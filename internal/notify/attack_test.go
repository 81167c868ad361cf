// SPDX-License-Identifier: Apache-2.0

package notify_test

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/miekg/dns"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

// Attacks on those who run the platform, through the addresses that channels
// post to. The policy permits public addresses only.

// addressMember is where a type has its address.
func addressMember(kind form) string {
	for _, f := range fixtures {
		if f.form() == kind {
			return f.address
		}
	}
	return ""
}

// refusedAtWrite fails the test unless the error is one that names the member
// and repeats nothing that could be a secret.
func refusedAtWrite(t *testing.T, what string, err error, member string) {
	t.Helper()
	text := vigil.ErrorMessage(err)
	if vigil.ErrorCode(err) != vigil.CodeInvalid || !strings.HasPrefix(text, member+": ") || strings.Contains(text, pathToken) {
		t.Errorf("%q: %v, want it refused as %s", what, err, member)
	}
}

// TestAttackSpellings gives every type every spelling of what must not be
// reached: none is accepted.
func TestAttackSpellings(t *testing.T) {
	t.Parallel()
	public := notify.NewRegistry(egress.New(egress.Policy{}))
	cases := 0
	for _, host := range probetest.Forbidden() {
		for _, base := range []string{"http://" + host, "https://" + host + ":8443"} {
			for kind, config := range httpConfigs(base) {
				cases++
				_, err := public.Parse(kind.kind(), encode(t, config))
				refusedAtWrite(t, string(kind)+" "+base, err, addressMember(kind))
			}
		}
	}
	t.Logf("%d cases", cases)
}

// TestAttackURLs gives every type what is an address to one parser and another
// address, or none, to the next. Private addresses are permitted here: it is the
// form that is refused.
func TestAttackURLs(t *testing.T) {
	t.Parallel()
	r := registry()
	cases := 0
	for _, base := range []string{
		"http://ada:" + pathToken + "@hooks.example.com", "http://@hooks.example.com", "http://hooks.example.com@127.0.0.1",
		"http://hooks.example.com:80@127.0.0.1",
		`http://hooks.example.com\@127.0.0.1`, `http:\\127.0.0.1`, "http:127.0.0.1", "http:/127.0.0.1", "http:///127.0.0.1",
		"//127.0.0.1", "127.0.0.1", "",
		"ftp://hooks.example.com", "file:///etc/passwd", "gopher://127.0.0.1:6379/_FLUSHALL", "unix:///var/run/docker.sock",
		"dict://127.0.0.1:11211/stat",
		"ldap://127.0.0.1", "javascript:alert(1)//", "data:text/plain,x", "httpx://hooks.example.com", " http://hooks.example.com",
		"http://hooks.example.com\r\nHost: evil", "http://hooks.example.com\n", "http://hooks.example.com/\x00",
		"http://hooks.example.com\t", "http://hooks\x7f.example.com",
		"http://hooks.example.com:0", "http://hooks.example.com:65536", "http://hooks.example.com:-1", "http://hooks.example.com:80:80",
		"http://hooks.example.com:http", "http://hooks.example.com:",
		"http://", "http://[::1", "http://::1", "http://[127.0.0.1]", "http://2130706433", "http://0x7f000001",
		"http://hooks example.com", "http://hooks.example.com%0d%0a", "http://\u0000",
	} {
		for kind, config := range httpConfigs(base) {
			cases++
			_, err := r.Parse(kind.kind(), encode(t, config))
			refusedAtWrite(t, string(kind)+" "+base, err, addressMember(kind))
		}
	}
	t.Logf("%d cases", cases)
}

// TestAttackHeaders: no header of a webhook says where a message ends, where it
// goes, or what only the platform may say.
func TestAttackHeaders(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"Host": "169.254.169.254", "Transfer-Encoding": "chunked", "transfer-encoding": "identity", "Content-Length": "0",
		"Connection": "keep-alive, X-Secret",
		"Keep-Alive": "timeout=5", "Proxy-Connection": "keep-alive", "TE": "trailers", "Trailer": "X-A", "Upgrade": "h2c",
		"HTTP2-Settings": "AAMAAABk", "Expect": "100-continue",
		"X-Service-Event": "incident.resolved", "x-service-anything": "x", "webhook-timestamp": "0", "Webhook-Signature": "v1,x",
		"X-CR": "a\rb", "X-LF": "a\nHost: b", "X-CRLF": "a\r\n\r\nGET / HTTP/1.1", "X-NUL": "a\x00b", "X-DEL": "a\x7f",
		"X-Injected: a\r\nX-B": "b", "X-A:": "b", "X A": "b", "": "b", "X-É": "b", "X-A\x00": "b",
	} {
		_, err := registry().Parse(vigil.ChannelWebhook, encode(t, map[string]any{
			"url": "https://hooks.example.com", "headers": map[string]string{name: value},
		}))
		shown := strings.Join(strings.Fields(strings.ReplaceAll(name, "\x00", " ")), " ")
		refusedAtWrite(t, name, err, "config.headers."+shown)
	}
}

// TestAttackNames leads a name of every type to a canary with the answers of a
// name server: it is accepted, and refused when it is dialled. The next attempt
// looks again: the name may lead elsewhere by then.
func TestAttackNames(t *testing.T) {
	t.Parallel()
	canary := receive(t, nil)
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(canary.url, "http://"))
	for _, answer := range [][]string{
		{"127.0.0.1"},
		{"127.9.9.9"},
		{"0.0.0.0"},
		{"10.0.0.1"},
		{"192.168.1.1"},
		{"100.64.0.1"},
		{"240.0.0.1", "127.0.0.1"},
		{"169.254.169.254"},
		{"168.63.129.16"},
		{"100.100.100.200"},
		{"192.0.0.192"},
		{"::1"},
		{"::"},
		{"::ffff:127.0.0.1"},
		{"64:ff9b::7f00:1"},
		{"2002:7f00:1::"},
		{"2001:0:5db8:d822::80ff:fffe"},
		{"fe80::1"},
		{"fd00::1"},
		{"fd00:ec2::254"},
		{"::1", "127.0.0.1"},
	} {
		guard := egress.New(egress.Policy{}, egress.WithNameServer(probetest.Resolver(t, probetest.At(answer...))))
		for kind, config := range httpConfigs("http://metadata.google.internal:" + port) {
			got := parse(t, notify.NewRegistry(guard), kind.kind(), config).Send(t.Context(), message())
			clear := strings.Contains(got.Error, "never reached") || strings.Contains(got.Error, egress.Setting)
			if got.ErrorCode != notify.CodeForbidden || got.Permanent || !clear {
				t.Errorf("%s, a name for %v: %+v", kind, answer, got)
			}
		}
	}
	if n := len(canary.requests()); n != 0 {
		t.Errorf("the canary was reached %d times", n)
	}
}

// TestChannelsDoNotReachMailPorts: no message becomes a mail at a mail server that reads over
// the lines of HTTP, given by address or by name.
func TestChannelsDoNotReachMailPorts(t *testing.T) {
	t.Parallel()
	public := notify.NewRegistry(egress.New(egress.Policy{}))
	permitted := notify.NewRegistry(egress.New(
		egress.Policy{AllowedCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}},
		egress.WithNameServer(probetest.Resolver(t, probetest.At("127.0.0.2"))),
	))
	for _, port := range []string{"25", "465", "587"} {
		for _, scheme := range []string{"http", "https"} {
			for kind, config := range httpConfigs(scheme + "://93.184.216.34:" + port) {
				_, err := public.Parse(kind.kind(), encode(t, config))
				refusedAtWrite(t, string(kind)+" to port "+port, err, addressMember(kind))
			}
			for kind, config := range httpConfigs(scheme + "://mail.example.com:" + port) {
				got := parse(t, permitted, kind.kind(), config).Send(t.Context(), message())
				if got.ErrorCode != notify.CodeForbidden || !strings.Contains(got.Error, "a port for mail") {
					t.Errorf("%s to port %s of a name: %+v", kind, port, got)
				}
			}
		}
	}
}

// TestAttackRebinding has a name whose first answer is a permitted receiver and
// whose later answers are the canary, on the same port: each delivery looks for
// itself, and none reaches the canary.
func TestAttackRebinding(t *testing.T) {
	t.Parallel()
	honest, canary := pairOfHosts(t)
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(honest.url, "http://"))
	for kind, config := range httpConfigs("http://rebind.test:" + port) {
		var asked atomic.Int32
		resolver := probetest.Resolver(t, func(question dns.Question) []string {
			if question.Qtype != dns.TypeA || asked.Add(1) == 1 {
				return probetest.At("127.0.0.2")(question)
			}
			return probetest.At("127.0.0.1")(question)
		})
		policy := egress.Policy{AllowedCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}}
		channel := parse(t, notify.NewRegistry(egress.New(policy, egress.WithNameServer(resolver))), kind.kind(), config)
		before := len(honest.requests())
		if got := channel.Send(t.Context(), message()); !got.Delivered() || len(honest.requests()) != before+1 {
			t.Errorf("%s: the first delivery is permitted: %+v", kind, got)
		}
		for range 3 {
			if got := channel.Send(t.Context(), message()); got.ErrorCode != notify.CodeForbidden {
				t.Errorf("%s: %+v", kind, got)
			}
		}
	}
	if n := len(canary.requests()); n != 0 {
		t.Errorf("the canary was reached %d times", n)
	}
}

// pairOfHosts are a receiver on 127.0.0.2 and one on 127.0.0.1, on one port.
func pairOfHosts(t *testing.T) (other, local *receiver) {
	t.Helper()
	var config net.ListenConfig
	first, err := config.Listen(t.Context(), "tcp", "127.0.0.2:0")
	if err != nil {
		t.Skipf("no second loopback address: %v", err)
	}
	_, port, _ := net.SplitHostPort(first.Addr().String())
	second, err := config.Listen(t.Context(), "tcp", "127.0.0.1:"+port)
	if err != nil {
		_ = first.Close()
		t.Skipf("the port is taken on the other address: %v", err)
	}
	return receiveOn(t, first, nil), receiveOn(t, second, nil)
}

// TestAttackAnswers: nothing that a receiver answers makes the platform go
// elsewhere.
func TestAttackAnswers(t *testing.T) {
	t.Parallel()
	canary := receive(t, nil)
	for _, a := range []struct {
		status        int
		header, value string
	}{
		{http.StatusOK, "Refresh", "0; url=" + canary.url},
		{http.StatusOK, "Content-Location", canary.url},
		{http.StatusOK, "Alt-Svc", `h2="` + strings.TrimPrefix(canary.url, "http://") + `"`},
		{http.StatusEarlyHints, "Link", "<" + canary.url + ">; rel=preload"},
		{http.StatusCreated, "Location", canary.url},
		{http.StatusMultipleChoices, "Location", canary.url},
		{http.StatusUseProxy, "Location", canary.url},
	} {
		for kind := range httpConfigs("") {
			r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set(a.header, a.value)
				w.WriteHeader(a.status)
			})
			channel := parse(t, registry(), kind.kind(), httpConfigs(r.url)[kind])
			for range 2 {
				channel.Send(t.Context(), message())
			}
			if n := len(r.requests()); n != 2 {
				t.Errorf("%s, %d with %s: %d requests for two deliveries", kind, a.status, a.header, n)
			}
		}
	}
	if n := len(canary.requests()); n != 0 {
		t.Errorf("the canary was reached %d times", n)
	}
}
