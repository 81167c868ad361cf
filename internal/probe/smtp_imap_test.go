// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

var _ = addFixture(fixtureSMTPIMAP)

// fixtureSMTPIMAP is the fixture of the smtp-imap type.
func fixtureSMTPIMAP(f *world) fixture {
	house := probetest.NewPostOffice(f, f.authority, "starttls", "tls")
	return fixture{
		kind:    vigil.TypeSMTPIMAP,
		healthy: house.Config(nil),
		failing: house.Config(object{"imap": house.IMAPServer("wrong-secret")}),
		silent:  object{"smtp": serverAt(f, tcp(f, drain), object{"security": "none"})},
		secrets: []string{"hunter2", "wrong-secret"},
	}
}

func TestMailRoundTrip(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, modes := range [][2]string{{"none", "tls"}, {"starttls", "starttls"}, {"tls", "tls"}} {
		t.Run(modes[0]+"And"+modes[1], func(t *testing.T) {
			t.Parallel()
			house := probetest.NewPostOffice(t, w.authority, modes[0], modes[1])
			house.Delay = 2 * time.Second
			house.Put("Subject: Vigil probe of somebody else\r\n\r\n", time.Now().Add(-time.Hour))
			house.Put("Subject: hello\r\n\r\nkeep me", time.Now().Add(-72*time.Hour))
			house.Put("Subject: Vigil probe OLD\r\nMessage-ID: <OLD@vigil.invalid>\r\n\r\n", time.Now().Add(-72*time.Hour))
			seen := w.run(vigil.TypeSMTPIMAP, house.Config(nil))
			if !seen.Success || seen.Metadata["deleted"] != true {
				t.Fatalf("got %+v", seen)
			}
			delivery, _ := seen.Metadata["delivery_ms"].(float64)
			// The office's delay begins before the probe learns that the mail is accepted.
			if delivery < 1000 || delivery > 15000*slowdown {
				t.Errorf("delivered after %v ms, want about 2000 and the time between two looks", delivery)
			}
			phases, _ := seen.Metadata["phases"].(map[string]any)
			for _, name := range []string{"smtp_connect_ms", "smtp_send_ms", "imap_connect_ms", "imap_login_ms", "imap_select_ms"} {
				if phases[name] == nil {
					t.Errorf("no phase %s in %v", name, phases)
				}
			}
			if n := house.Count(); n != 2 {
				t.Errorf("%d messages are left, want the two that are not ours to delete", n)
			}
		})
	}
}

func TestMail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	house := probetest.NewPostOffice(t, w.authority, "starttls", "tls")
	losing := probetest.NewPostOffice(t, w.authority, "tls", "tls")
	losing.Lose = true
	plain := probetest.NewPostOffice(t, w.authority, "none", "none")
	strange := probetest.NewPostOffice(t, probetest.NewAuthority(t, nil), "starttls", "starttls")
	closed := closedPort(t)
	for name, c := range map[string]struct {
		config object
		reason string
	}{
		"OnlySMTP":        {object{"smtp": house.SMTPServer("hunter2")}, ""},
		"OnlyIMAP":        {object{"imap": house.IMAPServer("hunter2")}, ""},
		"BothWithoutTrip": {house.Config(object{"round_trip": false}), ""},
		"PlainSMTP":       {object{"smtp": plain.SMTPServer("")}, ""},
		"PlainIMAP":       {object{"imap": serverAt(t, plain.IMAP, object{"security": "none"})}, ""},
		"SMTPPassword":    {object{"smtp": house.SMTPServer("wrong")}, "the SMTP server answered 454"},
		"IMAPPassword":    {object{"imap": house.IMAPServer("wrong")}, "the IMAP server answered NO"},
		"Mailbox": {
			object{
				"imap": object{"host": "127.0.0.1", "port": portOf(t, house.IMAP), "username": "ann", "password": "hunter2", "mailbox": "Nothing"},
			},
			"the IMAP server answered NO",
		},
		"Receiver":        {house.Config(object{"to": "bob@b.test"}), "the SMTP server answered 550"},
		"Lost":            {losing.Config(object{"max_delivery_seconds": 1}), "the message did not arrive in the mailbox within 1s"},
		"NoSTARTTLS":      {object{"smtp": serverAt(t, plain.SMTP, object{"security": "starttls"})}, "does not offer STARTTLS"},
		"IMAPNoSTARTTLS":  {object{"imap": serverAt(t, plain.IMAP, object{"security": "starttls"})}, "the IMAP server answered"},
		"SMTPCertificate": {object{"smtp": strange.SMTPServer("hunter2")}, "signed by an unknown authority"},
		"IMAPCertificate": {object{"imap": strange.IMAPServer("hunter2")}, "signed by an unknown authority"},
		"Refused":         {object{"smtp": serverAt(t, closed, object{})}, "connection refused by " + closed},
		"SMTPSilence": {
			object{"smtp": serverAt(t, tcp(t, drain), object{}), "timeout_seconds": 1},
			"timed out after 1s while waiting for the SMTP server's greeting",
		},
		"IMAPSilence": {
			object{"imap": serverAt(t, tcp(t, drain), object{"security": "none"}), "timeout_seconds": 1},
			"timed out after 1s while waiting for the IMAP server's greeting",
		},
		"TLSSilence": {
			object{"imap": serverAt(t, tcp(t, drain), object{}), "timeout_seconds": 1},
			"timed out after 1s while in the TLS handshake with 127.0.0.1",
		},
		"NotSMTP": {
			object{"smtp": serverAt(t, tcp(t, banner("HTTP/1.1 400 Bad\r\n")), object{})},
			"the server did not answer with SMTP",
		},
		"SMTPSaysNo":       {object{"smtp": serverAt(t, tcp(t, banner("554 go\r\n away\r\n")), object{})}, "the SMTP server answered 554 go"},
		"SMTPEndlessLine":  {object{"smtp": serverAt(t, tcp(t, flood("220 ", "x")), object{})}, "the SMTP server sent more than 256 KiB"},
		"SMTPEndlessLines": {object{"smtp": serverAt(t, tcp(t, flood("", "220-x\r\n")), object{})}, "the SMTP server sent more than 256 KiB"},
		"IMAPEndlessLine": {
			object{"imap": serverAt(t, tcp(t, flood("* OK ", "x")), object{"security": "none"})},
			"the IMAP server sent more than 256 KiB",
		},
		"IMAPLiteral": {
			object{"imap": serverAt(t, tcp(t, flood("* LIST () \"/\" {99999999999}\r\n", "x")), object{"security": "none"})},
			"the IMAP server sent more than 256 KiB",
		},
		"NotIMAP": {
			object{"imap": serverAt(t, tcp(t, banner("HTTP/1.1 400 Bad\r\n")), object{"security": "none"})},
			"the server did not answer with IMAP",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := w.run(vigil.TypeSMTPIMAP, c.config)
			if seen.Success != (c.reason == "") || !strings.Contains(seen.Error, c.reason) {
				t.Errorf("got %q, want %q", seen.Error, c.reason)
			}
		})
	}
}

