// SPDX-License-Identifier: Apache-2.0

package statuspage_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/internal/statuspage"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestAStopLetsMessagesEnd: what is under way when a process stops is sent and stored, and nothing else is begun.
func TestAStopLetsMessagesEnd(t *testing.T) {
	t.Parallel()
	s := newNotified(t, "reader@example.com")
	before, after := make(chan struct{}), make(chan struct{})
	claimed := make(chan struct{})
	s.outbox.hangs(func(statuspage.Letter) (_, _ <-chan struct{}) {
		close(claimed)
		return before, after
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.teller.Run(ctx)
	}()
	<-claimed
	stop()
	close(before)
	timingtest.Eventually(t, 5*time.Second, "the message is handed over", func() bool { return s.outbox.sent() == 1 })
	close(after)
	<-ended
	if n := s.count(t, `SELECT count(*) FROM status_page_messages AS m JOIN status_page_notes AS n ON n.id = m.note_id
		WHERE n.kind = 'incident.begins' AND m.status = 'delivered'`); n != 1 {
		t.Errorf("%d messages are delivered, want 1", n)
	}
}

// lapsing is a store that fails as often as it is asked to.
type lapsing struct {
	statuspage.TellerStore
	// hands fail after the change was made, as where its answer is lost; ends before.
	hands, ends atomic.Int64
}

var errLapse = errors.New("the connection was lost")

func (l *lapsing) HandReaderMessage(ctx context.Context, noteID, readerID uuid.UUID) error {
	if err := l.TellerStore.HandReaderMessage(ctx, noteID, readerID); err != nil || l.hands.Add(-1) < 0 {
		return err
	}
	return errLapse
}

func (l *lapsing) ReaderMessageEnded(ctx context.Context, noteID, readerID uuid.UUID, outcome overview.ReaderOutcome) error {
	if l.ends.Add(-1) >= 0 {
		return errLapse
	}
	return l.TellerStore.ReaderMessageEnded(ctx, noteID, readerID, outcome)
}

// TestALapseOfTheStoreLosesNoMessage: one that failed is tried again also where that could not be stored at once, and one
// whose attempt could not be noted was not sent: it follows soon, and the attempt does not count.
func TestALapseOfTheStoreLosesNoMessage(t *testing.T) {
	t.Parallel()
	s := newNotified(t, "reader@example.com")
	store := &lapsing{TellerStore: s.store}
	s.teller.Store = store

	store.hands.Store(1)
	if err := s.teller.Tell(t.Context()); !errors.Is(err, errLapse) || len(s.outbox.take()) != 0 {
		t.Errorf("an attempt that could not be noted: %v", err)
	}
	store.hands.Store(0)
	s.advance(5 * time.Second)
	store.ends.Store(1)
	s.outbox.then = func(statuspage.Letter) statuspage.Sent { return statuspage.Sent{Err: errors.New("away")} }
	if letters := s.tell(t); len(letters) != 1 {
		t.Fatalf("5 s later: %d letters, want 1", len(letters))
	}
	s.outbox.then = nil
	s.advance(time.Hour)
	if letters := s.tell(t); len(letters) != 1 {
		t.Errorf("an hour later: %d letters, want 1", len(letters))
	}
	if n := s.count(t, "SELECT attempts FROM status_page_messages WHERE status = 'delivered' AND attempts > 1"); n != 2 {
		t.Errorf("%d attempts, want 2", n)
	}
}
