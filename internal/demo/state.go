// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"
)

// state is what the demo keeps in its file.
type state struct {
	// Shop and Receiver are the addresses that they listen on. They stay the same, so that
	// the definitions of the check and the channel do too.
	Shop     string `json:"shop,omitempty"`
	Receiver string `json:"receiver,omitempty"`
	Secret   string `json:"secret"` // of the channel
	// Broken: the shop answers 503.
	Broken bool `json:"broken"`
	// Refuse is how many messages the receiver still refuses.
	Refuse   int       `json:"refuse"`
	Messages []message `json:"messages,omitempty"` // what the receiver got, oldest first
	// CheckID is the check that the rest is about.
	CheckID  uuid.UUID `json:"check_id"`
	Position string    `json:"position,omitempty"` // of the newest event of the stream that was shown
	Story    story     `json:"story"`
}

// story is how far the story has come.
type story struct {
	Phase phase     `json:"phase"`
	Since time.Time `json:"since"` // when the phase began
	Began time.Time `json:"began"` // when the shop broke
	// Incident is the one whose messages are shown; zero: none.
	Incident uuid.UUID `json:"incident"`
	Resolved bool      `json:"resolved"`
	// Incidents are how many opened since the shop broke.
	Incidents int `json:"incidents"`
	// Shown are how many attempts of each delivery were shown.
	Shown map[uuid.UUID]int64 `json:"shown,omitempty"`
	// Manual: the shop was broken by `vigil demo break`, and waits for `vigil demo repair`.
	Manual bool `json:"manual,omitempty"`
}

// phase is a part of the story.
type phase string

const (
	phaseStarting  phase = ""          // until every region has found the shop healthy
	phaseHealthy   phase = "healthy"   // until it breaks
	phaseBroken    phase = "broken"    // until an incident is open and its message delivered
	phaseDelivered phase = "delivered" // until the shop is repaired
	phaseRepaired  phase = "repaired"  // until the incident is resolved and its message delivered
	phaseDone      phase = "done"
)

// message is a request that the receiver got.
type message struct {
	ID       string    `json:"id"`       // webhook-id: that of the event
	Delivery string    `json:"delivery"` // X-Service-Delivery
	Attempt  int64     `json:"attempt"`
	Status   int       `json:"status"` // of the answer
	Valid    bool      `json:"valid"`  // both signatures are those of the channel's secret
	At       time.Time `json:"at"`
}

// maxMessages is how many messages are kept.
const maxMessages = 100

// keeper keeps the state in a file.
type keeper struct {
	path string
	mu   sync.Mutex
	held state
	gone bool // the file was removed for good
}

// openState reads the file, or makes a state. A file that cannot be read as JSON is replaced:
// the demo begins again.
func openState(path string) (*keeper, error) {
	k := &keeper{path: path}
	text, err := os.ReadFile(path) //nolint:gosec // in the data directory
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the state of the demo: %w", err)
	}
	if err != nil || json.Unmarshal(text, &k.held) != nil || k.held.Secret == "" {
		k.held = state{Secret: rand.Text()}
	}
	return k, nil
}

// get returns a copy, whose Messages and maps must not be changed.
func (k *keeper) get() state {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.held
}

// change changes the state and stores it before it returns.
func (k *keeper) change(change func(*state)) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	change(&k.held)
	if k.gone {
		return nil
	}
	text, err := json.MarshalIndent(k.held, "", "  ")
	if err != nil {
		return err
	}
	draft := k.path + ".new"
	if err := os.WriteFile(draft, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("keep the state of the demo: %w", err)
	}
	if err := os.Rename(draft, k.path); err != nil {
		return fmt.Errorf("keep the state of the demo: %w", err)
	}
	return nil
}

// remove removes the file for good.
func (k *keeper) remove() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.gone = true
	_ = os.Remove(k.path)
}
