// SPDX-License-Identifier: Apache-2.0

package pg

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil/internal/timing"
)

const (
	// askLimit bounds the question for the position of the primary, and that for the reach of the copy. Either takes less than
	// a millisecond where both work.
	askLimit = time.Second
	// catchUp is how long a read waits until the copy has what was written before it, and looks again each catchUpLook. A copy
	// that lags is not waited for during lagRest.
	catchUp, catchUpLook, lagRest = 50 * time.Millisecond, 2 * time.Millisecond, time.Second
	// primaryRest and copyRest are for how long a server that did not answer is not asked again.
	primaryRest, copyRest = time.Second, time.Second
	// copyPatience is how long a connection to the copy is waited for, and firstPatience at the start.
	copyPatience, firstPatience = 250 * time.Millisecond, 5 * time.Second
	// betterRest is between two looks for a standby, where the address of the copy leads to the primary.
	betterRest = 10 * time.Second
	// mayLack is how much older than the last answer of the primary the newest transaction of a copy may be that is read alone,
	// where it does not have all that was written before that answer.
	mayLack = time.Minute
)

// Standby is a copy of a database that follows it, such as a hot standby of Postgres. It is safe for concurrent use.
type Standby struct {
	*DB

	primary *DB
	// askPrimary and askCopy are for questions alone: those of a pool may all be busy, with what is read.
	askPrimary, askCopy *loneConn

	// next is the choice that requests wait for which come while another is made; asking is held while one is.
	mu     sync.Mutex
	next   *choice
	asking sync.Mutex

	// last is the position that the primary gave last, at answered. They are of who holds asking.
	last     logPosition
	answered time.Time
	// primaryAway, copyAway, lags and settled are until when the one and the other are not asked, the copy is not waited for, and
	// no better one is looked for. They are of who holds asking, too.
	primaryAway, copyAway, lags, settled time.Time
}

// A Reading says where something is read.
type Reading struct {
	// Standby: on the copy; otherwise on the primary.
	Standby bool
	// Alone: the primary does not answer, and the copy may lack what was written last.
	Alone bool
	// AsOf is when the newest transaction of a copy that is Alone was committed, by the clock of the primary; zero where the copy
	// has seen none since its start.
	AsOf time.Time
}

var (
	errNoCopy = errors.New("the database to read from is no copy of the other: it follows another server, or has another name")
	errAway   = errors.New("it did not answer a moment ago")
)

// Follow returns a copy of primary; copied is its database, which was opened as a Copy and need not answer yet. The error
// says that it is no copy.
func Follow(ctx context.Context, primary, copied *DB) (*Standby, error) {
	s := &Standby{
		DB: copied, primary: primary,
		askPrimary: &loneConn{connect: primary.connector.connect},
		askCopy:    &loneConn{connect: copied.connector.connect, patience: firstPatience},
	}
	defer func() { s.askCopy.patience = copyPatience }()
	if _, err := s.Look(ctx); errors.Is(err, errNoCopy) || s.answered.IsZero() {
		s.endQuestions() //nolint:contextcheck // a goodbye has a bound of its own
		return nil, err
	}
	return s, nil
}

// Close closes all connections to the copy, and those that questions have to the primary.
func (s *Standby) Close() error {
	s.endQuestions()
	return s.DB.Close()
}

func (s *Standby) endQuestions() {
	s.askPrimary.close()
	s.askCopy.close()
}

// Look reports how far the copy is beside the primary, or why one of them does not say.
func (s *Standby) Look(ctx context.Context) (Reach, error) {
	s.asking.Lock()
	defer s.asking.Unlock()
	if err := s.position(ctx); err != nil {
		return Reach{}, err
	}
	return s.reach(ctx)
}

// choice is a Reading that several requests share.
type choice struct {
	made    chan struct{} // closed when reading is known
	reading Reading
}

// Choose decides where to read so that everything that was acknowledged before the call is seen: on the copy once it has that,
// for which it waits up to 50 ms, else on the primary. While the primary does not answer, it is the copy as it is, unless that
// is far behind.
//
// Calls that come while a choice is made share the next one: any number of them asks each database once at a time.
func (s *Standby) Choose(ctx context.Context) Reading {
	s.mu.Lock()
	c := s.next
	if c == nil {
		c = &choice{made: make(chan struct{})}
		s.next = c
		go s.make(context.WithoutCancel(ctx), c)
	}
	s.mu.Unlock()
	select {
	case <-c.made:
		return c.reading
	case <-ctx.Done():
		return Reading{}
	}
}

