// SPDX-License-Identifier: Apache-2.0

package mail

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/google/uuid"
	gomail "github.com/wneessen/go-mail"

	"github.com/vigil-monitor/vigil"
)

// maxSubject bounds a subject, in bytes; what is longer is cut.
const maxSubject = 250

// Message is a mail.
type Message struct {
	// To are plain addresses, without display names.
	To      []string
	Subject string
	Text    string
	// HTML is the same for those who see it; empty: Text in the design of a Letter.
	HTML string
	// Button is what the button of an address in Text says; empty: Open the page.
	Button string
	// ID names the message for good: a mail that is sent again with the same
	// ID is recognised as the same one. Empty for a random one.
	ID string
	// Thread groups messages that belong together; empty for none.
	Thread string
	// Unsubscribe is the URL that ends mail to the recipient, on a POST too (RFC 8058);
	// empty for none. A message that has one has one recipient.
	Unsubscribe string
}

// Error says why a mail was not sent, or not to every recipient. Its text is a
// sentence for people and holds no secret.
type Error struct {
	// Code is what happened in one word for programs, such as timeout, dns,
	// connection_refused, tls, auth or rejected.
	Code    string
	Message string
	// Status is the reply code of the mail server, or 0 when it gave none.
	Status int
	// Reply is what the mail server said; empty when it said nothing.
	Reply string
	// Accepted is to how many recipients the message went all the same.
	Accepted int
	// Refused: the server refused the recipient or the content for good, and not the
	// sender, the sign-in or the connection.
	Refused bool
	// Unknown: the message was handed over whole, and the server's answer did not come. It may have
	// taken it (RFC 1047).
	Unknown bool
}

// Watch follows mails while they are sent, to know of each what became of it also when this
// process dies meanwhile. Mails are numbered by their index.
type Watch interface {
	// Begins is called before the content of a mail is handed over. An error keeps the mail from
	// being sent.
	Begins(mail int) error
	// Ended is called with the outcome of a mail: nil, or a *Error.
	Ended(mail int, err error)
}

// unwatched is a Watch that does nothing.
type unwatched struct{}

func (unwatched) Begins(int) error { return nil }
func (unwatched) Ended(int, error) {}

// Error returns the sentence.
func (e *Error) Error() string { return e.Message }

// Final reports whether sending the same mail again would reach no more
// recipients: it went out, and the server refused the other recipients for good.
func (e *Error) Final() bool { return e.Accepted > 0 && e.Status >= 500 }

// compose makes the message: text, and HTML beside it.
func (m *Mailer) compose(mail Message) (*gomail.Msg, error) {
	message := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	if err := message.FromFormat("Vigil", m.from); err != nil {
		return nil, &Error{Code: CodeRejected, Message: "the sender's address is not valid"}
	}
	if err := message.To(mail.To...); err != nil {
		return nil, &Error{Code: CodeRejected, Message: "a recipient's address is not valid"}
	}
	id := mail.ID
	if id == "" {
		id = uuid.NewString()
	}
	message.SetMessageIDWithValue(m.reference(id))
	if mail.Thread != "" {
		thread := "<" + m.reference(mail.Thread) + ">"
		message.SetGenHeader(gomail.HeaderInReplyTo, thread)
		message.SetGenHeader(gomail.HeaderReferences, thread)
	}
	message.SetDateWithValue(m.now())
	message.Subject(HeaderText(oneLine(mail.Subject)))
	// Prevents out-of-office replies, which no person would read (RFC 3834).
	message.SetGenHeader("Auto-Submitted", "auto-generated")
	if mail.Unsubscribe != "" {
		message.SetGenHeader("List-Unsubscribe", "<"+oneLine(mail.Unsubscribe)+">")
		message.SetGenHeader("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")
	}
	message.SetBodyString(gomail.TypeTextPlain, clean(mail.Text))
	html := mail.HTML
	if html == "" {
		letter := letterOf(&mail)
		html = letter.HTML()
	}
	message.AddAlternativeString(gomail.TypeTextHTML, clean(html))
	return message, nil
}

// reference is an id as the header fields of RFC 5322 want it, without the
// angle brackets.
func (m *Mailer) reference(id string) string {
	plain := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_' {
			return r
		}
		return '-'
	}, id)
	return plain + "@" + m.domain
}

// oneLine makes a text fit for a header: no line break or control character,
// bounded.
func oneLine(text string) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, " "), func(r rune) bool {
		return unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
	}), " ")
	if len(text) <= maxSubject {
		return text
	}
	return vigil.Truncate(text, maxSubject) + "..."
}

// clean drops what a mail's body cannot hold.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, " "), "\x00", "")
}

// write puts a message into a file of its own, which appears whole or not at
// all. Messages hold links that sign people in: only the owner may read them.
func (m *Mailer) write(ctx context.Context, message *gomail.Msg) error {
	fail := func(err error) error {
		m.log.ErrorContext(ctx, "mail was not written", "dir", m.dir, "error", err)
		return &Error{Code: CodeFailed, Message: "the mail could not be written to the mail directory"}
	}
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		return fail(err)
	}
	name := m.now().UTC().Format("20060102T150405.000") + "-" + uuid.NewString()[:8] + ".eml"
	path := filepath.Join(m.dir, name)
	if err := writeWhole(path, message); err != nil {
		return fail(err)
	}
	m.log.InfoContext(ctx, "mail written to a file", "path", path)
	return nil
}

func writeWhole(path string, message *gomail.Msg) error {
	draft := path + ".tmp"
	file, err := os.OpenFile(draft, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // a name of our own in the operator's directory
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	defer os.Remove(draft)
	_, err = message.WriteTo(file)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if err := os.Rename(draft, path); err != nil {
		return fmt.Errorf("rename: %w", err)
	}
	return nil
}
