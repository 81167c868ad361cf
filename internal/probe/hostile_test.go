// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"context"
	"io"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

// hostileServers are servers that answer nothing that a type could take for health: they are mute,
// broken, or speak another protocol.
func hostileServers() map[string]func(net.Conn) {
	const ok = "HTTP/1.1 200 OK\r\n"
	after := func(text string) func(net.Conn) { // what the client says first
		return func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = io.WriteString(conn, text)
			drain(conn)
		}
	}
	reset := func(text string) func(net.Conn) {
		return func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 1024))
			_, _ = io.WriteString(conn, text)
			if raw, is := conn.(*net.TCPConn); is {
				_ = raw.SetLinger(0)
			}
		}
	}
	return map[string]func(net.Conn){
		"mute":                    drain,
		"closes at once":          func(net.Conn) {},
		"closes when asked":       func(conn net.Conn) { _, _ = conn.Read(make([]byte, 1)) },
		"resets":                  reset(""),
		"resets in its answer":    reset(ok + "Content-Length: 100\r\n\r\nshort"),
		"speaks SSH":              banner("SSH-2.0-OpenSSH_9.9\r\n"),
		"speaks FTP":              banner("220 ready.example FTP\r\n"),
		"refuses mail":            banner("554 no service\r\n"),
		"speaks POP3":             banner("+OK POP3 ready\r\n"),
		"refuses IMAP":            banner("* BYE too many connections\r\n"),
		"speaks MySQL":            banner("\x4a\x00\x00\x00\x0a8.0.36\x00\x08\x00\x00\x00"),
		"zeros":                   func(conn net.Conn) { _, _ = io.Copy(conn, endless(0)) },
		"letters without an end":  func(conn net.Conn) { _, _ = io.Copy(conn, endless('x')) },
		"lines without an end":    func(conn net.Conn) { _, _ = io.Copy(conn, endless('\n')) },
		"a byte at a time":        drip("HTTP/1.1 200 OK\r\nX: "),
		"not UTF-8":               banner("\xff\xfe\x00\x01\x80\x81\r\n\r\n"),
		"TLS alert":               banner("\x15\x03\x03\x00\x02\x02\x28"),
		"half a TLS record":       banner("\x16\x03\x03\x40\x00\x02"),
		"TLS of another kind":     banner("\x16\x03\x03\x00\x04\x02\x00\x00\x00"),
		"HTTP/2 settings":         banner("\x00\x00\x00\x04\x00\x00\x00\x00\x00"),
		"HTTP/2 goodbye":          banner("\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x0b"),
		"HTTP 0.9":                after("<html>hello</html>"),
		"HTTP 400":                after("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
		"HTTP 503":                after("HTTP/1.1 503 Service Unavailable\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n"),
		"status of letters":       after("HTTP/1.1 OK\r\n\r\n"),
		"status too large":        after("HTTP/1.1 20000 OK\r\n\r\n"),
		"headers without an end":  after(ok + strings.Repeat("X: "+strings.Repeat("y", 1000)+"\r\n", 100)),
		"header without a colon":  after(ok + "nonsense\r\n\r\n"),
		"control characters":      after(ok + "X: a\x00b\r\n\r\n"),
		"two lengths":             after(ok + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"),
		"a negative length":       after(ok + "Content-Length: -1\r\n\r\n"),
		"unknown coding":          after(ok + "Transfer-Encoding: rot13\r\n\r\nabc"),
		"chunks of letters":       after(ok + "Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n"),
		"a chunk too large":       after(ok + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nabc"),
		"redirects to itself":     after("HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"),
		"redirects to a file":     after("HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n"),
		"redirects to no address": after("HTTP/1.1 302 Found\r\nLocation: http://[\r\nContent-Length: 0\r\n\r\n"),
		"redirects to metadata":   after("HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n"),
		"101 of another protocol": after("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"),
		"hints without an end":    after(strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 200)),
	}
}

// facing are configs of every type that could meet a server at an address.
func facing(tb testing.TB, address string) map[string]struct {
	kind   vigil.CheckType
	config object
} {
	tb.Helper()
	at := func(more object) object { return serverAt(tb, address, more) }
	type one = struct {
		kind   vigil.CheckType
		config object
	}
	http := object{"url": "http://" + address}
	return map[string]one{
		"http":          {vigil.TypeHTTP, http},
		"https":         {vigil.TypeHTTPS, object{"url": "https://" + address}},
		"throughput":    {vigil.TypeThroughput, object{"url": "http://" + address}},
		"upload":        {vigil.TypeThroughput, object{"url": "http://" + address, "direction": "upload", "max_bytes": 1 << 20, "min_mbps": 1e6}},
		"websocket":     {vigil.TypeWebSocket, object{"url": "ws://" + address, "expect": "ready"}},
		"wss":           {vigil.TypeWebSocket, object{"url": "wss://" + address}},
		"grpc":          {vigil.TypeGRPC, at(object{"security": "none"})},
		"grpc with TLS": {vigil.TypeGRPC, at(object{})},
		"tcp":           {vigil.TypeTCP, at(object{"send": "hello\r\n", "expect": "what no server says"})},
		"tcp with TLS":  {vigil.TypeTCP, at(object{"security": "tls"})},
		"ssl":           {vigil.TypeSSL, at(object{})},
		"domain":        {vigil.TypeDomain, object{"domain": "shop.example", "rdap_server": "http://" + address}},
		"dns over TCP":  {vigil.TypeDNS, object{"host": "www.shop.example", "resolvers": []string{address}, "protocol": "tcp"}},
		"dns over TLS":  {vigil.TypeDNS, object{"host": "www.shop.example", "resolvers": []string{address}, "protocol": "tls"}},
		"smtp":          {vigil.TypeSMTPIMAP, object{"smtp": at(object{"security": "none"})}},
		"smtp with TLS": {vigil.TypeSMTPIMAP, object{"smtp": at(object{"security": "tls"})}},
		"imap":          {vigil.TypeSMTPIMAP, object{"imap": at(object{"security": "none"})}},
		"step":          {vigil.TypeMultistep, object{"steps": []object{{"name": "one", "type": "http", "config": http}}}},
		"proxy":         {vigil.TypeHTTP, object{"url": "https://shop.example", "proxy": "http://" + address}},
		"plain proxy":   {vigil.TypeHTTP, object{"url": "http://shop.example", "proxy": "http://" + address}},
		"token": {vigil.TypeHTTP, object{"url": "http://shop.example", "oauth2": object{
			"token_url": "http://" + address, "client_id": "a", "client_secret": "hunter2",
		}}},
	}
}

// libraryWords are the beginnings of what libraries say, which no reason repeats.
var libraryWords = regexp.MustCompile(
	`(?i)tls:|http2:|net/http|http: |x509:|(read|write|dial) (tcp|udp)|\bEOF\b|proto:|websocket:|imapclient|strconv|` +
		`invalid character|json:|oauth2:|%!|0x[0-9a-f]{6}|probe itself|runtime error|use of closed`,
)

// TestHostileServers asks each hostile server by every type that could meet it. Each fails in time,
// with a reason that is a sentence for people.
func TestHostileServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const limit = 400 * time.Millisecond
	// What answers "220" is an FTP or a mail server: which one is not known before it says more.
	well := map[string]bool{"smtp/speaks FTP": true}
	for name, serve := range hostileServers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for asker, one := range facing(t, tcp(t, serve)) {
				t.Run(asker, func(t *testing.T) {
					t.Parallel()
					parsed := w.must(one.kind, one.config)
					ctx, cancel := context.WithTimeout(t.Context(), limit)
					defer cancel()
					began := time.Now()
					seen := parsed.Run(ctx)
					if took := time.Since(began); took > stuck {
						t.Errorf("returned after %s", took)
					}
					if seen.Success && !well[asker+"/"+name] {
						t.Errorf("it succeeded: %+v", seen)
					}
					if !seen.Success && (len(seen.Error) < 10 || libraryWords.MatchString(seen.Error)) {
						t.Errorf("the reason is none for people: %q", seen.Error)
					}
				})
			}
		})
	}
}

