package vigil

// Mail is a message to people.
type Mail struct {
	// To are plain addresses, without display names.
	To      []string
	Subject string
	Text    string
	// HTML is the same for those who see it; empty for a mail of text only.
	HTML string
	// ID names the message for good: a mail that is sent again with the same
	// ID is recognised as the same one. Empty for a random one.
	ID string
	// Thread groups messages that belong together; empty for none.
	Thread string
}

// MailError says why a mail was not sent, or not to everybody. Its text is a
// sentence for people and holds no secret.
type MailError struct {
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
}

// Error returns the sentence.
func (e *MailError) Error() string { return e.Message }

// Final reports whether sending the same mail again would not reach anybody
// more: it went out, and the server refused the other recipients for good.
func (e *MailError) Final() bool { return e.Accepted > 0 && e.Status >= 500 }
