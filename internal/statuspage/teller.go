// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/internal/timing"
)

// TellerStore keeps what is notified to readers.
type TellerStore interface {
	StatusReport(ctx context.Context, slug string, since time.Time) (overview.StatusReport, error)
	PagesWithReaders(ctx context.Context) ([]string, error)
	Notes(ctx context.Context, pageID uuid.UUID) (map[string]overview.Note, error)
	TellReaders(ctx context.Context, pageID uuid.UUID, notes []overview.Note) (int, error)
	ClaimReaderMessages(ctx context.Context, limit int) ([]overview.ReaderMessage, error)
	// HandReaderMessage is CodeNotFound for a message that must not be sent.
	HandReaderMessage(ctx context.Context, noteID, readerID uuid.UUID) error
	ReaderMessageEnded(ctx context.Context, noteID, readerID uuid.UUID, outcome overview.ReaderOutcome) error
	ConfirmReader(ctx context.Context, id uuid.UUID) error
	RemoveReader(ctx context.Context, id uuid.UUID) error
	DropReaders(ctx context.Context) error
}

// Sent is what came of handing a message over.
type Sent struct {
	Err error // nil: it arrived
	// Final: it is not sent again. Unknown: it may have arrived, so it is not either. Gone: the
	// receiver wants no message any more.
	Final, Unknown, Gone bool
	RetryAfter           time.Duration
	// Answer is the beginning of what a webhook answered.
	Answer string
}

// Letter is a message to a reader, in the form of its kind.
type Letter struct {
	// ID is the same on every attempt.
	ID      uuid.UUID
	To      overview.Reader
	Subject string
	Text    string
	// Button is what the button of the address in Text says.
	Button string
	// Leave is the address that unsubscribes; empty in a question.
	Leave string
	// Event and Body are the type and the body of a webhook's message.
	Event string
	Body  []byte
}

// TellerOptions are what a Teller needs.
type TellerOptions struct {
	Store TellerStore
	// Send hands a message over. begins is called right before that; an error of it keeps the message
	// from being sent.
	Send      func(ctx context.Context, letter Letter, begins func() error) Sent
	Schedule  vigil.RetrySchedule
	PublicURL string // without a trailing slash
	Tokens    Tokens
	Random    func() float64
	Now       func() time.Time
	Log       *slog.Logger
}

// Teller notifies readers what their pages say. Any number of them may work on one store.
type Teller struct{ TellerOptions }

// NewTeller returns a Teller.
func NewTeller(opts TellerOptions) *Teller { return &Teller{opts} }

const (
	// tellEvery is how often a Teller looks for news and for messages that are due.
	tellEvery = 5 * time.Second
	// tellBatch is how many messages are claimed at a time. They are sent side by side, so that a receiver that
	// hangs does not hold up the others for longer than one attempt takes.
	tellBatch = 32
	// stopPatience is how long messages under way have to end once the process stops: less than a process has to stop.
	stopPatience = 9 * time.Second
	// The patience with a store that does not answer: one change before a message is handed over, and what is stored after it.
	storeTimeout = 5 * time.Second
	storeLonger  = 10 * time.Second
	storePause   = time.Second
	// dropEvery is how many rounds are between two deletions of what is old.
	dropEvery = 120
)

