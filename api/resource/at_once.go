// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"sync"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/api/rest"
)

// AtOnce bounds how many requests of a kind an organization has under way in this process.
type AtOnce struct {
	most  int
	busy  string // what one more is answered
	pause int64  // seconds after which one more is worth a try

	mu      sync.Mutex
	running map[uuid.UUID]int // by organization
}

// NewAtOnce returns a bound of how many calls run at once. busy is what others are answered,
// who may try again after pause seconds.
func NewAtOnce(most int, busy string, pause int64) *AtOnce {
	return &AtOnce{most: most, busy: busy, pause: pause, running: make(map[uuid.UUID]int)}
}

// Begin counts a request of an organization until done is called.
func (a *AtOnce) Begin(org uuid.UUID) (done func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running[org] >= a.most {
		return nil, rest.ErrTooMany(a.busy, a.pause)
	}
	a.running[org]++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.running[org]--; a.running[org] == 0 {
			delete(a.running, org)
		}
	}, nil
}
