// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"crypto/sha256"
	"strings"
	"time"

	"github.com/google/uuid"
)

// How long and how often things about readers of a status page are.
const (
	// ReaderAsked is how long a reader has to confirm that it wants messages.
	ReaderAsked = 48 * time.Hour
	// ReaderAskedAgain is how long after a question the next one is sent to the same address.
	ReaderAskedAgain = 15 * time.Minute
	// MaxOpenReaders is how many readers of a page may have to confirm at a time.
	MaxOpenReaders = 500
	// NoteAge is how old news may be to be notified: while nothing was sent, older news have become stale.
	NoteAge = 24 * time.Hour
	// NotesKept is how long is known what was notified.
	NotesKept = 30 * 24 * time.Hour
)

// Kinds of readers.
const (
	ReaderEmail   = "email"
	ReaderWebhook = "webhook"
)

// Reader asked to be notified what a status page says.
type Reader struct {
	ID     uuid.UUID
	OrgID  uuid.UUID
	PageID uuid.UUID
	Kind   string // ReaderEmail or ReaderWebhook
	// Address is a mail address, in lower case, or the URL of a webhook. It is personal data.
	Address string
	// Secret signs the messages to a webhook.
	Secret      string
	CreatedAt   time.Time
	ConfirmedAt *time.Time // nil: not yet
}

// Digest is the same for the same address.
func (r *Reader) Digest() []byte {
	sum := sha256.Sum256([]byte(r.Kind + ":" + strings.ToLower(r.Address)))
	return sum[:]
}

// NoteConfirm is the kind of the note that asks a reader to confirm; it is about nothing else.
const NoteConfirm = "confirm"

// Note is what a status page notifies its readers, once.
type Note struct {
	Key  string // what it is about, unique for the page
	Kind string // incident.begins, incident.update, incident.ends, maintenance.begins, maintenance.ends or NoteConfirm
	// Title and Body are in the words of the public.
	Title, Body string
	At          time.Time // when it happened
}

// ReaderMessage is a note to a reader that is to be sent now.
type ReaderMessage struct {
	NoteID uuid.UUID
	Note   Note
	Reader Reader
	// PageTitle and Slug are those of the page; Host is that of its own, empty without one.
	PageTitle, Slug, Host string
	Attempt               int // 1 for the first
}

// ReaderOutcome is what came of an attempt. The zero value: the message arrived.
type ReaderOutcome struct {
	Failed bool
	// Unknown: it may have arrived, so it is not sent again.
	Unknown bool
	// Unsent: nothing was sent, so the attempt does not count. It is made again at NextAttemptAt.
	Unsent bool
	// NextAttemptAt is when it is sent again; nil: not any more.
	NextAttemptAt *time.Time
	// Error says why, without an address.
	Error string
}
