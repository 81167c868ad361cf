// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/textproto"
	"strings"
	"sync"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/smtpdialog"
)

// The protocols of mail servers, as they are shown.
const (
	protocolSMTP = "SMTP"
	protocolIMAP = "IMAP"
)

// parseTLS reads the members of the server at a path about TLS: how it is asked for, what its
// certificate is verified against, and what is shown to it.
func (s *mailServer) parseTLS(path string, verify bool, name string, options *TLSOptions, roots *x509.CertPool) error {
	if options != nil && s.security == "none" {
		return vigil.Invalid(path+".tls", "needs security starttls or tls")
	}
	secure, err := options.parse(path+".tls", roots)
	if err != nil {
		return err
	}
	if name != "" {
		if name, err = parseName(path+".server_name", name); err != nil {
			return err
		}
		if secure.ServerName != "" && secure.ServerName != name {
			return vigil.Invalid(path+".tls.server_name", "differs from %s.server_name; give one of them", path)
		}
	}
	secure.ServerName = egress.ServerName(cmp.Or(secure.ServerName, name, s.host))
	secure.InsecureSkipVerify = !verify // the check's owner asked for it
	s.tls = secure
	return nil
}

// parseHELO reads the argument of EHLO: a name, or an address in brackets (RFC 5321, section
// 4.1.3).
func parseHELO(given string) (string, error) {
	const path = "config.smtp.helo_name"
	if given == "" {
		return heloName, nil
	}
	if !strings.HasPrefix(given, "[") {
		return parseName(path, given)
	}
	if !smtpdialog.ValidName(given) {
		return "", vigil.Invalid(path, "must be a host name, or an address in brackets such as [192.0.2.1] or [IPv6:2001:db8::1]")
	}
	return given, nil
}

// connect opens a connection to a mail server that is ready for the greeting, secured as the
// config says, and returns the days until a certificate expires, nil in plaintext.
func (p mailProbe) connect(ctx context.Context, t *timeline, protocol string, server mailServer) (*mailConn, *int, error) {
	conn, err := p.guard.DialContext(ctx, "tcp", server.address)
	if err != nil {
		return nil, nil, err
	}
	notes := dialogNotes{recorder: t.recorder, server: protocol}
	if server.security == "none" {
		return newMailConn(&limitedConn{Conn: conn, left: maxSessionBytes, notes: notes}, protocol), nil, nil
	}
	greeting := ""
	if server.security == "starttls" {
		plain := &limitedConn{Conn: conn, left: maxSessionBytes, notes: notes}
		t.step("waiting for the " + protocol + " server's greeting")
		ask, again := askSTARTTLS, "220 secured\r\n"
		if protocol == protocolIMAP {
			ask, again = askIMAPSTARTTLS, "* OK secured\r\n"
		}
		if err := ask(plain, server.helo); err != nil {
			_ = conn.Close()
			return nil, nil, err
		}
		notes, greeting = plain.notes, again
	}
	t.step("in the TLS handshake with " + server.address)
	secured := tls.Client(conn, server.tls)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, nil, err
	}
	t.recorder.noteChain(secured)
	state := secured.ConnectionState()
	days := daysUntil(firstToExpire(state.PeerCertificates, state.VerifiedChains).NotAfter)
	within := &limitedConn{Conn: &greeted{Conn: secured, greeting: greeting}, left: maxSessionBytes, notes: notes}
	return newMailConn(within, protocol), &days, nil
}

// askSTARTTLS asks an SMTP server that was connected to in plaintext for TLS (RFC 3207). Nothing that
// came in plaintext reaches what reads on.
func askSTARTTLS(conn net.Conn, helo string) error {
	text := textproto.NewConn(conn)
	if _, _, err := text.ReadResponse(220); err != nil {
		return err
	}
	if err := text.PrintfLine("EHLO %s", helo); err != nil {
		return err
	}
	_, answer, err := text.ReadResponse(250)
	if err != nil {
		return err
	}
	offered := false
	for i, line := range strings.Split(answer, "\n") {
		keyword, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		offered = offered || i > 0 && strings.EqualFold(keyword, "STARTTLS")
	}
	if !offered {
		return fail("the SMTP server does not offer STARTTLS")
	}
	if err := text.PrintfLine("STARTTLS"); err != nil {
		return err
	}
	if _, _, err := text.ReadResponse(220); err != nil {
		return err
	}
	if text.R.Buffered() > 0 {
		return fail("the SMTP server sent more in clear after its answer to STARTTLS")
	}
	return nil
}

// askIMAPSTARTTLS asks an IMAP server that was connected to in plaintext for TLS (RFC 9051, section
// 6.2.1). The library could, but would then read from below the bounds.
func askIMAPSTARTTLS(conn net.Conn, _ string) error {
	const tag = "vigil "
	greeting, err := readLine(conn)
	if err != nil {
		return err
	}
	if !hasWord(greeting, "* ", "OK") {
		return fail("the IMAP server's greeting is %q, expected * OK before STARTTLS", clip(greeting, maxShown))
	}
	if _, err := io.WriteString(conn, tag+"STARTTLS\r\n"); err != nil {
		return err
	}
	for {
		line, err := readLine(conn)
		if err != nil {
			return err
		}
		if answer, ok := strings.CutPrefix(line, tag); ok {
			if !hasWord(answer, "", "OK") {
				return fail("the IMAP server answered %s", clip(answer, 2*maxShown))
			}
			return nil
		}
	}
}

