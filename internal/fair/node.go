// SPDX-License-Identifier: Apache-2.0

package fair

import "container/heap"

// node is what one target, one organization or the process holds of the places. The
// process has organizations as its children, and these have targets.
type node struct {
	parent   *node
	key      string
	children map[string]*node
	// ready are the children for which claims wait, those first that come next.
	ready [classes]ready
	index [classes]int // in the parent's ready; -1 when it is not there
	// line are the claims that wait; only a target has them.
	line [classes]line

	held, starting int
	share          float64 // of the scarcer resource
	served         uint64  // when it got its last place
	last           class   // of that place
}

func newNode(parent *node, key string) *node {
	n := &node{parent: parent, key: key, children: make(map[string]*node)}
	for c := range classes {
		n.index[c], n.ready[c].class = -1, c
	}
	return n
}

// child returns the child of a key, and makes it when there is none.
func (n *node) child(key string) *node {
	c, ok := n.children[key]
	if !ok {
		c = newNode(n, key)
		n.children[key] = c
	}
	return c
}

// waits reports whether a claim of the class waits here.
func (n *node) waits(c class) bool { return len(n.ready[c].nodes) > 0 || len(n.line[c]) > 0 }

// before reports whether a node gets a place before another one: it has the smaller share,
// or its last place is longer ago.
func (n *node) before(other *node) bool {
	if n.share < other.share || n.share > other.share {
		return n.share < other.share
	}
	return n.served < other.served
}

// refresh brings a target and its organization to their places in the order after claims were
// added or removed, or places given or left.
func (n *node) refresh(l Limits) {
	for ; n.parent != nil; n = n.parent {
		n.share = max(float64(n.held)/float64(l.Places), float64(n.starting)/float64(l.Starting))
		for c := range classes {
			siblings := &n.parent.ready[c]
			switch listed, waits := n.index[c] >= 0, n.waits(c); {
			case listed && waits:
				heap.Fix(siblings, n.index[c])
			case listed:
				heap.Remove(siblings, n.index[c])
			case waits:
				heap.Push(siblings, n)
			}
		}
		if n.held == 0 && len(n.children) == 0 && !n.waits(quick) && !n.waits(slow) {
			delete(n.parent.children, n.key)
		}
	}
}

// ready are nodes for which claims of a class wait, as a heap of container/heap.
type ready struct {
	nodes []*node
	class class
}

// first returns the node that comes before all others that fit, nil when none fits. What it calls fits for comes
// before all that did fit until then.
func (r *ready) first(fits func(*node) bool) *node { return r.below(0, nil, fits) }

// below is first for the nodes at and below a place in the heap, and one that fits already.
func (r *ready) below(at int, found *node, fits func(*node) bool) *node {
	if at >= len(r.nodes) || found != nil && !r.nodes[at].before(found) {
		return found
	}
	if fits(r.nodes[at]) {
		return r.nodes[at] // all below come later
	}
	return r.below(2*at+2, r.below(2*at+1, found, fits), fits)
}

func (r *ready) Len() int           { return len(r.nodes) }
func (r *ready) Less(i, j int) bool { return r.nodes[i].before(r.nodes[j]) }

func (r *ready) Swap(i, j int) {
	r.nodes[i], r.nodes[j] = r.nodes[j], r.nodes[i]
	r.nodes[i].index[r.class], r.nodes[j].index[r.class] = i, j
}

// Push adds a *node.
func (r *ready) Push(x any) {
	n := x.(*node) //nolint:forcetypeassert // see refresh
	n.index[r.class] = len(r.nodes)
	r.nodes = append(r.nodes, n)
}

// Pop removes the last node.
func (r *ready) Pop() any {
	last := len(r.nodes) - 1
	n := r.nodes[last]
	r.nodes[last] = nil
	r.nodes, n.index[r.class] = r.nodes[:last], -1
	return n
}

// line orders the claims that wait by the time since which they are due, for
// container/heap.
type line []*Place

func (l line) Len() int { return len(l) }

func (l line) Less(i, j int) bool {
	if !l[i].since.Equal(l[j].since) {
		return l[i].since.Before(l[j].since)
	}
	return l[i].joined < l[j].joined
}

func (l line) Swap(i, j int) {
	l[i], l[j] = l[j], l[i]
	l[i].index, l[j].index = i, j
}

// Push adds a *Place.
func (l *line) Push(x any) {
	p := x.(*Place) //nolint:forcetypeassert // see Queue.Join
	p.index = len(*l)
	*l = append(*l, p)
}

// Pop removes the last claim.
func (l *line) Pop() any {
	all := *l
	p := all[len(all)-1]
	all[len(all)-1] = nil
	*l = all[:len(all)-1]
	return p
}
