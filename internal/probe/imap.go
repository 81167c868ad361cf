// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"github.com/vigil-monitor/vigil/internal/timing"
)

const (
	firstPoll = 100 * time.Millisecond // between two polls of the mailbox
	lastPoll  = 2 * time.Second        // what it grows to
	leftovers = 24 * time.Hour         // age of undelivered messages of earlier runs that are deleted, too
	maxDelete = 100                    // messages that one run deletes
)

// mailbox is a session with an IMAP server, logged in if the config says how.
type mailbox struct {
	client *imapclient.Client
	conn   *mailConn
	end    context.CancelFunc
}

// close ends the session, politely if the server is quick.
func (m *mailbox) close() {
	logout := m.client.Logout()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = logout.Wait()
	}()
	timer := time.NewTimer(200 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
	m.end()
	_ = m.client.Close()
	<-done
}

// openMailbox connects, logs in and selects the mailbox. The session then lasts
// as long as ctx.
func (p mailProbe) openMailbox(ctx context.Context, t *timeline, seen *MailMetadata) (*mailbox, error) {
	life, end := context.WithCancel(ctx)
	var box *mailbox
	err := limited(ctx, p.dialog, t, func(dialog context.Context) error {
		defer context.AfterFunc(dialog, func() {
			if errors.Is(dialog.Err(), context.DeadlineExceeded) {
				end()
			}
		})()
		t.step("connecting to the IMAP server")
		since := time.Now()
		client, conn, err := p.greetIMAP(life, t, seen)
		if err != nil {
			return err
		}
		box = &mailbox{client: client, conn: conn, end: end}
		seen.Phases.IMAPConnect = lap(&since)
		if p.imap.username == "" {
			return nil
		}
		t.step("logging in to the IMAP server")
		if err := client.Login(p.imap.username, p.imap.password).Wait(); err != nil {
			return imapError(err, conn)
		}
		seen.Phases.IMAPLogin = lap(&since)
		t.step("opening the mailbox")
		if _, err := client.Select(p.config.IMAP.Mailbox, &imap.SelectOptions{ReadOnly: !p.roundTrip}).Wait(); err != nil {
			return imapError(err, conn)
		}
		seen.Phases.IMAPSelect = lap(&since)
		return nil
	})
	if err != nil {
		end()
		if box != nil {
			_ = box.client.Close()
		}
		return nil, err
	}
	return box, nil
}

// greetIMAP connects and waits for the greeting, through STARTTLS if asked.
func (p mailProbe) greetIMAP(ctx context.Context, t *timeline, seen *MailMetadata) (*imapclient.Client, *mailConn, error) {
	conn, days, err := p.connect(ctx, t, protocolIMAP, p.imap)
	if err != nil {
		return nil, nil, imapError(err, nil)
	}
	seen.IMAPCertDays = days
	t.step("waiting for the IMAP server's greeting")
	client := imapclient.New(conn, nil)
	if err := client.WaitGreeting(); err != nil {
		_ = client.Close()
		return nil, nil, imapError(err, conn)
	}
	return client, conn, nil
}

// await looks for the marked message until it is there, and deletes it.
func (p mailProbe) await(ctx context.Context, t *timeline, box *mailbox, marker string, seen *MailMetadata) error {
	t.step("waiting for the message in the mailbox")
	sent := time.Now()
	wait := firstPoll
	for {
		found, err := box.find(&imap.SearchCriteria{Header: []imap.SearchCriteriaHeaderField{{Key: "Subject", Value: marker}}})
		if err != nil {
			return err
		}
		if len(found) > 0 {
			seen.DeliveryMS = lap(&sent)
			seen.Deleted = box.remove(found)
			box.removeLeftovers()
			return nil
		}
		if time.Since(sent)+wait > p.delivery {
			return fail("the message did not arrive in the mailbox within %s", humanDuration(p.delivery))
		}
		if err := timing.Sleep(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, lastPoll)
	}
}

// find returns the messages that fulfil the criteria, as ranges: expanding what
// a server claims could take any amount of memory.
func (m *mailbox) find(criteria *imap.SearchCriteria) (imap.UIDSet, error) {
	// Some servers look for new mail only when something else is asked.
	if err := m.client.Noop().Wait(); err != nil {
		return nil, imapError(err, m.conn)
	}
	data, err := m.client.UIDSearch(criteria, nil).Wait()
	if err != nil {
		return nil, imapError(err, m.conn)
	}
	found, _ := data.All.(imap.UIDSet)
	return found, nil
}

// remove deletes messages and reports whether they are gone. Without UIDPLUS
// (RFC 4315) expunging would also remove what the mailbox's owner has marked, so
// they are only marked.
func (m *mailbox) remove(messages imap.UIDSet) bool {
	if !few(messages) {
		return false
	}
	mark := &imap.StoreFlags{Op: imap.StoreFlagsAdd, Silent: true, Flags: []imap.Flag{imap.FlagDeleted, imap.FlagSeen}}
	if m.client.Store(messages, mark, nil).Close() != nil {
		return false
	}
	if caps := m.client.Caps(); !caps.Has(imap.CapUIDPlus) {
		return false
	}
	return m.client.UIDExpunge(messages).Close() == nil
}

// few reports whether a set is small enough to be what it should be.
func few(messages imap.UIDSet) bool {
	count := uint64(0)
	for _, span := range messages {
		if span.Start == 0 || span.Stop < span.Start {
			return false
		}
		count += uint64(span.Stop-span.Start) + 1
	}
	return count <= maxDelete
}

// removeLeftovers deletes what earlier runs did not wait for.
func (m *mailbox) removeLeftovers() {
	old, err := m.find(&imap.SearchCriteria{
		Header: []imap.SearchCriteriaHeaderField{{Key: "Subject", Value: subjectStart}, {Key: "Message-ID", Value: "@" + heloName}},
		Before: time.Now().Add(-leftovers),
	})
	if err == nil && len(old) > 0 {
		m.remove(old)
	}
}

// imapError words what the server answered, or what went wrong on the connection: the library
// keeps only the text of what it met while it read.
func imapError(err error, conn *mailConn) error {
	if known, ok := errors.AsType[verdict](err); ok {
		return known
	}
	if answer, ok := errors.AsType[*imap.Error](err); ok {
		return fail("the IMAP server answered %s %s", answer.Type, clip(answer.Text, 2*maxShown))
	}
	met := err
	if conn != nil {
		met = cmp.Or(conn.met(), err)
	}
	switch {
	case errors.Is(met, errTooMuch):
		return fail("the IMAP server sent more than %d KiB", maxSessionBytes>>10)
	case errors.Is(met, errNesting):
		return fail("the IMAP server sent lists that are nested too deeply")
	case conn != nil && isMalformedIMAP(err) && (conn.met() == nil || errors.Is(met, io.EOF)):
		return fail("the server did not answer with IMAP: it began with %q, expected * OK", conn.beginning())
	}
	return fmt.Errorf("imap: %w", met)
}

// isMalformedIMAP reports whether the library could not read a line.
func isMalformedIMAP(err error) bool {
	text := err.Error()
	return strings.Contains(text, "in response") || strings.Contains(text, "in continue-req") || strings.Contains(text, "imapwire: ")
}
