// SPDX-License-Identifier: Apache-2.0

package stream_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/humatest"
	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/stream"
)

// burstStore has one event more with each wake.
type burstStore struct {
	org   uuid.UUID
	every time.Duration
	burst int

	newest atomic.Int64
}

func (s *burstStore) EventsAfter(_ context.Context, _ uuid.UUID, after vigil.Position, _ time.Time, limit int) ([]vigil.Event, error) {
	var events []vigil.Event
	for seq := after.Seq + 1; seq <= s.newest.Load() && len(events) < limit; seq++ {
		events = append(events, vigil.Event{Position: vigil.Position{MS: 1, Seq: seq}, Type: "incident.triggered", Envelope: []byte("{}")})
	}
	return events, nil
}

func (s *burstStore) StreamBounds(context.Context, uuid.UUID, time.Time) (oldest, newest vigil.Position, err error) {
	return vigil.Position{MS: 1, Seq: 1}, vigil.Position{MS: 1, Seq: s.newest.Load()}, nil
}

func (s *burstStore) StreamHeads(context.Context, []uuid.UUID) (map[uuid.UUID]vigil.Position, error) {
	return nil, nil //nolint:nilnil // nothing was missed
}

func (s *burstStore) ListenEvents(ctx context.Context, wake func(uuid.UUID)) error {
	time.Sleep(time.Second) // sleep: in a bubble only, until the streams are open
	for range s.burst {
		s.newest.Add(1)
		wake(s.org)
		time.Sleep(s.every) // sleep: in a bubble only
	}
	<-ctx.Done()
	return ctx.Err()
}

// counting counts what streams get.
type counting struct {
	*httptest.ResponseRecorder
	*counts
}

type counts struct {
	events, writes atomic.Int64
	first          atomic.Int64 // when the first event came, in nanoseconds
}

func (c counting) Write(text []byte) (int, error) {
	c.writes.Add(1)
	if n := bytes.Count(text, []byte("event: ")); n > 0 {
		c.first.CompareAndSwap(0, time.Now().UnixNano())
		c.events.Add(int64(n))
	}
	return len(text), nil
}

// TestManyStreamsTakeABurstTogether tests that a burst of events reaches many streams
// whole, its first event at once, and in few steps.
func TestManyStreamsTakeABurstTogether(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		streams  int
		min, max int64 // writes to each
	}{
		"Many": {1000, 3, 6},
		"Few":  {2, 100, 102},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const burst = 100
				store := &burstStore{org: uuid.New(), every: 2 * time.Millisecond, burst: burst}
				log := slog.New(slog.DiscardHandler)
				hub := stream.NewHub(store, stream.Config{PerKey: 2000, PerOrganization: 2000}, log, time.Now)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				got := &counts{}
				began := time.Now()
				for range test.streams {
					answer, err := hub.Serve(ctx, stream.Subscription{
						Org: store.org, Key: uuid.Nil, Log: log,
						Authorized: func(context.Context, func(string) string) bool { return true },
					})
					if err != nil {
						t.Fatal(err)
					}
					request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
					go answer.Body(humatest.NewContext(&huma.Operation{}, request, counting{httptest.NewRecorder(), got}))
				}
				time.Sleep(3 * time.Second)
				if n, want := got.events.Load(), int64(burst*test.streams); n != want {
					t.Errorf("%d events were received, want %d", n, want)
				}
				if after := time.Duration(got.first.Load() - began.UnixNano()); after > time.Second+time.Millisecond {
					t.Errorf("the first event came %v after the start, want it at once after a second", after)
				}
				if n := got.writes.Load() / int64(test.streams); n < test.min || n > test.max {
					t.Errorf("%d writes to each of %d streams for %d events, want %d to %d", n, test.streams, burst, test.min, test.max)
				}
				cancel()
				hub.Close()
				synctest.Wait()
			})
		})
	}
}
