// SPDX-License-Identifier: Apache-2.0

package workers_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

const (
	// longestSilence is how long a loop may be without a probe after the last fault, while a worker
	// lives: below the minute after which the sweep nudges any loop.
	longestSilence = 50 * time.Second
	modelInterval  = 2 * time.Second
	// steadyFor is how long a loop must have been probed without a break for a history to end.
	steadyFor = 14 * time.Second
	// pairs is how many histories of each event have two faults, which are chosen by chance. Those
	// with one are all of them.
	pairs = 60
	// historyTime bounds one history, in its own time.
	historyTime = 2 * time.Minute
)

// fault is what happens at a step: a call of a process to Postgres or to Temporal.
type fault int

const (
	fails      fault = iota // the call has no effect, and the process learns that
	loses                   // it has its effect, and the process gets no answer
	diesBefore              // the process dies before the call
	diesAfter               // the process dies after it
	stops                   // the process stops instead of the call
	faults                  // how many there are
)

func (f fault) String() string {
	return [...]string{"fails", "loses its answer", "dies before it", "dies after it", "stops before it"}[f]
}

// history is what one run of the model does: what happens to a worker after some time, and faults
// at some of the steps from then on.
type history struct {
	event  event
	faults []planned
}

// planned is a fault at a step.
type planned struct {
	step  int
	fault fault
}

func (h history) String() string {
	text := h.event.String()
	for _, one := range h.faults {
		text += fmt.Sprintf(", then at step %d a process %s", one.step, one.fault)
	}
	return text
}

// at returns the fault at a step.
func (h history) at(step int) (fault, bool) {
	for _, one := range h.faults {
		if one.step == step {
			return one.fault, true
		}
	}
	return 0, false
}

// event is what moves a loop from one worker to another.
type event int

const (
	killed  event = iota // a worker dies
	stopped              // a worker stops
	moved                // Temporal gives the next turn to another worker
	events               // how many there are
)

func (e event) String() string {
	return [...]string{"a worker is killed", "a worker stops", "a turn goes to another worker"}[e]
}

// errFault is the error of a call at which a fault is.
var errFault = errors.New("fault")

// TestOwnership is a model of who runs the turns of a loop. Rows, statements, leases, adoption,
// claims, stops and the passes of the sweep are the real ones; Temporal, the clock and the turns
// are those of the model, so that a fault can be at each step. In no history is the loop silent
// for long.
func TestOwnership(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	_, org, err := store.CreateAccount(
		t.Context(),
		account.Organization{Name: "Acme"},
		account.User{Email: "ada@example.com", Name: "Ada"},
		nil,
	)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.RenewSweep(t.Context(), "model", nil, time.Hour); err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	var list []history
	for e := range events {
		steps := runHistory(t, store, org, history{event: e}) // without a fault
		t.Logf("%s: %d steps until the loop is probed as before", e, steps)
		for step := range steps {
			for f := range faults {
				list = append(list, history{e, []planned{{step, f}}})
			}
		}
		for range pairs {
			first := random.IntN(steps)
			list = append(list, history{e, []planned{
				{first, fault(random.IntN(int(faults)))}, {first + 1 + random.IntN(steps), fault(random.IntN(int(faults)))},
			}})
		}
	}
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	all := len(list)
	if os.Getenv("VIGIL_DRILL") != "full" {
		list = list[:all/10]
	}
	t.Logf("seed %d", seed)
	began := time.Now()
	next := make(chan history)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for h := range next {
				runHistory(t, store, org, h)
			}
		})
	}
	for _, h := range list {
		next <- h
	}
	close(next)
	workers.Wait()
	t.Logf("%d of %d histories in %v", len(list), all, time.Since(began).Round(time.Second))
}

// runHistory runs a history until the loop is probed as before, and returns how many steps it
// took from its event on.
func runHistory(t *testing.T, store *storage.Store, org account.Organization, h history) (steps int) {
	t.Helper()
	w := newWorld(t, store, org, h)
	defer w.close()
	for ; ; w.tick() {
		// A second fault may undo the repair of the first.
		if silent := w.since(max(w.probed, w.faulty)); silent > longestSilence {
			t.Errorf("%s: the loop is silent for %v\n%s", h, silent, w.log())
			return w.step
		}
		if w.steady() {
			return w.step
		}
		if w.since(0) > historyTime {
			t.Errorf("%s: the loop is not probed every %v again\n%s", h, modelInterval, w.log())
			return w.step
		}
	}
}

// gate is one call of a process to Postgres or Temporal, which is a step of the history when it
// changes something.
func (w *world) gate(ctx context.Context, p *process, what string, call func() error) error {
	if p.dead {
		return errFault
	}
	if !w.eventful() {
		return call()
	}
	planned, faulty := w.history.at(w.step)
	w.step++
	if !faulty {
		err := call()
		w.note("%s: %s %v", p.name, what, err)
		return err
	}
	w.faulty = w.ticks
	w.note("%s: %s: it %s", p.name, what, planned)
	switch planned {
	case diesBefore:
		p.die()
		return errFault
	case diesAfter, loses:
		_ = call() // its process learns no error
		if planned == diesAfter {
			p.die()
		}
		return errFault
	case stops:
		p.stopping = true
		return call()
	default:
		return errFault
	}
}

// process is one that can die.
type process struct {
	name     string
	dead     bool
	stopping bool
}

func (p *process) die() { p.dead = true }

// openTurn is the turn that the workflow of the loop waits for.
type openTurn struct {
	id     int
	worker string // that Temporal gave it to; empty while none has it
}

// temporal is the workflow of the one loop of a world.
type temporal struct {
	run  uuid.UUID
	turn openTurn
}

// next schedules another turn; the one before is abandoned.
func (m *temporal) next() { m.turn = openTurn{id: m.turn.id + 1} }

// modelTemporal is Temporal as a process sees it.
type modelTemporal struct {
	*world

	p *process
}

func (m modelTemporal) Nudge(ctx context.Context, _ vigil.Loop) error {
	return m.gate(ctx, m.p, "nudge", func() error {
		m.temporal.next()
		return nil
	})
}

func (m modelTemporal) Holder(ctx context.Context, _ vigil.Loop) (vigil.TurnHolder, error) {
	turn := m.temporal.turn
	holder := vigil.TurnHolder{Running: true, Worker: turn.worker}
	if turn.worker != "" {
		holder.RunID, holder.ActivityID = m.temporal.run, fmt.Sprint(turn.id)
	}
	return holder, m.gate(ctx, m.p, "describe", func() error { return nil })
}

func (modelTemporal) Apply(context.Context, vigil.Loop) error                { return nil }
func (modelTemporal) Running(context.Context, vigil.Tombstone) (bool, error) { return false, nil }

func (modelTemporal) Terminate(ctx context.Context, _ uuid.UUID, _ string) error { return ctx.Err() }

// complete completes a turn; unknown is that the workflow waits for another one.
func (m modelTemporal) complete(ctx context.Context, id int) (unknown bool, err error) {
	err = m.gate(ctx, m.p, fmt.Sprintf("complete turn %d", id), func() error {
		if unknown = m.temporal.turn.id != id; !unknown {
			m.temporal.next()
		}
		return nil
	})
	return unknown, err
}
