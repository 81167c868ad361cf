// SPDX-License-Identifier: Apache-2.0

package statuspage_test

import (
	"context"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/statuspage"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestAStopLetsMessagesEnd: what is under way when a process stops is sent and stored, and nothing else is begun.
func TestAStopLetsMessagesEnd(t *testing.T) {
	t.Parallel()
	s := newSite(t, "Checkout")
	s.open(t)
	s.subscribes(t, "reader@example.com")
	s.incident(t, s.check(0), vigil.KeyFailureThreshold, s.now(), time.Time{}, newark)
	s.advance(time.Second)
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