// flood repeats a text until the connection is closed.
func flood(start, text string) func(net.Conn) {
	return func(conn net.Conn) {
		block := strings.Repeat(text, 1+(32<<10)/len(text))
		_, err := io.WriteString(conn, start)
		for err == nil {
			_, err = io.WriteString(conn, block)
		}
	}
}

func TestMailConfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := func(more object) object {
		more["host"] = "mail.example.com"
		return more
	}
	trip := func(more object) object {
		config := object{
			"smtp": server(object{}), "imap": server(object{"username": "a", "password": "b"}), "from": "a@example.com", "to": "b@example.com",
		}
		for name, value := range more {
			config[name] = value
		}
		return config
	}
	for name, c := range map[string]struct {
		config object
		member string
	}{
		"NoServer":         {object{"from": "a@b.c"}, "config.smtp"},
		"NoHost":           {object{"smtp": object{"port": 25}}, "config.smtp.host"},
		"Metadata":         {object{"imap": object{"host": "169.254.169.254"}}, "config.imap.host"},
		"Security":         {object{"smtp": server(object{"security": "ssl"})}, "config.smtp.security"},
		"PasswordInClear":  {object{"smtp": server(object{"security": "none", "username": "a", "password": "b"})}, "config.smtp.security"},
		"NoUser":           {object{"smtp": server(object{"password": "b"})}, "config.smtp.username"},
		"UserLineBreak":    {object{"imap": server(object{"username": "a\r\nA1 LOGOUT", "password": "b"})}, "config.imap.username"},
		"PassLineBreak":    {object{"imap": server(object{"username": "a", "password": "b\r\nc"})}, "config.imap.password"},
		"MailboxLineBreak": {object{"imap": server(object{"username": "a", "mailbox": "x\r\ny"})}, "config.imap.mailbox"},
		"ServerName":       {object{"imap": server(object{"server_name": "a b"})}, "config.imap.server_name"},
		"HeloName":         {object{"smtp": server(object{"helo_name": "a b"})}, "config.smtp.helo_name"},
		"HeloLineBreak":    {object{"smtp": server(object{"helo_name": "[192.0.2.1]\r\nQUIT"})}, "config.smtp.helo_name"},
		"FromLineBreak":    {trip(object{"from": "a@b.c>\r\nRCPT TO:<x@y.z"}), "config.from"},
		"FromName":         {trip(object{"from": "Ann <a@b.c>"}), "config.from"},
		"FromEmpty":        {trip(object{"from": ""}), "config.from"},
		"ToLineBreak":      {trip(object{"to": "a@b.c\r\nDATA"}), "config.to"},
		"ToQuoted":         {trip(object{"to": `"a b"@b.c`}), "config.to"},
		"TripWithOne":      {object{"smtp": server(object{}), "round_trip": true}, "config.round_trip"},
		"TripWithoutLogin": {trip(object{"imap": server(object{})}), "config.imap.username"},
		"Delivery":         {trip(object{"max_delivery_seconds": 41}), "config.max_delivery_seconds"},
		"Timeout":          {trip(object{"timeout_seconds": 31}), "config.timeout_seconds"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := w.Parse(vigil.TypeSMTPIMAP, encode(t, c.config), minute)
			rejected(t, err, c.member)
		})
	}
	for interval, want := range map[time.Duration]time.Duration{minute: minute, 10 * time.Minute: 80 * time.Second} {
		parsed, err := w.Parse(vigil.TypeSMTPIMAP, encode(t, trip(nil)), interval)
		if err != nil || parsed.Deadline() != want || parsed.Target() != "mail.example.com:587" {
			t.Errorf("%s: %v, %v", interval, parsed, err)
		}
	}
}
