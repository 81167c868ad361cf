// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing"
)

// receiverSecret signs the requests to the receiver of a drill.
const receiverSecret = "a secret of the receiver of a cluster's drills"

// outside is what a cluster has around it: the targets that are probed, and the receiver of webhooks.
type outside struct {
	mu     sync.Mutex
	broken bool
	// events are the ids of events that arrived, by incident and type; forged counts requests that are not signed.
	events map[string]map[string][]string
	forged int
}

func (o *outside) setBroken(broken bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.broken = broken
}

// ServeHTTP answers probes at /steady/ and /flapping/, and webhooks at /hook.
func (o *outside) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/hook" {
		o.receive(w, r)
		return
	}
	o.mu.Lock()
	broken := o.broken && strings.HasPrefix(r.URL.Path, "/flapping/")
	o.mu.Unlock()
	if broken {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

func (o *outside) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return
	}
	mac := hmac.New(sha256.New, []byte(receiverSecret))
	mac.Write(body)
	var event struct {
		ID   string `json:"id"`
		Type string `json:"type"`
		Data struct {
			Incident struct {
				ID string `json:"id"`
			} `json:"incident"`
		} `json:"data"`
	}
	signed := r.Header.Get("X-Service-Signature") == "sha256="+hex.EncodeToString(mac.Sum(nil))
	o.mu.Lock()
	defer o.mu.Unlock()
	if !signed || json.Unmarshal(body, &event) != nil || event.ID == "" {
		o.forged++
		w.WriteHeader(http.StatusForbidden)
		return
	}
	of := o.events[event.Data.Incident.ID]
	if of == nil {
		of = make(map[string][]string)
		o.events[event.Data.Incident.ID] = of
	}
	if !slices.Contains(of[event.Type], event.ID) { // a repeated message has the same id
		of[event.Type] = append(of[event.Type], event.ID)
	}
	w.WriteHeader(http.StatusNoContent)
}

// arrived is how many different events of a type arrived about an incident.
func (o *outside) arrived(incident, kind string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.events[incident][kind])
}

// answers measures how long the API does not answer.
type answers struct {
	mu   sync.Mutex
	last time.Time // of an answer
	away time.Duration
}

func (a *answers) note(at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.last.IsZero() {
		a.away = max(a.away, at.Sub(a.last))
	}
	a.last = at
}

// take returns the longest time between two answers since the last call, or since the last answer where that is longer.
func (a *answers) take(now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	away := a.away
	if !a.last.IsZero() {
		away = max(away, now.Sub(a.last))
	}
	a.away = 0
	return away
}

// reader reads the API through the proxy five times a second.
type reader struct{ answers }

func (r *reader) run(ctx context.Context, c *Cluster) {
	for ctx.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := c.call(limited, http.MethodGet, "/v1/checks?limit=1", nil, nil)
		cancel()
		if err == nil {
			r.note(time.Now())
		}
		_ = timing.Sleep(ctx, 200*time.Millisecond)
	}
}

// writer creates channels, and remembers those that were acknowledged.
type writer struct {
	answers

	prefix string
	mu     sync.Mutex
	names  []string
}

func (w *writer) run(ctx context.Context, c *Cluster) {
	for n := 0; ctx.Err() == nil; n++ {
		name := fmt.Sprintf("%s %d", w.prefix, n)
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := c.call(limited, http.MethodPost, "/v1/notification-channels", map[string]any{
			"name": name, "type": "webhook", "config": map[string]any{"url": c.outsideURL() + "/hook", "secret": receiverSecret},
		}, nil)
		cancel()
		if err == nil {
			w.note(time.Now())
			w.mu.Lock()
			w.names = append(w.names, name)
			w.mu.Unlock()
		}
		_ = timing.Sleep(ctx, 500*time.Millisecond)
	}
}

func (w *writer) acknowledged() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.names)
}

// forget drops names that were acknowledged, which are gone from now on.
func (w *writer) forget(names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names = slices.DeleteFunc(w.names, func(name string) bool { return slices.Contains(names, name) })
}

// listener reads the alert stream and resumes it where it broke.
type listener struct {
	mu   sync.Mutex
	last string
	seqs []int64 // of events, as they came
}

func (l *listener) run(ctx context.Context, c *Cluster) {
	for ctx.Err() == nil {
		l.listen(ctx, c)
		_ = timing.Sleep(ctx, 200*time.Millisecond)
	}
}

// streamSilence is after how long without a line a stream is opened again. The stream has a comment every 15 s.
const streamSilence = 40 * time.Second

func (l *listener) listen(ctx context.Context, c *Cluster) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silent := time.AfterFunc(streamSilence, cancel)
	defer silent.Stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.APIURL()+"/v1/stream/alerts?since=0-0", nil)
	if err != nil {
		return
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	if l.last != "" {
		request.Header.Set("Last-Event-ID", l.last)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return
	}
	var id string
	var event bool
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		silent.Reset(streamSilence)
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "id: "):
			id = strings.TrimPrefix(line, "id: ")
		case strings.HasPrefix(line, "event: ") && line != "event: stream.gap":
			event = true
		case line == "" && id != "": // an empty line ends an event
			l.keep(id, event)
			id, event = "", false
		}
	}
}

func (l *listener) keep(id string, event bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = id
	if !event {
		return
	}
	_, text, _ := strings.Cut(id, "-")
	if seq, err := strconv.ParseInt(text, 10, 64); err == nil {
		l.seqs = append(l.seqs, seq)
	}
}

// missed is how many events up to a number the stream has not shown once each, in their order.
func (l *listener) missed(newest int64) (n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := int64(1)
	for _, seq := range l.seqs {
		if seq > newest {
			break
		}
		if seq != next {
			n++
		}
		next = seq + 1
	}
	return n + max(0, newest+1-next)
}
