// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/agentlink"
)

// token is that of the location of a fake platform.
const token = agentlink.TokenPrefix + "0123456789"

// fakePlatform speaks the platform's side of the protocol, from its messages alone.
type fakePlatform struct {
	*httptest.Server

	mu       sync.Mutex
	now      func() time.Time
	epoch    int64
	down     bool          // answers nothing but 503
	accepts  string        // the token
	refuses  string        // results, with this reason
	largest  int           // answers 413 to reports with more results; 0: to none
	slow     time.Duration // before it answers reports
	sessions map[uuid.UUID]*fakeSession
	checks   map[uuid.UUID]*definition
	cursor   int
	changed  chan struct{} // closed by a change
	stored   map[string]agentlink.Result
	order    []agentlink.Result // as they came, for the first time
	doubled  int                // that came again
	reports  []agentlink.Report
	answers  map[uuid.UUID]agentlink.TaskAnswer
	resumed  []string // Last-Event-ID of the streams
	forgets  bool     // every stream begins with all checks
	parts    bool     // each event has one check

	turnedAway int // requests with another token
}

type definition struct {
	agentlink.Check

	config string
	cursor int
	gone   bool
}

type fakeSession struct {
	hello    agentlink.Hello
	key      agentlink.PublicKey
	reported time.Time
	leaving  bool
	tasks    chan agentlink.Task
	dropped  chan struct{}
}