// Run notifies until the context ends. It returns when the messages under way have ended, 9 s later at most, and what came of them is
// stored, for which it tries for 10 s.
func (t *Teller) Run(ctx context.Context) {
	for round := 0; ctx.Err() == nil; round++ {
		if err := t.Tell(ctx); err != nil && ctx.Err() == nil {
			t.Log.WarnContext(ctx, "subscribers of status pages were not notified", "error", err)
		}
		if round%dropEvery == 0 {
			if err := t.Store.DropReaders(ctx); err != nil && ctx.Err() == nil {
				t.Log.WarnContext(ctx, "old subscribers were not deleted", "error", err)
			}
		}
		timer := time.NewTimer(tellEvery)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// Tell stores what is new on pages with readers, and sends what is due.
func (t *Teller) Tell(ctx context.Context) error {
	slugs, err := t.Store.PagesWithReaders(ctx)
	errs := []error{err}
	for _, slug := range slugs {
		errs = append(errs, t.note(ctx, slug))
	}
	for {
		due, err := t.Store.ClaimReaderMessages(ctx, tellBatch)
		errs = append(errs, err)
		var sending errgroup.Group
		for i := range due {
			sending.Go(func() error { return t.send(ctx, &due[i]) })
		}
		errs = append(errs, sending.Wait())
		if err != nil || len(due) == 0 || ctx.Err() != nil { // a reader's next message follows its last one
			return errors.Join(errs...)
		}
	}
}

// note stores what is new on a page.
func (t *Teller) note(ctx context.Context, slug string) error {
	now := t.Now()
	report, err := t.Store.StatusReport(ctx, slug, now.Add(-2*overview.NoteAge))
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		return nil // closed meanwhile
	}
	if err != nil {
		return err
	}
	notified, err := t.Store.Notes(ctx, report.Page.ID)
	if err != nil {
		return err
	}
	notes := notesOf(&report, notified, now)
	if len(notes) == 0 {
		return nil
	}
	_, err = t.Store.TellReaders(ctx, report.Page.ID, notes)
	return err
}

// send makes an attempt.
func (t *Teller) send(ctx context.Context, m *overview.ReaderMessage) error {
	letter, challenge, err := t.letter(m)
	if err != nil {
		return err
	}
	refused := error(nil)
	sending, cancel := outlasting(ctx, stopPatience)
	defer cancel()
	sent := t.Send(sending, letter, func() error {
		handing, cancel := context.WithTimeout(sending, storeTimeout)
		defer cancel()
		refused = t.Store.HandReaderMessage(handing, m.NoteID, m.Reader.ID)
		return refused
	})
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), storeLonger)
	defer cancel()
	switch {
	case vigil.ErrorCode(refused) == vigil.CodeNotFound:
		return nil // unsubscribed meanwhile
	case refused != nil:
		again := overview.ReaderOutcome{Unsent: true, NextAttemptAt: new(t.Now().Add(tellEvery)), Error: "the attempt could not be noted"}
		return errors.Join(refused, t.ended(ctx, m, again))
	case sent.Gone:
		return timing.Repeat(ctx, storePause, func(ctx context.Context) error { return t.Store.RemoveReader(ctx, m.Reader.ID) })
	}
	outcome := overview.ReaderOutcome{Failed: sent.Err != nil, Unknown: sent.Unknown}
	if sent.Err != nil {
		outcome.Error = sent.Err.Error()
		t.Log.WarnContext(ctx, "a message to a subscriber of a status page was not sent",
			"page", m.Slug, "subscriber", m.Reader.ID, "attempt", m.Attempt, "error", outcome.Error)
		if wait, ok := t.Schedule.Wait(m.Attempt, len(t.Schedule)+1, t.Random(), sent.RetryAfter); ok && !sent.Final && !sent.Unknown {
			outcome.NextAttemptAt = new(t.Now().Add(wait))
		}
	}
	if sent.Err == nil && challenge != "" && answers(sent.Answer, challenge) {
		if err := t.confirm(ctx, m); err != nil {
			return err
		}
	}
	return t.ended(ctx, m, outcome)
}

// confirm subscribes a reader who may be, by the plan.
func (t *Teller) confirm(ctx context.Context, m *overview.ReaderMessage) error {
	return timing.Repeat(ctx, storePause, func(ctx context.Context) error {
		err := t.Store.ConfirmReader(ctx, m.Reader.ID)
		if code := vigil.ErrorCode(err); code == vigil.CodePlanLimit || code == vigil.CodeNotFound {
			return nil
		}
		return err
	})
}

// ended stores the outcome of an attempt: what is not stored ends as unknown.
func (t *Teller) ended(ctx context.Context, m *overview.ReaderMessage, outcome overview.ReaderOutcome) error {
	return timing.Repeat(ctx, storePause, func(ctx context.Context) error {
		return t.Store.ReaderMessageEnded(ctx, m.NoteID, m.Reader.ID, outcome)
	})
}

// outlasting returns a context that ends some time after ctx.
func outlasting(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		_ = timing.Sleep(lasting, by)
		cancel()
	})
	return lasting, func() {
		stop()
		cancel()
	}
}
