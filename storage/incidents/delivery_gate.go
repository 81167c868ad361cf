// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"context"
	"sync"

	"github.com/google/uuid"
)

// maxPlaceChanges is how many transactions of one process may change or wait for the
// places of one organization at a time. A dead or frozen process that holds the
// organization's lock thus never takes all connections from the other organizations.
const maxPlaceChanges = 4

// orgGates bounds the transactions of each organization. The zero value is ready.
type orgGates struct {
	mu    sync.Mutex
	gates map[uuid.UUID]*orgGate
}

type orgGate struct {
	slots chan struct{}
	users int // callers that hold a slot or wait for one
}

// enter waits for a slot of an organization; the caller must call leave. It fails when
// ctx ends first.
func (g *orgGates) enter(ctx context.Context, orgID uuid.UUID) (leave func(), err error) {
	gate := g.join(orgID)
	select {
	case gate.slots <- struct{}{}:
		return func() {
			<-gate.slots
			g.part(orgID, gate)
		}, nil
	case <-ctx.Done():
		g.part(orgID, gate)
		return nil, ctx.Err()
	}
}

func (g *orgGates) join(orgID uuid.UUID) *orgGate {
	g.mu.Lock()
	defer g.mu.Unlock()
	gate, ok := g.gates[orgID]
	if !ok {
		if g.gates == nil {
			g.gates = make(map[uuid.UUID]*orgGate)
		}
		gate = &orgGate{slots: make(chan struct{}, maxPlaceChanges)}
		g.gates[orgID] = gate
	}
	gate.users++
	return gate
}

// part forgets the gate of an organization without users.
func (g *orgGates) part(orgID uuid.UUID, gate *orgGate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if gate.users--; gate.users == 0 {
		delete(g.gates, orgID)
	}
}
