// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/agentlink"
	"github.com/vigil-monitor/vigil/internal/timing"
)

const (
	// contactCounts is how long after its last receipt an agent is in contact.
	contactCounts = 10 * time.Second
	// saidAfter is how long the contact must be lost to be said.
	saidAfter = 5 * time.Second
)

// session is what Welcome has, and the end of what belongs to it.
type session struct {
	agentlink.Welcome

	end context.CancelFunc
}

// link is what is known of the way to the platform.
type link struct {
	changed chan struct{} // a session has begun; has a buffer of one

	mu       sync.Mutex
	current  *session // nil: there is none
	location agentlink.Place
	cursor   string    // of the stream
	contact  time.Time // the last one, by the own clock
	problem  string
	stream   string    // what is wrong with the stream, empty when nothing is
	since    time.Time // of the problem
	said     bool
	forgot   bool // that the definitions are forgotten, since the contact is too long ago
}

// session returns the session, nil when there is none.
func (l *link) session() *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current
}

// begin takes a new session.
func (l *link) begin(s *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current, l.location = s, s.Location
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// lose ends a session that the platform does not know any more.
func (l *link) lose(id uuid.UUID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current != nil && l.current.Session == id {
		l.current.end()
		l.current = nil
	}
}

// position returns where the stream goes on.
func (l *link) position() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cursor
}

// setPosition takes that of a session, unless it has ended.
func (l *link) setPosition(id uuid.UUID, cursor string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current != nil && l.current.Session == id {
		l.cursor = cursor
	}
}

// restart ends the session, and the next stream begins from the start.
func (l *link) restart() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current != nil {
		l.current.end()
		l.current = nil
	}
	l.cursor = ""
}

// setStream says what is wrong with the stream, empty when nothing is.
func (l *link) setStream(problem string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stream = problem
}

// answered takes an answer of the platform. lost is since when there was none, zero when nothing
// was said of that.
func (l *link) answered(now time.Time) (lost time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.said {
		lost = l.since
	}
	l.contact, l.problem, l.since, l.said, l.forgot = now, "", time.Time{}, false, false
	return lost
}

// failed takes a failure, and reports whether it is to be said: once it lasts, and when the
// problem is another one.
func (l *link) failed(now time.Time, problem string) (say bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since.IsZero() {
		l.since = now
	}
	if problem != l.problem {
		l.problem = problem
	} else if l.said {
		return false
	}
	say = l.contact.IsZero() || timing.Age(now, l.since) >= saidAfter
	l.said = l.said || say
	return say
}

// refused takes that the token is not valid, and reports whether that is new.
func (l *link) refused(now time.Time, problem string) (say bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	say = problem != l.problem
	if l.since.IsZero() {
		l.since = now
	}
	l.problem, l.said = problem, true
	return say
}

// expired reports, once, that the last contact is too long ago. The stream begins from the start then.
func (l *link) expired(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.contact.IsZero() || l.forgot || timing.Age(now, l.contact) < knowsFor {
		return false
	}
	l.forgot, l.cursor = true, ""
	return true
}

// state returns why there is no contact, empty when there is, and where the agent is.
func (l *link) state(now time.Time) (problem string, at agentlink.Place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.contact.IsZero() && l.problem == "":
		return "the platform has not answered yet", l.location
	case l.problem != "" && (l.current == nil || timing.Age(now, l.contact) > contactCounts):
		return l.problem, l.location
	case timing.Age(now, l.contact) > contactCounts:
		return "the platform does not answer", l.location
	}
	return l.stream, l.location
}

// epoch is the last one that the platform has said. It outlives the process, since a platform may
// be restored meanwhile.
type epoch struct {
	path string

	mu    sync.Mutex
	known bool
	last  int64
}

func (e *epoch) read() {
	text, err := os.ReadFile(e.path)
	if err != nil {
		return
	}
	last, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	e.known, e.last = err == nil, last
}

// changes takes the epoch of an answer, and reports whether it is another one than before.
func (e *epoch) changes(now int64) (changed bool, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known && e.last == now {
		return false, nil
	}
	changed = e.known
	e.known, e.last = true, now
	return changed, replaceFile(e.path, []byte(strconv.FormatInt(now, 10)+"\n"))
}
