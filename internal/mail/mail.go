// SPDX-License-Identifier: Apache-2.0

package mail

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/vigil-monitor/vigil/internal/smtpdialog"
)

// defaultTimeout bounds a mail whose context has no deadline of its own.
const defaultTimeout = 30 * time.Second

// dialer opens the connection to the mail server; an egress.Guard is one.
type dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Options of a Mailer.
type Options struct {
	// URL of the mail server: smtp://user:password@host:port or smtps://,
	// where the latter speaks TLS from the first byte. smtp:// uses STARTTLS
	// where the server offers it, and insists on it when there is a password
	// and the server is not this machine. Members of the query: from, the
	// sender's address, and tls=mandatory, opportunistic or none for smtp://.
	// Empty: mail is written to Dir.
	URL string
	// Dir takes mail as .eml files when there is no URL.
	Dir string
	// From is the sender's address; empty for the one of the URL's query, the
	// user name of the URL when that is an address, or vigil@<host>.
	From string
	// HELO is the name that the mail server is given in EHLO: a domain, or an address in
	// brackets (RFC 5321, section 4.1.1.1). Empty: the machine's name where it has a dot, else the
	// address that it connects from.
	HELO string
	// Dialer reaches the mail server, which is the operator's choice and may
	// well be a private address. Needed with a URL.
	Dialer dialer
	// Roots verify the server's certificate; nil for the machine's.
	Roots *x509.CertPool
	Log   *slog.Logger     // nil discards what is logged
	Now   func() time.Time // nil: the machine's clock
}

// Mailer sends mail. It may be used by any number of goroutines.
type Mailer struct {
	server *server // nil: into dir
	dir    string
	from   string
	domain string // of message ids
	log    *slog.Logger
	now    func() time.Time
}

// New reads the settings. No error repeats the URL, which may hold a password.
func New(opts Options) (*Mailer, error) {
	m := &Mailer{dir: opts.Dir, from: opts.From, log: opts.Log, now: opts.Now}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	if m.now == nil {
		m.now = time.Now //nolint:forbidigo // the default of an injected clock
	}
	host := "localhost"
	switch {
	case opts.URL != "":
		s, from, err := parseServer(opts.URL)
		if err != nil {
			return nil, err
		}
		if opts.Dialer == nil {
			return nil, errors.New("mail: a mail server needs a dialer")
		}
		if opts.HELO != "" && !smtpdialog.ValidName(opts.HELO) {
			return nil, errors.New(
				"mail: the name in EHLO must be a domain such as vigil.example.com, or an address in brackets such as [192.0.2.1]",
			)
		}
		s.helo, s.dialer, s.roots, m.server, host = opts.HELO, opts.Dialer, opts.Roots, s, s.host
		if m.from == "" {
			m.from = from
		}
	case opts.Dir == "":
		return nil, errors.New("mail: neither a mail server nor a directory is given")
	}
	if m.from == "" {
		m.from = "vigil@" + host
		if _, err := netip.ParseAddr(host); err == nil {
			m.from = "vigil@localhost"
		}
	}
	if err := checkAddress(m.from); err != nil {
		return nil, fmt.Errorf("mail: the sender's address: %w", err)
	}
	_, m.domain, _ = strings.Cut(m.from, "@")
	return m, nil
}

// Sends reports whether mail reaches people; otherwise it is written to files.
func (m *Mailer) Sends() bool { return m.server != nil }

// Send hands a mail to the server, or writes it to a file. The error is a
// *Error, also when only some of the recipients were refused. A
// server that refuses all recipients gets no message. Send returns when ctx ends.
func (m *Mailer) Send(ctx context.Context, mail Message) error {
	return m.SendEach(ctx, []Message{mail})[0]
}

// SendEach is Send for several mails over one connection. It returns an error, or nil, for
// each. A server that ends the connection after it took some of them is connected to again for the
// others; any other failure of the connection is the error of every mail that was not sent yet.
func (m *Mailer) SendEach(ctx context.Context, mails []Message) []error {
	return m.SendWatched(ctx, mails, unwatched{})
}

