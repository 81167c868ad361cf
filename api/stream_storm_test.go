// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/internal/account"
)

// tally is what a subscriber saw that it must not have seen.
type tally struct {
	lost, duplicate, disorder, foreign, connections atomic.Int64
}

// subscriber follows a stream through any number of interruptions.
type subscriber struct {
	person
	urls  []string
	query string
	rand  *rand.Rand
	seen  int64 // seq of the newest event
	last  string
	tally *tally
	// ready is called once the first stream is open.
	ready func()
}

// run reads until it has seen the event with the last seq, and leaves after a
// random number of events again and again.
func (s *subscriber) run(ctx context.Context, last func() int64) error {
	for {
		f, res, err := follow(ctx, s.urls[s.rand.IntN(len(s.urls))], s.key, s.query, s.last)
		if err != nil {
			return err
		}
		if f == nil {
			return fmt.Errorf("refused: %s", res.Status)
		}
		s.tally.connections.Add(1)
		done, err := s.read(f, s.rand.IntN(12), last)
		f.cancel()
		s.last = f.last
		if done || err != nil {
			return err
		}
	}
}

func (s *subscriber) read(f *follower, events int, last func() int64) (done bool, err error) {
	for {
		one, err := f.next(30 * time.Second)
		switch {
		case errors.Is(err, errStreamEnded):
			return false, nil
		case err != nil:
			return false, fmt.Errorf("behind %q: %w", f.last, err)
		}
		if one.data == "" {
			if s.ready != nil {
				s.ready()
				s.ready = nil
			}
			if events == 0 {
				return false, nil // before the first event
			}
			continue
		}
		if err := s.note(one); err != nil {
			return false, err
		}
		if s.seen == last() {
			return true, nil
		}
		if events--; events <= 0 {
			return false, nil
		}
	}
}

// note compares an event with what should have come.
func (s *subscriber) note(one frame) error {
	at, err := vigil.ParsePosition("id", one.id)
	if err != nil {
		return err
	}
	switch {
	case at.Seq == s.seen:
		s.tally.duplicate.Add(1)
	case at.Seq < s.seen:
		s.tally.disorder.Add(1)
	case at.Seq > s.seen+1:
		s.tally.lost.Add(at.Seq - s.seen - 1)
	}
	s.seen = max(s.seen, at.Seq)
	if !strings.Contains(one.data, `"organization":{"id":"`+s.org.String()+`"`) {
		s.tally.foreign.Add(1)
	}
	return nil
}

// TestStreamStorm lets 50 subscribers come and go at random while incidents of
// two organizations open and end, on two API processes.
func TestStreamStorm(t *testing.T) {
	t.Parallel()
	const subscribers, checks = 50, 6
	episodes := 25
	if testing.Short() {
		episodes = 8
	}
	config := api.StreamConfig{PerKey: 1000, PerOrganization: 1000} // a place is free a moment after its client left
	s := setupStream(t, config)
	second := s.streaming(t, config)
	// Coming and going must not meet the limit of requests.
	orgs := []person{s.tier(t, s.signup(t), account.TierEnterprise), s.tier(t, s.signup(t), account.TierEnterprise)}
	want := int64(checks * episodes * 2)

	var counts tally
	var waiting errgroup.Group
	ready := make(chan struct{}, subscribers)
	for i := range subscribers {
		one := &subscriber{
			person: orgs[i%len(orgs)], urls: []string{s.url, second.url}, rand: rand.New(rand.NewPCG(7, uint64(i))), tally: &counts,
			ready: func() { ready <- struct{}{} },
		}
		if i%3 == 0 {
			one.query = "?since=0-0" // as an EventSource keeps its address
		}
		waiting.Go(func() error { return one.run(t.Context(), func() int64 { return want }) })
	}
	for range subscribers {
		select {
		case <-ready:
		case <-time.After(30 * time.Second):
			t.Fatal("not everybody could connect")
		}
	}
	var writing errgroup.Group
	for _, org := range orgs {
		for range checks {
			e := s.episode(t, org)
			writing.Go(func() error { return e.repeat(t.Context(), episodes) })
		}
	}
	if err := errors.Join(writing.Wait(), waiting.Wait()); err != nil {
		t.Fatal(err)
	}
	t.Logf(
		"subscribers %d, connections %d, events %d, lost %d, duplicate %d, out of order %d, foreign %d",
		subscribers,
		counts.connections.Load(),
		want*int64(len(orgs)),
		counts.lost.Load(),
		counts.duplicate.Load(),
		counts.disorder.Load(),
		counts.foreign.Load(),
	)
	if counts.lost.Load()+counts.duplicate.Load()+counts.disorder.Load()+counts.foreign.Load() != 0 {
		t.Error("the stream was not what happened")
	}
}
