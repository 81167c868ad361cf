package e2e_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
)

// listener is a subscriber of the alert stream that loses its connection all the
// time, and goes on behind the last event that it saw.
type listener struct {
	client client
	mu     sync.Mutex
	seen   []string // ids of events, in the order of their arrival
	last   string   // newest id, of an event or of an empty frame
}

// listeners open so many streams, from the beginning of the buffer. stop ends
// them and returns once they have ended.
func listeners(c client, count int) (all []*listener, stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.t.Context()))
	var running sync.WaitGroup
	for range count {
		l := &listener{client: c}
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

// listen holds one connection until it breaks, or for a random time.
func (l *listener) listen(ctx context.Context) {
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
		return // the API is away
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
		case strings.HasPrefix(line, "event: incident."):
			event = true
		case line == "" && id != "": // a frame is whole only at its empty line
			l.mu.Lock()
			if l.last = id; event {
				l.seen = append(l.seen, id)
			}
			l.mu.Unlock()
			id, event = "", false
		}
	}
}

func (l *listener) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.seen)
}

// judgeListeners compares what every listener saw with the stored events.
func (d *drama) judgeListeners(all []*listener) {
	d.t.Helper()
	events := d.storedEvents()
	eventually(d.t, "every listener has seen as many events as there are", func() bool {
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
		d.t.Error("the stream does not tell the stored story")
	}
}

// storedEvents are the ids of all events, in their order.
func (d *drama) storedEvents() []string {
	d.t.Helper()
	db, err := sql.Open("pgx", d.dsn)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(d.t.Context(), `SELECT ms, seq FROM events ORDER BY ms, seq`)
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