// make makes a choice, after the one that is being made.
func (s *Standby) make(ctx context.Context, c *choice) {
	s.asking.Lock()
	defer s.asking.Unlock()
	s.mu.Lock()
	s.next = nil // who comes from now on may know of something that was written after the question
	s.mu.Unlock()
	defer close(c.made)
	if s.rests(s.copyAway) {
		return
	}
	if s.position(ctx) == nil {
		c.reading.Standby = s.catchesUp(ctx)
		return
	}
	reach, err := s.reach(ctx)
	if err == nil && (reach.Reached || reach.AsOf.After(s.answered.Add(-mayLack))) {
		c.reading = Reading{Standby: true, Alone: true, AsOf: reach.AsOf}
	}
}

// position asks the primary for its position, unless it did not answer a moment ago. A connection that was lost is no reason: it
// is asked by another one.
func (s *Standby) position(ctx context.Context) error {
	if s.rests(s.primaryAway) {
		return errAway
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	var err error
	for range 2 {
		err = s.askPrimary.use(ctx, func(conn *pgx.Conn) error {
			at, err := readPosition(ctx, conn, s.primary.Prepared())
			if err == nil {
				s.last, s.answered = at, s.Now()
			}
			return err
		})
		if err == nil {
			return nil
		}
	}
	if s.rest(&s.primaryAway, primaryRest) {
		s.Log.WarnContext(ctx, "the primary does not answer: what changes nothing is read from the standby", "error", err)
	}
	return fmt.Errorf("ask the database how far its log is: %w", err)
}

// catchesUp waits until the copy has everything before the last position of the primary.
func (s *Standby) catchesUp(ctx context.Context) bool {
	wait := catchUp
	if s.rests(s.lags) {
		wait = 0
	}
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	for ; ; wait -= catchUpLook {
		reach, err := s.reach(ctx)
		if err != nil || reach.Reached {
			return err == nil
		}
		if wait <= 0 || timing.Sleep(ctx, catchUpLook) != nil {
			s.rest(&s.lags, lagRest)
			return false
		}
	}
}

// reach asks the copy how far it is beside the last position of the primary. All of its connections lead to the server that
// answers, or are closed.
func (s *Standby) reach(ctx context.Context) (Reach, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	if s.connector.only.ledElsewhere() {
		s.askCopy.renew(ctx)
	}
	var reach Reach
	err := s.askCopy.use(ctx, func(conn *pgx.Conn) error {
		from, found, follows, err := readReach(ctx, conn, s.Prepared(), s.last)
		if err != nil {
			return err
		}
		if from.database != s.last.database {
			return errNoCopy
		}
		if s.connector.only.settle(from) {
			s.Pool.Reset()
		}
		if !follows && !s.rests(s.settled) { // as after a failover: its address may lead to a standby by now
			s.rest(&s.settled, betterRest)
			s.connector.only.lookElsewhere()
		}
		reach = found
		return nil
	})
	if err == nil {
		return reach, nil
	}
	if s.rest(&s.copyAway, copyRest) {
		s.Log.WarnContext(ctx, "the standby cannot be read: everything is read from the primary", "error", err)
	}
	return Reach{}, fmt.Errorf("ask the standby how far it is: %w", err)
}

// rests reports whether a time is not over.
func (s *Standby) rests(until time.Time) bool { return s.Now().Before(until) }

// rest begins a time. It reports whether none was a minute ago: it is false for what is asked again and again.
func (s *Standby) rest(until *time.Time, d time.Duration) (first bool) {
	now := s.Now()
	first = now.After(until.Add(time.Minute))
	*until = now.Add(d)
	return first
}

// oneServer holds all connections of a database to one server, where its address leads to several: what one of them has says
// nothing of another.
type oneServer struct {
	mu     sync.Mutex
	server serverID // of the connections; zero: not known yet
	other  bool     // a connection led to another one
}

var errOtherServer = errors.New("the address of the database leads to several servers, and this is another one than before")

// admit returns an error for a connection that leads to another server.
func (o *oneServer) admit(ctx context.Context, conn *pgx.Conn, mode pgx.QueryExecMode) error {
	var from serverID
	if err := conn.QueryRow(ctx, "SELECT "+selectServer, mode).Scan(&from.database, &from.started); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.server != (serverID{}) && o.server != from {
		o.other = true
		return errOtherServer
	}
	o.server = from
	return nil
}

// ledElsewhere reports whether a connection has led to another server since the last call.
func (o *oneServer) ledElsewhere() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	led := o.other
	o.other = false
	return led
}

// lookElsewhere has ledElsewhere report that.
func (o *oneServer) lookElsewhere() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.other = true
}

// settle says which server it is from now on. It reports whether connections may lead to another one.
func (o *oneServer) settle(on serverID) (changed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	changed = o.server != (serverID{}) && o.server != on
	o.server = on
	return changed
}