// hasWord reports whether a line has a word of the protocol behind its start. Their spelling does
// not matter (RFC 9051, section 9).
func hasWord(line, start, word string) bool {
	rest, ok := strings.CutPrefix(line, start)
	first, _, _ := strings.Cut(rest, " ")
	return ok && strings.EqualFold(first, word)
}

// readLine reads byte by byte, so that nothing of the next line is taken.
func readLine(conn net.Conn) (string, error) {
	var line []byte
	for one := make([]byte, 1); one[0] != '\n'; {
		if _, err := io.ReadFull(conn, one); err != nil {
			return "", err
		}
		line = append(line, one[0])
	}
	return strings.TrimRight(string(line), "\r\n"), nil
}

// greeted is a connection on which the greeting, which a server does not repeat
// after STARTTLS, comes first.
type greeted struct {
	net.Conn

	greeting string
}

func (g *greeted) Read(p []byte) (int, error) {
	if g.greeting == "" {
		return g.Conn.Read(p)
	}
	n := copy(p, g.greeting)
	g.greeting = g.greeting[n:]
	return n, nil
}

// mailConn is a connection on which the words of the protocol come in upper case, as the libraries
// look for them: servers may write them in any (RFC 5321 section 2.4, RFC 9051 section 9).
type mailConn struct {
	net.Conn

	lines *smtpdialog.Folded

	mu    sync.Mutex
	err   error
	first []byte // the beginning of what came
}

func newMailConn(conn *limitedConn, protocol string) *mailConn {
	fold := smtpdialog.FoldKeywords
	if protocol == protocolIMAP {
		fold = foldIMAP
	}
	m := &mailConn{Conn: conn}
	m.lines = smtpdialog.NewFolded(conn, "", func(line []byte) {
		m.note(line)
		fold(line)
	})
	return m
}

func (m *mailConn) Read(p []byte) (int, error) {
	n, err := m.lines.Read(p)
	if err != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.err = cmp.Or(m.err, err)
	}
	return n, err
}

// note keeps the first line, as it came.
func (m *mailConn) note(line []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.first == nil {
		m.first = bytes.Clone(line[:min(len(line), maxShown)])
	}
}

// met is the error that reading ended with, nil while it has not.
func (m *mailConn) met() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// beginning is the first line of the server, cut.
func (m *mailConn) beginning() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return clip(strings.TrimSpace(string(m.first)), maxShown)
}

// foldIMAP writes the name of a response in upper case: the word behind the tag, or the one behind
// a number; and the response code and the capabilities with it.
func foldIMAP(line []byte) {
	at := len(wordAt(line, 0)) + 1
	name := wordAt(line, at)
	if len(bytes.Trim(name, "0123456789")) == 0 {
		at += len(name) + 1
		name = wordAt(line, at)
	}
	upper(name)
	at += len(name) + 1
	if code := wordAt(line, at); len(code) > 0 && code[0] == '[' {
		upper(code)
		at += len(code) + 1
		name = code[1:]
	}
	if string(name) != "CAPABILITY" {
		return
	}
	for at < len(line) {
		capability := wordAt(line, at)
		upper(capability)
		for _, version := range []string{"IMAP4rev1", "IMAP4rev2"} { // written like this
			if bytes.EqualFold(capability[:min(len(capability), len(version))], []byte(version)) {
				copy(capability, version)
			}
		}
		at += len(capability) + 1
	}
}

// wordAt is the word of a line that begins at an index.
func wordAt(line []byte, at int) []byte {
	if at >= len(line) {
		return nil
	}
	word := line[at:]
	if end := bytes.IndexAny(word, " \r\n"); end >= 0 {
		word = word[:end]
	}
	return word
}

func upper(word []byte) {
	for i, c := range word {
		if c >= 'a' && c <= 'z' {
			word[i] = c - 'a' + 'A'
		}
	}
}

// limitedConn is a connection that may only bring so many bytes, and only so many
// open parentheses in a line: the libraries that read from it set no bounds, and
// the one for IMAP takes minutes to give up on a deep list.
type limitedConn struct {
	net.Conn

	left  int
	depth int
	notes dialogNotes
}

var (
	errTooMuch = errors.New("the server sent more than a mail dialog needs")
	errNesting = errors.New("the server sent lists that are nested too deeply")
)

func (r *limitedConn) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, errTooMuch
	}
	n, err := r.Conn.Read(p[:min(len(p), r.left)])
	r.left -= n
	r.notes.add(p[:n])
	for _, c := range p[:n] {
		switch c {
		case '(':
			r.depth++
		case ')':
			r.depth--
		case '\n':
			r.depth = 0
		}
		if r.depth > maxNesting {
			return 0, errNesting
		}
	}
	return n, err
}
