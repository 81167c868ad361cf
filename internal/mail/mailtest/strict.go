// SPDX-License-Identifier: Apache-2.0

package mailtest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/emersion/go-smtp"

	"github.com/vigil-monitor/vigil/internal/probe/probetest"
	"github.com/vigil-monitor/vigil/internal/smtpdialog"
)

// Start runs a server until the test ends that takes nothing which is not by the letter of RFC
// 5321 and its extensions: it refuses it, and the test fails.
func Start(tb testing.TB, opts Options) *Server {
	tb.Helper()
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{Addr: listener.Addr().String(), opts: opts}
	config, roots := certificate(tb)
	s.Roots = roots
	probetest.Serve(tb, listener, func(conn net.Conn) {
		d := &dialog{tb: tb, server: s, config: config, conn: conn}
		d.run()
		_ = d.conn.Close() // that of TLS says goodbye
	})
	return s
}

// dialog is one connection.
type dialog struct {
	tb     testing.TB
	server *Server
	config *tls.Config
	conn   net.Conn
	lines  *bufio.Reader

	tls     bool
	greeted bool
	user    string
	mail    *Message // nil: none is begun
	over    bool
}

// The bounds of lines, in bytes with their CRLF (RFC 5321 section 4.5.3.1, RFC 4954 section 4).
const (
	maxCommandLine = 512
	maxAuthLine    = 12288
	maxTextLine    = 1000
)

// wrong refuses what no client may send, and fails the test.
func (d *dialog) wrong(code int, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	d.tb.Errorf("the client does not keep to the standard: %s", text)
	d.reply(code, text)
}

// reply answers in two lines, as servers may (RFC 5321, section 4.2.1).
func (d *dialog) reply(code int, text string) { d.lists(code, "mail.test", text) }

func (d *dialog) lists(code int, lines ...string) {
	if d.lines != nil && d.lines.Buffered() > 0 {
		d.tb.Error(
			"the client does not keep to the standard: it sends a command before the reply to the one before it, and PIPELINING was not offered",
		)
	}
	var b strings.Builder
	for i, line := range lines {
		mark := '-'
		if i == len(lines)-1 {
			mark = ' '
		}
		fmt.Fprintf(&b, "%d%c%s\r\n", code, mark, line)
	}
	_, _ = d.conn.Write([]byte(b.String()))
}

// line reads one that ends with CRLF and has no other CR or LF.
func (d *dialog) line(limit int) (string, bool) {
	raw, err := d.lines.ReadString('\n')
	if err != nil {
		d.over = true
		return "", false
	}
	text, ok := strings.CutSuffix(raw, "\r\n")
	switch {
	case !ok || strings.ContainsAny(text, "\r\x00"):
		d.wrong(500, "the line %q has a bare CR or LF, or a zero", raw)
	case len(raw) > limit:
		d.wrong(500, "a line has %d bytes, at most %d are allowed", len(raw), limit)
	default:
		return text, true
	}
	d.over = true
	return "", false
}

func (d *dialog) run() {
	if d.server.opts.Implicit {
		d.secure()
	}
	d.lines = bufio.NewReader(d.conn)
	d.reply(220, "ready")
	for !d.over {
		command, ok := d.line(maxAuthLine)
		if !ok {
			return
		}
		verb, rest, _ := strings.Cut(command, " ")
		if verb = strings.ToUpper(verb); verb != "AUTH" && len(command)+2 > maxCommandLine {
			d.wrong(500, "a command has %d bytes, at most %d are allowed", len(command)+2, maxCommandLine)
			return
		}
		d.obey(verb, rest, command)
	}
}

func (d *dialog) secure() {
	conn := tls.Server(d.conn, d.config)
	d.conn, d.tls = conn, true
	if conn.HandshakeContext(context.Background()) != nil {
		d.over = true
	}
	d.lines = bufio.NewReader(d.conn)
	d.greeted, d.user, d.mail = false, "", nil
}

func (d *dialog) obey(verb, rest, command string) {
	bare := command == verb || strings.EqualFold(command, verb)
	switch {
	case verb == "EHLO":
		d.hello(rest)
	case verb == "QUIT" && bare:
		d.reply(221, "bye")
		d.over = true
	case !d.greeted:
		d.wrong(503, "%s comes before EHLO", verb)
	case verb == "STARTTLS" && bare && d.server.opts.StartTLS && !d.tls:
		d.reply(220, "go ahead")
		d.secure()
	case d.server.opts.NeedTLS && !d.tls:
		d.reply(530, "5.7.0 Must issue a STARTTLS command first")
	case verb == "AUTH":
		d.auth(rest)
	case verb == "RSET" && bare:
		d.mail = nil
		d.reply(250, "reset")
	case verb == "MAIL":
		d.from(rest)
	case verb == "RCPT":
		d.to(rest)
	case verb == "DATA" && bare:
		d.data()
	default:
		d.wrong(500, "unknown command %q", command)
	}
}

