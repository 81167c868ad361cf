// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

// mailDialog is a strict mail server: it reads commands line by line, answers each with what answer
// returns for it, and changes to TLS after its answer to STARTTLS.
type mailDialog struct {
	greeting string
	secure   *tls.Config
	answer   func(command string, secured bool) string
}

func (d mailDialog) serve(tb testing.TB) func(net.Conn) {
	tb.Helper()
	return func(conn net.Conn) {
		_, _ = fmt.Fprintf(conn, "%s\r\n", d.greeting)
		secured := false
		for lines := bufio.NewReader(conn); ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			command, ok := strings.CutSuffix(line, "\r\n")
			if !ok {
				tb.Errorf("a command without CRLF: %q", line)
			}
			_, _ = fmt.Fprint(conn, d.answer(command, secured))
			if strings.HasSuffix(command, "STARTTLS") && !secured {
				conn, secured = tls.Server(conn, d.secure), true
				lines = bufio.NewReader(conn)
			}
		}
	}
}

// lowerSMTP writes its keywords in lower case, as RFC 5321 section 2.4 lets it, and notes the name
// that it is given.
func lowerSMTP(tb testing.TB, secure *tls.Config, hello func(string)) string {
	tb.Helper()
	return tcp(tb, mailDialog{"220 ready", secure, func(command string, secured bool) string {
		verb, rest, _ := strings.Cut(command, " ")
		switch {
		case verb == "EHLO" && !secured:
			return "250-here\r\n250-size 1000\r\n250 starttls\r\n"
		case verb == "EHLO":
			hello(rest)
			return "250-here\r\n250 Auth login\r\n"
		case verb == "STARTTLS" && !secured:
			return "220 go ahead\r\n"
		case command == "AUTH LOGIN" && secured:
			return "334 VXNlcm5hbWU6\r\n"
		case command == "YW5u": // ann
			return "334 UGFzc3dvcmQ6\r\n"
		case command == "aHVudGVyMg==": // hunter2
			return "235 welcome\r\n"
		case verb == "QUIT":
			return "221 bye\r\n"
		}
		return "500 unexpected: " + command + "\r\n"
	}}.serve(tb))
}

// mixedIMAP writes its words in any case (RFC 9051, section 9).
func mixedIMAP(tb testing.TB, secure *tls.Config) string {
	tb.Helper()
	return tcp(tb, mailDialog{"* Ok ready", secure, func(command string, secured bool) string {
		tag, rest, _ := strings.Cut(command, " ")
		verb, _, _ := strings.Cut(rest, " ")
		switch {
		case verb == "STARTTLS" && !secured:
			return "* capability imap4rev1\r\n" + tag + " Ok begin\r\n"
		case verb == "CAPABILITY":
			return "* capability imap4rev1 uidplus\r\n" + tag + " ok done\r\n"
		case verb == "LOGIN" && secured:
			return tag + " Ok [capability imap4rev1 uidplus] in\r\n"
		case verb == "EXAMINE":
			return "* flags (\\Seen)\r\n* 3 exists\r\n* ok [uidvalidity 1] fine\r\n* ok [uidnext 4] fine\r\n" + tag + " ok [read-only] open\r\n"
		case verb == "LOGOUT":
			return "* bye see you\r\n" + tag + " ok bye\r\n"
		}
		return tag + " bad unexpected " + verb + "\r\n"
	}}.serve(tb))
}

// TestMailWordsInAnyCase: the words of the protocols are recognized in any case, and certificates
// of STARTTLS show how long they are valid.
func TestMailWordsInAnyCase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	day := 24 * time.Hour
	secure := &tls.Config{
		MinVersion: tls.VersionTLS12,
		Certificates: []tls.Certificate{
			w.authority.Issue(t, probetest.ForNames("mail.test"), probetest.Valid(time.Now().Add(-day), time.Now().Add(10*day+time.Hour))),
		},
	}
	var mu sync.Mutex
	said := ""
	hello := func(name string) {
		mu.Lock()
		defer mu.Unlock()
		said = name
	}
	login := func(address string, more object) object {
		for name, value := range map[string]any{"security": "starttls", "username": "ann", "password": "hunter2"} {
			more[name] = value
		}
		return serverAt(t, address, more)
	}
	seen := w.run(vigil.TypeSMTPIMAP, object{
		"round_trip": false,
		"smtp":       login(lowerSMTP(t, secure, hello), object{"server_name": "mail.test", "helo_name": "probe.example.com"}),
		"imap":       login(mixedIMAP(t, secure), object{"verify_tls": false}),
	})
	mu.Lock()
	defer mu.Unlock()
	if !seen.Success || said != "probe.example.com" {
		t.Errorf("%s, EHLO %s", seen.Error, said)
	}
	if seen.Metadata["cert_days_remaining"] != 10.0 || seen.Metadata["smtp_cert_days_remaining"] != 10.0 ||
		seen.Metadata["imap_cert_days_remaining"] != 10.0 {
		t.Errorf("got %v", seen.Metadata)
	}
	for _, part := range []string{"smtp", "imap"} {
		config := object{part: serverAt(t, map[string]string{
			"smtp": lowerSMTP(t, secure, func(string) {}), "imap": mixedIMAP(t, secure),
		}[part], object{"security": "starttls"})}
		if wrong := w.run(vigil.TypeSMTPIMAP, config); wrong.Error != "the certificate is for mail.test, not for 127.0.0.1" {
			t.Errorf("%s: got %q", part, wrong.Error)
		}
	}
}

// TestOtherProtocolOnAMailPort: the reason says what the server began with.
func TestOtherProtocolOnAMailPort(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pop := tcp(t, banner("+OK POP3 ready\r\n"))
	for name, c := range map[string]struct {
		config object
		reason string
	}{
		"POP3ForIMAP": {
			object{"imap": serverAt(t, pop, object{"security": "none"})},
			`the server did not answer with IMAP: it began with "+OK POP3 ready", expected * OK`,
		},
		"POP3ForIMAPSTARTTLS": {
			object{"imap": serverAt(t, pop, object{"security": "starttls"})},
			`the IMAP server's greeting is "+OK POP3 ready", expected * OK before STARTTLS`,
		},
		"POP3ForSMTP": {
			object{"smtp": serverAt(t, pop, object{"security": "none"})},
			`the server did not answer with SMTP: it sent "+OK POP3 ready", expected a code of three digits`,
		},
		"InjectedInClear": {
			object{"smtp": serverAt(t, tcp(t, mailDialog{"220 ready", nil, func(command string, _ bool) string {
				if command == "STARTTLS" {
					return "220 go ahead\r\n250 injected\r\n"
				}
				return "250-here\r\n250 STARTTLS\r\n"
			}}.serve(t)), object{})},
			"the SMTP server sent more in clear after its answer to STARTTLS",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if seen := w.run(vigil.TypeSMTPIMAP, c.config); seen.Error != c.reason {
				t.Errorf("got %q, want %q", seen.Error, c.reason)
			}
		})
	}
}
