// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	netmail "net/mail"
	"regexp"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/mail"
	"github.com/vigil-monitor/vigil/internal/mail/mailtest"
)

// withMail gives the API a mail server.
func withMail(t *testing.T) (*mailtest.Server, func(*api.Deps)) {
	t.Helper()
	server := mailtest.Start(t, mailtest.Options{})
	mailer, err := mail.New(mail.Options{
		URL: "smtp://" + server.Addr + "?tls=none", From: "vigil@example.com", Dialer: egress.New(egress.Policy{AllowPrivate: true}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return server, func(d *api.Deps) { d.Mailer = mailer }
}

// letters are the mails to an address so far, decoded.
func letters(t *testing.T, server *mailtest.Server, to string) []string {
	t.Helper()
	var found []string
	for _, m := range server.Messages() {
		if len(m.To) == 1 && m.To[0] == to {
			found = append(found, decodeMail(t, m.Data))
		}
	}
	return found
}

// letter waits for the nth mail to an address.
func letter(t *testing.T, server *mailtest.Server, to string, n int) string {
	t.Helper()
	eventually(t, fmt.Sprintf("%d mails to %s arrive", n, to), func() bool { return len(letters(t, server, to)) >= n })
	return letters(t, server, to)[n-1]
}

func decodeMail(t *testing.T, data string) string {
	t.Helper()
	m, err := netmail.ReadMessage(strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	body := m.Body
	encoding := m.Header.Get("Content-Transfer-Encoding")
	if kind, params, _ := mime.ParseMediaType(m.Header.Get("Content-Type")); strings.HasPrefix(kind, "multipart/") {
		part, err := multipart.NewReader(m.Body, params["boundary"]).NextRawPart()
		if err != nil {
			t.Fatal(err)
		}
		body, encoding = part, part.Header.Get("Content-Transfer-Encoding")
	}
	if strings.EqualFold(encoding, "quoted-printable") {
		body = quotedprintable.NewReader(body)
	}
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return m.Header.Get("Subject") + "\n" + string(text)
}

// tokenOf is the token of the link in a mail to a page.
func tokenOf(t *testing.T, text, page string) string {
	t.Helper()
	match := regexp.MustCompile(`http://vigil\.test/` + page + `\?token=([A-Za-z0-9_-]{43})\s`).FindStringSubmatch(text)
	if match == nil {
		t.Fatalf("no link to /%s in: %s", page, text)
	}
	return match[1]
}
