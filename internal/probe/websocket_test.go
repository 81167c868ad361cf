// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"bufio"
	"crypto/sha1" // what RFC 6455 asks for
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

var _ = addFixture(fixtureWebSocket)

// fixtureWebSocket is the fixture of the websocket type.
func fixtureWebSocket(f *world) fixture {
	call := func(url string) object {
		return object{
			"url": "ws" + strings.TrimPrefix(url, "http") + "/echo?token=query-secret", "send": "ping hunter2", "expect": "hunter2",
			"headers": object{"Authorization": "Bearer sesame"},
		}
	}
	return fixture{
		kind:    vigil.TypeWebSocket,
		healthy: call(f.http(chat)),
		failing: call(f.http(http.NotFound)),
		silent:  call("http://" + tcp(f, drain)),
		secrets: []string{"query-secret", "sesame"},
	}
}

// chat speaks WebSocket: its path says how.
func chat(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"v2.chat", "v1.chat"}, InsecureSkipVerify: true})
	if err != nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	ctx := r.Context()
	conn.SetReadLimit(1 << 20)
	switch r.URL.Path {
	case "/echo":
		for {
			kind, message, err := conn.Read(ctx)
			if err != nil || conn.Write(ctx, kind, message) != nil {
				return
			}
		}
	case "/late": // the expected text is in the third message, which is binary
		for _, text := range []string{"one", "two"} {
			_ = conn.Write(ctx, websocket.MessageText, []byte(text))
		}
		_ = conn.Ping(conn.CloseRead(ctx))
		_ = conn.Write(ctx, websocket.MessageBinary, []byte("\x00three\xff"))
	case "/bye":
		_ = conn.Close(websocket.StatusTryAgainLater, "too many clients")
	case "/big":
		_ = conn.Write(ctx, websocket.MessageText, []byte(strings.Repeat("x", 65<<10)))
	case "/flood":
		for err == nil {
			err = conn.Write(ctx, websocket.MessageText, []byte(strings.Repeat("x", 10_000)))
		}
	case "/mute":
	}
	_, _, _ = conn.Read(ctx)
}

