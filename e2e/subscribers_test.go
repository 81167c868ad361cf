// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
)

// subscriber is a client of the alert stream that reconnects often and resumes
// after the last event it received.
type subscriber struct {
	client client
	mu     sync.Mutex
	seen   []string // ids of events, in the order of their arrival
	last   string   // newest id, of an event or of an empty frame
}

// subscribe opens count streams from the beginning of the buffer. stop closes
// them and returns when all are closed.
func subscribe(c client, count int) (all []*subscriber, stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.t.Context()))
	var running sync.WaitGroup
	for range count {
		l := &subscriber{client: c}
		all = append(all, l)
		running.Go(func() {
			for ctx.Err() == nil {
				l.listen(ctx)
				select {
				case <-ctx.Done():
				case <-time.After(100 * time.Millisecond):
				}
			}
		})
	}
	return all, func() {
		cancel()
		running.Wait()
	}
}

// listen reads from one connection until it breaks or a random time has passed.
func (l *subscriber) listen(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(500+rand.IntN(4000))*time.Millisecond)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, l.client.url+"/v1/stream/alerts?since=0-0", nil)
	if err != nil {
		l.client.t.Error(err)
		return
	}
	request.Header.Set("Authorization", "Bearer "+l.client.key)
	if l.last != "" {
		request.Header.Set("Last-Event-ID", l.last)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return // the API is unreachable
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return
	}
	var id string
	var event bool
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 256<<10)
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "id: "):
			id = strings.TrimPrefix(line, "id: ")
		case strings.HasPrefix(line, "event: ") && line != "event: stream.gap":
			event = true
		case line == "" && id != "": // an empty line ends a frame
			l.mu.Lock()
			if l.last = id; event {
				l.seen = append(l.seen, id)
			}
			l.mu.Unlock()
			id, event = "", false
		}
	}
}

func (l *subscriber) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.seen)
}

// verifyStreams compares the events of every subscriber with the stored ones.
func (d *alertScenario) verifyStreams(all []*subscriber) {
	d.t.Helper()
	events := d.storedEvents()
	eventually(d.t, "every subscriber has as many events as are stored", func() bool {
		for _, l := range all {
			if l.count() < len(events) {
				return false
			}
		}
		return true
	})
	lost, duplicate, outOfOrder, foreign := 0, 0, 0, 0
	place := make(map[string]int, len(events))
	for i, id := range events {
		place[id] = i
	}
	for _, l := range all {
		times := make(map[string]int, len(events))
		newest := -1
		for _, id := range l.seen {
			at, known := place[id]
			if !known {
				foreign++
				continue
			}
			if times[id]++; times[id] > 1 {
				duplicate++
			} else if at < newest {
				outOfOrder++
			}
			newest = max(newest, at)
		}
		lost += len(events) - len(times)
	}
	d.t.Logf("stream: %d events, %d subscribers: lost %d, duplicate %d, out of order %d, foreign %d",
		len(events), len(all), lost, duplicate, outOfOrder, foreign)
	if lost+duplicate+outOfOrder+foreign > 0 || len(events) == 0 {
		d.t.Error("the streams differ from the stored events")
	}
}

// storedEvents returns the ids of all events in stream order.
func (d *alertScenario) storedEvents() []string {
	d.t.Helper()
	rows, err := d.db.QueryContext(d.t.Context(), `SELECT ms, seq FROM events ORDER BY ms, seq`)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var ids []string
	for rows.Next() {
		var ms, seq int64
		if err := rows.Scan(&ms, &seq); err != nil {
			d.t.Fatal(err)
		}
		ids = append(ids, fmt.Sprintf("%d-%d", ms, seq))
	}
	if err := rows.Err(); err != nil {
		d.t.Fatal(err)
	}
	return ids
}