func (d *dialog) hello(name string) {
	full := strings.Contains(name, ".") || strings.HasPrefix(name, "[")
	if !smtpdialog.ValidName(name) || !full {
		d.wrong(504, "%q is neither a full domain nor an address in brackets", name)
		return
	}
	d.greeted, d.mail = true, nil
	d.server.note(name)
	extensions := []string{"8BITMIME", "SMTPUTF8", "SIZE 1000000"}
	if d.server.opts.StartTLS && !d.tls {
		extensions = append(extensions, "STARTTLS")
	}
	if d.offersAuth() {
		extensions = append(extensions, "AUTH PLAIN")
	}
	for i := range extensions {
		if d.server.opts.LowerCase {
			extensions[i] = strings.ToLower(extensions[i])
		}
	}
	d.lists(250, append([]string{"mail.test"}, extensions...)...)
}

func (d *dialog) offersAuth() bool {
	return d.server.opts.User != "" && (d.tls || !d.server.opts.AuthOnlyWithTLS)
}

func (d *dialog) auth(rest string) {
	mechanism, response, _ := strings.Cut(rest, " ")
	plain, err := base64.StdEncoding.DecodeString(response)
	parts := strings.Split(string(plain), "\x00")
	switch {
	case !d.offersAuth():
		d.wrong(502, "AUTH was not offered")
	case d.user != "" || d.mail != nil:
		d.wrong(503, "AUTH comes twice, or within a mail")
	case !strings.EqualFold(mechanism, "PLAIN"):
		d.wrong(504, "the mechanism %q was not offered", mechanism)
	case err != nil || len(parts) != 3:
		d.wrong(501, "%q is no response of PLAIN", response)
	case parts[1] != d.server.opts.User || parts[2] != d.server.opts.Password:
		d.reply(535, "5.7.8 wrong password "+parts[2]) // what a careless server says
	default:
		d.user = parts[1]
		d.reply(235, "welcome")
	}
}

// Patterns of the arguments of MAIL and RCPT: a path, and parameters (RFC 5321, section 4.1.2).
var (
	fromPattern = regexp.MustCompile(`^(?i:FROM):<([^\s<>@]+@[^\s<>@]+)?>((?: [A-Za-z0-9-]+(?:=[!-<>-~]+)?)*)$`)
	toPattern   = regexp.MustCompile(`^(?i:TO):<([^\s<>@]+@[^\s<>@]+)>$`)
)

func (d *dialog) from(rest string) {
	found := fromPattern.FindStringSubmatch(rest)
	switch {
	case found == nil:
		d.wrong(501, "MAIL %q: the path must be in angle brackets, with nothing before it", rest)
	case d.mail != nil:
		d.wrong(503, "MAIL comes within a mail")
	case found[2] != "":
		d.wrong(555, "MAIL has the parameters %q, which a mail in ASCII does not need", found[2])
	case d.server.opts.User != "" && d.user == "":
		d.reply(530, "5.7.0 Authentication required")
	default:
		d.mail = &Message{From: found[1], TLS: d.tls, User: d.user}
		d.reply(250, "2.1.0 fine")
	}
}

func (d *dialog) to(rest string) {
	found := toPattern.FindStringSubmatch(rest)
	switch {
	case found == nil:
		d.wrong(501, "RCPT %q: the path must be in angle brackets, with nothing before it", rest)
		return
	case d.mail == nil:
		d.wrong(503, "RCPT comes before MAIL")
		return
	}
	if judge := d.server.opts.Rcpt; judge != nil && !d.judged(judge(found[1])) {
		return
	}
	d.mail.To = append(d.mail.To, found[1])
	d.reply(250, "2.1.5 fine")
}

// judged replies to a command that a judge of the test refused.
func (d *dialog) judged(err error) bool {
	reply, ok := errors.AsType[*smtp.SMTPError](err)
	switch {
	case err == nil:
		return true
	case errors.Is(err, ErrHangup):
		d.over = true
	case ok:
		d.reply(reply.Code, strings.Trim(strings.ReplaceAll(fmt.Sprint(reply.EnhancedCode), " ", "."), "[]")+" "+reply.Message)
		d.over = reply.Code == 421
	default:
		d.reply(451, "4.3.0 "+err.Error())
	}
	return false
}

func (d *dialog) data() {
	if d.mail == nil || len(d.mail.To) == 0 {
		d.wrong(503, "DATA comes before a recipient was accepted")
		return
	}
	if judge := d.server.opts.Command; judge != nil && !d.judged(judge("DATA")) {
		return
	}
	d.reply(354, "go ahead")
	var content bytes.Buffer
	for {
		line, ok := d.line(maxTextLine)
		if !ok {
			return
		}
		if line == "." {
			break
		}
		content.WriteString(strings.TrimPrefix(line, ".") + "\r\n") // section 4.5.2
	}
	message := d.mail
	d.mail = nil
	message.Data = content.String()
	if problem := inspect(message.Data); problem != "" {
		d.wrong(554, "the mail %s", problem)
		return
	}
	if judge := d.server.opts.Data; judge != nil && !d.judged(judge(message.Data)) {
		return
	}
	message.To = slices.Clone(message.To)
	d.server.keep(*message)
	if judge := d.server.opts.Command; judge != nil && !d.judged(judge("END")) {
		return
	}
	d.reply(250, "2.0.0 taken")
}