// upgraded answers the handshake rightly, unless the change says otherwise, then sends raw bytes.
func upgraded(change func(lines []string) []string, raw string) func(net.Conn) {
	return func(conn net.Conn) {
		request, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			return
		}
		sum := sha1.Sum([]byte(request.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		lines := []string{
			"HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", "Upgrade: websocket",
			"Sec-WebSocket-Accept: " + base64.StdEncoding.EncodeToString(sum[:]),
		}
		if change != nil {
			lines = change(lines)
		}
		_, _ = io.WriteString(conn, strings.Join(lines, "\r\n")+"\r\n\r\n"+raw)
		drain(conn)
	}
}

// line replaces a line of the handshake; an empty text removes it.
func line(at int, text string) func([]string) []string {
	return func(lines []string) []string {
		if text == "" {
			return append(lines[:at:at], lines[at+1:]...)
		}
		lines[at] = text
		return lines
	}
}

func TestWebSocket(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	plain := "ws" + strings.TrimPrefix(w.http(chat), "http")
	secure := "wss" + strings.TrimPrefix(w.https(w.authority.Issue(t), chat), "https")
	dated := "wss" + strings.TrimPrefix(w.https(w.authority.Issue(t, probetest.Expired()), chat), "https")
	closed := closedPort(t)
	moved := "ws" + strings.TrimPrefix(w.http(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}), "http")
	odd := func(change func([]string) []string, raw string) string {
		return "ws://" + tcp(t, upgraded(change, raw)) + "/"
	}
	const frame = "\x81\x05ready"
	for name, c := range map[string]struct {
		config object
		reason string // empty: it succeeds
	}{
		"HandshakeIsEnough": {object{"url": plain + "/mute"}, ""},
		"SendIsEnough":      {object{"url": plain + "/mute", "send": "x"}, ""},
		"Echo":              {object{"url": plain + "/echo", "send": "päng", "expect": "äng"}, ""},
		"LaterMessage":      {object{"url": plain + "/late", "expect": "three"}, ""},
		"TLS":               {object{"url": secure + "/echo", "send": "a", "expect": "a"}, ""},
		"NotVerified":       {object{"url": dated + "/mute", "verify_tls": false}, ""},
		"Subprotocol":       {object{"url": plain + "/mute", "subprotocols": []string{"v9.chat", "v1.chat"}}, ""},
		"Handmade":          {object{"url": odd(nil, frame), "expect": "ready"}, ""},
		"CaseOfHeaders":     {object{"url": odd(line(2, "upgrade: WebSocket"), frame), "expect": "ready"}, ""},
		"TwoFrames":         {object{"url": odd(nil, "\x01\x02re\x89\x00\x80\x03ady"), "expect": "ready"}, ""},
		"NoGoodbye":         {object{"url": odd(nil, "")}, ""},

		"NoSubprotocol": {
			object{"url": plain + "/mute", "subprotocols": []string{"v9.chat"}}, `the server chose no subprotocol, expected "v9.chat"`,
		},
		"OtherProtocol": {
			object{"url": odd(line(1, "Connection: Upgrade\r\nSec-WebSocket-Protocol: v3"), ""), "subprotocols": []string{"v1"}},
			"the server chose a subprotocol that was not offered",
		},
		"Closes": {
			object{"url": plain + "/bye", "expect": "x"},
			"the server closed the connection with the code 1013 while waiting for the expected text: too many clients",
		},
		"TooBig": {object{"url": plain + "/big", "expect": "y"}, "a message of more than 64 KiB"},
		"Flood":  {object{"url": plain + "/flood", "expect": "y"}, "not in the first 64 KiB of the messages"},
		"Mute": {
			object{"url": plain + "/mute", "expect": "y", "timeout_seconds": 1}, "timed out after 1s while waiting for the expected text",
		},
		"NotFound":   {object{"url": "ws" + strings.TrimPrefix(w.http(http.NotFound), "http")}, "the HTTP status 404, expected 101"},
		"Page":       {object{"url": "ws" + strings.TrimPrefix(w.http(store), "http") + "/10"}, "the HTTP status 200, expected 101"},
		"Redirect":   {object{"url": moved}, "the HTTP status 302, expected 101"},
		"NoUpgrade":  {object{"url": odd(line(2, ""), "")}, "lacks the header Upgrade: websocket"},
		"Connection": {object{"url": odd(line(1, "Connection: close"), "")}, "lacks the header Connection: Upgrade"},
		"WrongKey":   {object{"url": odd(line(3, "Sec-WebSocket-Accept: AAAA"), "")}, "does not fit the key"},
		"Extension": {
			object{"url": odd(line(2, "Upgrade: websocket\r\nSec-WebSocket-Extensions: x-own"), "")}, "an extension that was not offered",
		},
		"ReservedBit": {object{"url": odd(nil, "\xc1\x05ready"), "expect": "ready"}, "broke the WebSocket protocol while waiting for the"},
		"Opcode":      {object{"url": odd(nil, "\x83\x05ready"), "expect": "ready"}, "broke the WebSocket protocol while waiting for the"},
		"LongPing":    {object{"url": odd(nil, "\x89\x7e\x01\x00"), "expect": "ready"}, "broke the WebSocket protocol while waiting for the"},
		"Expired":     {object{"url": dated + "/echo"}, "the certificate expired on "},
		"PlainOnTLS":  {object{"url": "wss" + strings.TrimPrefix(plain, "ws") + "/echo"}, "TLS"},
		"NotHTTP":     {object{"url": "ws://" + tcp(t, banner("SSH-2.0-x\r\n"))}, `the server did not answer with HTTP, but with "SSH-2.0-x"`},
		"Refused":     {object{"url": "ws://" + closed}, "connection refused by " + closed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := w.run(vigil.TypeWebSocket, c.config)
			if seen.Success != (c.reason == "") || !strings.Contains(seen.Error, c.reason) {
				t.Errorf("got %q, want %q", seen.Error, c.reason)
			}
			switch name {
			case "TLS":
				if seen.Metadata["tls_version"] == nil || seen.Metadata["cert_days_remaining"] != 90.0 ||
					seen.StatusCode != http.StatusSwitchingProtocols {
					t.Errorf("%+v", seen)
				}
			case "Subprotocol":
				if seen.Metadata["subprotocol"] != "v1.chat" {
					t.Errorf("metadata %v", seen.Metadata)
				}
			case "LaterMessage":
				if seen.Metadata["messages"] != 3.0 {
					t.Errorf("metadata %v", seen.Metadata)
				}
			}
		})
	}
}

// TestWebSocketRequest holds what the server is sent.
func TestWebSocketRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var got *http.Request
	url := w.http(func(w http.ResponseWriter, r *http.Request) {
		got = r.Clone(r.Context())
		chat(w, r)
	})
	seen := w.run(vigil.TypeWebSocket, object{
		"url": "ws" + strings.TrimPrefix(url, "http") + "/mute", "subprotocols": []string{"a", "v1.chat"},
		"headers": object{"Origin": "https://shop.example", "host": "live.example", "Authorization": "Bearer x"},
	})
	if !seen.Success || got.Host != "live.example" || got.Header.Get("Origin") != "https://shop.example" ||
		got.Header.Get("Authorization") != "Bearer x" || got.Header.Get("User-Agent") != "Vigil/1.0" {
		t.Errorf("%q: %s %v", seen.Error, got.Host, got.Header)
	}
}

func TestWebSocketConfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for member, configs := range map[string][]object{
		"config.url": {{}, {"url": "https://a.example"}, {"url": "ws://169.254.169.254/"}, {"url": "ws://a:b@a.example"}},
		"config.tls": {{"url": "ws://a.example", "tls": object{}}},
		"config.subprotocols[1]": {
			{"url": "ws://a.example", "subprotocols": []string{"a", "b c"}}, {"url": "ws://a.example", "subprotocols": []string{"a", ""}},
		},
		"config.headers.Sec-WebSocket-Key": {{"url": "ws://a.example", "headers": object{"Sec-WebSocket-Key": "x"}}},
		"config.headers.upgrade":           {{"url": "ws://a.example", "headers": object{"upgrade": "h2c"}}},
	} {
		for _, config := range configs {
			_, err := w.Parse(vigil.TypeWebSocket, encode(t, config), minute)
			rejected(t, err, member)
		}
	}
}