// TestOddServers are servers that are healthy in an odd way: no type may say that they are down.
func TestOddServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	after := func(text string) string {
		return tcp(t, func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = io.WriteString(conn, text)
		})
	}
	for name, c := range map[string]struct {
		kind   vigil.CheckType
		config object
	}{
		"BodyUntilTheEnd": {vigil.TypeHTTP, object{"url": "http://" + after("HTTP/1.0 200 OK\r\n\r\nhello")}},
		"NoReason":        {vigil.TypeHTTP, object{"url": "http://" + after("HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n")}},
		"HintsFirst": {
			vigil.TypeHTTP, object{"url": "http://" + after("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")},
		},
		"MoreThanItSays":   {vigil.TypeHTTP, object{"url": "http://" + after("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhello")}},
		"ThroughputOfOne":  {vigil.TypeThroughput, object{"url": "http://" + after("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")}},
		"TextBesideOthers": {vigil.TypeTCP, serverAt(t, after("\x00\xffready\x00"), object{"send": "x", "expect": "ready"})},
		"RDAPByRedirect": {vigil.TypeDomain, object{"domain": "shop.example", "rdap_server": w.http(registry(map[string]string{
			"shop.example": expiresIn(100),
		})) + "/a//b"}},
		"AuthorityBelowAnother": {vigil.TypeHTTPS, object{"url": w.https(probetest.NewAuthority(t, w.authority).Issue(t), store) + "/10"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if seen := w.run(c.kind, c.config); !seen.Success {
				t.Errorf("%s", seen.Error)
			}
		})
	}
}
