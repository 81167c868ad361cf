// SPDX-License-Identifier: Apache-2.0

package smtpdialog

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/netip"
	"net/textproto"
	"strings"

	"github.com/wneessen/go-mail/smtp"
)

// maxCommand is how long a command may be, in bytes with its CRLF (RFC 5321, section 4.5.3.1.4).
const maxCommand = 512

// Replies of a server.
const (
	replySignedIn  = 235
	replyDone      = 250
	replyAccepted  = 25 // any that begins so: 251 is that of a server which forwards
	replyChallenge = 334
	replyCanceled  = 501
)

// From begins a mail (MAIL, RFC 5321, section 4.1.1.2). The address stands in angle brackets,
// spelled as it is given; it must hold neither spaces nor brackets. No parameter is sent: what
// the platform sends is ASCII in lines of at most 998 bytes, so it needs neither 8BITMIME nor SMTPUTF8,
// which a server further on may lack.
func From(client *smtp.Client, address string) error {
	return ask(client, replyDone, "MAIL FROM:<%s>", address)
}

// To names a recipient of the mail (RCPT, RFC 5321, section 4.1.1.3), as From does the sender.
func To(client *smtp.Client, address string) error {
	return ask(client, replyAccepted, "RCPT TO:<%s>", address)
}

// ask sends a command and waits for the reply.
func ask(client *smtp.Client, want int, format string, args ...any) error {
	_, _, err := exchange(client, want, format, args...)
	return err
}

// exchange sends a command and returns the reply. A want of 0 takes any.
func exchange(client *smtp.Client, want int, format string, args ...any) (code int, text string, err error) {
	if line := fmt.Sprintf(format, args...); strings.ContainsAny(line, "\r\n") {
		return 0, "", textproto.ProtocolError("a command holds a line break")
	}
	id, err := client.Text.Cmd(format, args...)
	if err != nil {
		return 0, "", err
	}
	client.Text.StartResponse(id)
	defer client.Text.EndResponse(id)
	return client.Text.ReadResponse(want)
}

// SignIn authenticates the client (AUTH, RFC 4954). What the server refused has ended: nothing
// more is sent of it. An exchange that the client cannot go on with is canceled.
func SignIn(client *smtp.Client, mechanism smtp.Auth, server *smtp.ServerInfo) error {
	name, first, err := mechanism.Start(server)
	if err != nil {
		return fmt.Errorf("AUTH: %w", err)
	}
	command, kept := "AUTH "+name, first
	if first != nil {
		// A first response that does not fit waits for the challenge (section 4).
		if whole := command + " " + initial(first); len(whole)+2 <= maxCommand {
			command, kept = whole, nil
		}
	}
	for {
		code, text, err := exchange(client, 0, "%s", command)
		switch {
		case err != nil:
			return err
		case code == replySignedIn:
			_, err = mechanism.Next([]byte(text), false)
			return err
		case code != replyChallenge:
			return &textproto.Error{Code: code, Msg: text}
		}
		answer := kept
		if kept = nil; answer == nil {
			if answer, err = next(mechanism, text); err != nil {
				_ = ask(client, replyCanceled, "*")
				return fmt.Errorf("AUTH: %w", err)
			}
		}
		command = base64.StdEncoding.EncodeToString(answer)
	}
}

// initial is a response in the line of AUTH, where one without a byte is written as "=".
func initial(response []byte) string {
	if len(response) == 0 {
		return "="
	}
	return base64.StdEncoding.EncodeToString(response)
}

func next(mechanism smtp.Auth, challenge string) ([]byte, error) {
	plain, err := base64.StdEncoding.DecodeString(challenge)
	if err != nil {
		return nil, fmt.Errorf("a challenge is not base64: %w", err)
	}
	answer, err := mechanism.Next(plain, true)
	return answer, err
}

// FoldKeywords writes the keyword of a line of the reply to EHLO in upper case, and the
// mechanisms of AUTH. Servers may write them in any (RFC 5321, section 4.1.1.1), and the library looks
// for these.
func FoldKeywords(line []byte) {
	if len(line) < 5 || !bytes.HasPrefix(line, []byte("250")) {
		return
	}
	end := bytes.IndexAny(line[4:], " \r\n")
	if end < 0 {
		end = len(line) - 4
	}
	keyword := line[4 : 4+end]
	upper(keyword)
	if string(keyword) == "AUTH" {
		upper(line[4:])
	}
}

func upper(word []byte) {
	for i, c := range word {
		if c >= 'a' && c <= 'z' {
			word[i] = c - 'a' + 'A'
		}
	}
}

// ValidName reports whether a text may stand in EHLO: a domain, or the literal of an address in
// brackets such as [192.0.2.1] and [IPv6:2001:db8::1] (RFC 5321, sections 4.1.1.1 and 4.1.3).
func ValidName(text string) bool { return isLiteral(text) || isDomain(text) }

func isLiteral(text string) bool {
	inside, opened := strings.CutPrefix(text, "[")
	inside, closed := strings.CutSuffix(inside, "]")
	if !opened || !closed {
		return false
	}
	bare, tagged := inside, false
	if len(inside) > 5 && strings.EqualFold(inside[:5], "IPv6:") {
		bare, tagged = inside[5:], true
	}
	addr, err := netip.ParseAddr(bare)
	return err == nil && addr.Zone() == "" && addr.Is6() == tagged
}

// isDomain reports whether a text is a name of letters, digits and hyphens.
func isDomain(text string) bool {
	if text == "" || len(text) > 253 {
		return false
	}
	for label := range strings.SplitSeq(text, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range []byte(label) {
			if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
				return false
			}
		}
	}
	return true
}

// Literal is an address as it stands in EHLO where the client has no name (RFC 5321, section
// 4.1.4).
func Literal(addr netip.Addr) string {
	if addr = addr.Unmap().WithZone(""); addr.Is4() {
		return "[" + addr.String() + "]"
	}
	return "[IPv6:" + addr.String() + "]"
}