func newFakePlatform(t *testing.T) *fakePlatform {
	t.Helper()
	p := &fakePlatform{
		now: time.Now, accepts: token, sessions: map[uuid.UUID]*fakeSession{}, checks: map[uuid.UUID]*definition{}, changed: make(chan struct{}),
		stored: map[string]agentlink.Result{}, answers: map[uuid.UUID]agentlink.TaskAnswer{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+agentlink.PathSessions, p.open)
	mux.HandleFunc("GET "+agentlink.PathStream, p.stream)
	mux.HandleFunc("POST "+agentlink.PathResults, p.results)
	mux.HandleFunc("POST "+agentlink.PathTask, p.task)
	p.Server = httptest.NewServer(p.guard(mux))
	t.Cleanup(func() {
		p.dropAll()
		p.CloseClientConnections()
		p.Close()
	})
	return p
}

func (p *fakePlatform) with(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (p *fakePlatform) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		down, wrong := p.down, r.Header.Get("Authorization") != "Bearer "+p.accepts
		if wrong {
			p.turnedAway++
		}
		p.mu.Unlock()
		switch {
		case down:
			http.Error(w, `{"detail":"down"}`, http.StatusServiceUnavailable)
		case wrong:
			http.Error(w, `{"detail":"no"}`, http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func answer(w http.ResponseWriter, body any) {
	_ = json.NewEncoder(w).Encode(map[string]any{"data": body})
}

func (p *fakePlatform) open(w http.ResponseWriter, r *http.Request) {
	var hello agentlink.Hello
	if err := json.NewDecoder(r.Body).Decode(&hello); err != nil || hello.Protocol != agentlink.Protocol {
		http.Error(w, "hello", http.StatusBadRequest)
		return
	}
	key, err := agentlink.ParseKey(hello.Key)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	id := uuid.New()
	for known, s := range p.sessions {
		if s.hello.Instance == hello.Instance {
			id = known
		}
	}
	p.sessions[id] = &fakeSession{hello: hello, key: key, tasks: make(chan agentlink.Task, 8), dropped: make(chan struct{})}
	answer(w, agentlink.Welcome{
		Session: id, Location: agentlink.Place{ID: uuid.New(), Key: "loc-office", Name: "Office"}, Time: p.now(), Epoch: p.epoch,
	})
}

func (p *fakePlatform) session(r *http.Request) *fakeSession {
	id, _ := uuid.Parse(r.PathValue("session"))
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sessions[id]
}

// definitions returns what changed since a cursor, sealed to a session.
func (p *fakePlatform) definitions(s *fakeSession, since int) (event agentlink.Definitions, cursor int, next chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	event.Full = since == 0
	for id, d := range p.checks {
		switch {
		case d.cursor <= since && !event.Full:
		case d.gone:
			event.Gone = append(event.Gone, id)
		default:
			check := d.Check
			check.Sealed, _ = s.key.Seal(check.ID, check.Revision, []byte(d.config))
			event.Checks = append(event.Checks, check)
		}
	}
	return event, p.cursor, p.changed
}

func (p *fakePlatform) stream(w http.ResponseWriter, r *http.Request) {
	s := p.session(r)
	if s == nil {
		http.Error(w, `{}`, http.StatusNotFound)
		return
	}
	p.with(func() { p.resumed = append(p.resumed, r.Header.Get("Last-Event-ID")) })
	since, _ := strconv.Atoi(r.Header.Get("Last-Event-ID"))
	p.mu.Lock()
	parts := p.parts
	if p.forgets {
		since = 0
	}
	p.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprint(w, ": hello\n\n")
	for {
		event, cursor, next := p.definitions(s, since)
		if event.Full || len(event.Checks)+len(event.Gone) > 0 {
			for parts && len(event.Checks) > 1 {
				text, _ := json.Marshal(agentlink.Definitions{Full: event.Full, Checks: event.Checks[:1]})
				_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", agentlink.EventDefinitions, text)
				event.Full, event.Checks = false, event.Checks[1:]
			}
			text, _ := json.Marshal(event)
			_, _ = fmt.Fprintf(w, "id: %d\nevent: %s\ndata: %s\n\n", max(cursor, 1), agentlink.EventDefinitions, text)
			since = max(cursor, 1)
		}
		w.(http.Flusher).Flush()
		select {
		case <-next:
		case task := <-s.tasks:
			text, _ := json.Marshal(task)
			_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", agentlink.EventTask, text)
		case <-s.dropped:
			return
		case <-r.Context().Done():
			return
		}
	}
}

func (p *fakePlatform) results(w http.ResponseWriter, r *http.Request) {
	id, _ := uuid.Parse(r.PathValue("session"))
	s := p.session(r)
	if s == nil {
		http.Error(w, `{}`, http.StatusNotFound)
		return
	}
	var report agentlink.Report
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, agentlink.MostReport)).Decode(&report); err != nil {
		http.Error(w, `{"detail":"unreadable"}`, http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	slow := p.slow
	p.mu.Unlock()
	if slow > 0 {
		select {
		case <-time.After(slow):
		case <-r.Context().Done():
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.largest > 0 && len(report.Results) > p.largest {
		http.Error(w, `{}`, http.StatusRequestEntityTooLarge)
		return
	}
	s.reported, s.leaving = time.Now(), s.leaving || report.Leaving
	p.reports = append(p.reports, report)
	receipt := agentlink.Receipt{Time: p.now(), Epoch: p.epoch}
	for i, result := range report.Results {
		if p.refuses != "" {
			receipt.Refused = append(receipt.Refused, agentlink.Refusal{Index: i, Reason: p.refuses, Message: "no"})
			continue
		}
		key := result.CheckID.String() + result.Slot.Format(time.RFC3339Nano)
		if _, has := p.stored[key]; has {
			p.doubled++
		} else {
			p.stored[key] = result
			p.order = append(p.order, result)
		}
		receipt.Stored++
	}
	for other, s := range p.sessions {
		if !s.leaving && (other == id || !s.reported.IsZero() && time.Since(s.reported) < agentlink.AgentTimeout) {
			receipt.Agents = append(receipt.Agents, other)
		}
	}
	slices.SortFunc(receipt.Agents, vigil.CompareIDs)
	answer(w, receipt)
}

func (p *fakePlatform) task(w http.ResponseWriter, r *http.Request) {
	var got agentlink.TaskAnswer
	if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
		http.Error(w, "answer", http.StatusBadRequest)
		return
	}
	id, _ := uuid.Parse(r.PathValue("task"))
	p.with(func() { p.answers[id] = got })
}

// set makes a check, or a revision of it, and returns its ID.
func (p *fakePlatform) set(check agentlink.Check, config string) uuid.UUID {
	p.mu.Lock()
	defer p.mu.Unlock()
	if check.ID == uuid.Nil {
		check.ID = uuid.New()
	}
	if check.Start.IsZero() {
		check.Start = p.now().UTC().Truncate(time.Millisecond)
	}
	check.Anchor = vigil.NewAnchor(check.ID, check.Start, time.Duration(check.IntervalMS)*time.Millisecond)
	if known := p.checks[check.ID]; known != nil {
		check.Revision = known.Revision
	}
	check.Revision++
	p.publish(&definition{Check: check, config: config})
	return check.ID
}

// publish makes a change one of the stream. The caller has the lock.
func (p *fakePlatform) publish(d *definition) {
	p.cursor++
	d.cursor = p.cursor
	p.checks[d.ID] = d
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *fakePlatform) remove(id uuid.UUID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.publish(&definition{Check: agentlink.Check{ID: id}, gone: true})
}

// dropAll ends all streams.
func (p *fakePlatform) dropAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.sessions {
		close(s.dropped)
		s.dropped = make(chan struct{})
	}
}

// ask gives all agents a task.
func (p *fakePlatform) ask(check agentlink.Check, config string, once bool, within time.Duration) uuid.UUID {
	p.mu.Lock()
	defer p.mu.Unlock()
	task := agentlink.Task{ID: uuid.New(), Check: check, Once: once, Deadline: p.now().Add(within)}
	for _, s := range p.sessions {
		task.Check.Sealed, _ = s.key.Seal(check.ID, check.Revision, []byte(config))
		s.tasks <- task
	}
	return task.ID
}

// of returns the results of a check by their slots.
func (p *fakePlatform) of(id uuid.UUID) (found []agentlink.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, result := range p.stored {
		if result.CheckID == id {
			found = append(found, result)
		}
	}
	slices.SortFunc(found, func(a, b agentlink.Result) int { return a.Slot.Compare(b.Slot) })
	return found
}

func (p *fakePlatform) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.stored)
}

// last returns the newest report.
func (p *fakePlatform) last() (report agentlink.Report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.reports); n > 0 {
		report = p.reports[n-1]
	}
	return report
}
