// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/vigil-monitor/vigil/internal/agentlink"
)

// Spool is a spool for tests.
type Spool struct{ *spool }

// Item is a result for tests.
type Item struct {
	JSON string
	Slot time.Time
	Calm bool
}

// OpenSpool opens a spool.
func OpenSpool(ctx context.Context, dir string, bound int64, now time.Time) (*Spool, error) {
	s, err := openSpool(ctx, dir, bound, now, slog.New(slog.DiscardHandler))
	return &Spool{s}, err
}

// Write writes results.
func (s *Spool) Write(sent bool, items ...Item) error {
	var all []item
	for _, one := range items {
		all = append(all, item{json: []byte(one.JSON), slot: one.Slot, calm: one.Calm})
	}
	return s.write(all, sent)
}

// Take returns the first results to send and takes them as sent.
func (s *Spool) Take(most int) (found []Item, err error) {
	first, err := s.head(most, 1<<20)
	for _, one := range first.items {
		found = append(found, Item{string(one.json), one.slot, one.calm})
	}
	if err != nil || len(found) == 0 {
		return found, err
	}
	return found, s.acknowledge(first)
}

// Close closes the spool.
func (s *Spool) Close() error { return s.close() }

// Resend takes back what was sent.
func (s *Spool) Resend() (int, error) { return s.resend() }

// Expire drops what is too old.
func (s *Spool) Expire(now time.Time) { s.expire(now) }

// State returns what is to be sent, and Bytes how much all files have.
func (s *Spool) State() agentlink.Spool { return s.state() }

// Bytes returns how many bytes all files have.
func (s *Spool) Bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

// Event is an event of a stream for tests.
type Event struct{ ID, Name, Data string }

// ReadEvents reads a stream until it ends.
func ReadEvents(from io.Reader) (found []Event, err error) {
	r := newEventReader(from, func() {})
	for {
		one, err := r.next()
		if err != nil {
			return found, err
		}
		found = append(found, Event{one.id, one.name, string(one.data)})
	}
}

// Clock is the corrected clock for tests.
type Clock struct{ *clock }

// NewClock returns one.
func NewClock(own func() time.Time, log io.Writer) *Clock {
	return &Clock{&clock{own: own, log: slog.New(slog.NewTextHandler(log, nil))}}
}

// Observe takes a round trip.
func (c *Clock) Observe(sent, received, platform time.Time) {
	c.observe(sent, received, platform)
}