// SendWatched is SendEach with a watch that is called for each mail.
func (m *Mailer) SendWatched(ctx context.Context, mails []Message, watch Watch) []error {
	ctx, cancel := context.WithTimeout(ctx, defaultTimeout)
	defer cancel()
	errs := make([]error, len(mails))
	one := &session{server: m.server}
	defer func() { one.end() }()
	for i := range mails {
		message, err := m.prepare(&mails[i])
		begins := func() error { return watch.Begins(i) }
		switch {
		case err != nil:
			errs[i] = err
		case m.server == nil:
			if errs[i] = begins(); errs[i] == nil {
				errs[i] = m.write(ctx, message)
			}
		default:
			err := one.send(ctx, m.from, mails[i].To, message, begins)
			if one.failed != nil && one.sent > 0 && ctx.Err() == nil {
				unknown := one.failed.Unknown
				one.end()
				if one = (&session{server: m.server}); !unknown {
					err = one.send(ctx, m.from, mails[i].To, message, begins)
				}
			}
			errs[i] = m.report(ctx, &mails[i], err)
		}
		watch.Ended(i, errs[i])
	}
	return errs
}

// prepare composes a mail to valid addresses.
func (m *Mailer) prepare(mail *Message) (*gomail.Msg, error) {
	if len(mail.To) == 0 {
		return nil, &Error{Code: CodeRejected, Message: "the mail has no recipient"}
	}
	for _, to := range mail.To {
		if err := checkAddress(to); err != nil {
			return nil, &Error{Code: CodeRejected, Message: "a recipient's address " + err.Error()}
		}
	}
	return m.compose(*mail)
}

// report logs a mail that some of its recipients did not get.
func (m *Mailer) report(ctx context.Context, mail *Message, err error) error {
	if failure, ok := errors.AsType[*Error](err); ok && failure.Accepted > 0 {
		m.log.WarnContext(ctx, "mail server refused some recipients",
			"status", failure.Status, "refused", len(mail.To)-failure.Accepted, "accepted", failure.Accepted)
	}
	return err
}

// CheckAddress says what is wrong with an address of a recipient; never the address itself.
func CheckAddress(address string) error { return checkAddress(address) }

// checkAddress says what is wrong with an address; never the address itself.
func checkAddress(address string) error {
	parsed, err := mail.ParseAddress(address)
	if err != nil || parsed.Address != address || len(address) > 254 {
		return errors.New("is not a plain one such as ada@example.com")
	}
	for _, c := range []byte(address) {
		if c <= ' ' || c >= 0x7f || c == '<' || c == '>' {
			return errors.New("has a character that is not allowed")
		}
	}
	return nil
}

// parseServer reads the URL of a mail server, and the sender that it names.
func parseServer(text string) (*server, string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return nil, "", errors.New("mail: the mail server's address is not a URL such as smtp://user:password@mail.example.com:587")
	}
	s := &server{host: u.Hostname(), user: u.User.Username()}
	s.password, _ = u.User.Password()
	fallback := 25
	switch u.Scheme {
	case "smtp":
		if s.user != "" {
			fallback = 587
		}
	case "smtps":
		s.implicit, fallback = true, 465
	default:
		return nil, "", errors.New("mail: the mail server's address must begin with smtp:// or smtps://")
	}
	s.port = fallback
	if given := u.Port(); given != "" {
		if s.port, err = strconv.Atoi(given); err != nil || s.port < 1 || s.port > 65535 {
			return nil, "", errors.New("mail: the mail server's port must be a number from 1 to 65535")
		}
	}
	query := u.Query()
	if s.startTLS, err = policy(query.Get("tls"), s); err != nil {
		return nil, "", err
	}
	from := query.Get("from")
	if from == "" && checkAddress(s.user) == nil {
		from = s.user
	}
	return s, from, nil
}

// local reports whether the server is this machine.
func local(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback() || host == "localhost"
}

// Address is the host and port of the mail server, "" when mail is written to files.
func (m *Mailer) Address() string {
	if m.server == nil {
		return ""
	}
	return m.server.address()
}

// Check connects to the mail server and signs in, as a mail would, and sends none. The
// error is a *Error. It is nil when mail is written to files.
func (m *Mailer) Check(ctx context.Context) error {
	if m.server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, defaultTimeout)
	defer cancel()
	client, err := m.server.connect(ctx)
	if err != nil {
		return m.server.explain(ctx, err, m.server.implicit)
	}
	_ = client.Quit() // it answered already
	_ = client.Close()
	return nil
}
