package fair

import (
	"container/heap"
	"container/list"
)

// node is what one target, one organization or the process holds of the places. The
// process has organizations as its children, and these have targets.
type node struct {
	limits   *Limits
	parent   *node
	key      string
	most     int // places that it may hold
	children map[string]*node
	// ready are the children that may get a place now, the first one first.
	ready [classes]heapOfNodes
	index [classes]int // in the parent's ready; -1 when it is not there
	// line are the claims that wait; only a target has them.
	line [classes]*list.List

	held, starting, slow int
	served               uint64 // when it got its last place
}

func newNode(parent *node, key string, most int, limits *Limits) *node {
	n := &node{limits: limits, parent: parent, key: key, most: most, children: make(map[string]*node)}
	for c := range classes {
		n.ready[c].class, n.index[c] = c, -1
		n.line[c] = list.New()
	}
	return n
}

// child returns the child of a key, and makes it when there is none.
func (n *node) child(key string, most int) *node {
	c, ok := n.children[key]
	if !ok {
		c = newNode(n, key, most, n.limits)
		n.children[key] = c
	}
	return c
}

// leaf reports whether claims wait at this node itself.
func (n *node) leaf() bool { return n.parent != nil && n.parent.parent != nil }

// admits reports whether a waiting claim of the class may get a place.
func (n *node) admits(c class) bool {
	if n.held >= n.most || c == slow && n.slow >= slowShare(n.most) {
		return false
	}
	return len(n.ready[c].nodes) > 0 || n.line[c].Len() > 0
}

// share is the share of the scarcer resource that a node holds.
func (n *node) share() float64 {
	return max(float64(n.held)/float64(n.limits.Places), float64(n.starting)/float64(n.limits.Starting))
}

// before reports whether a node gets a place before another one: it has the smaller
// share, or waits for longer since its last place.
func (n *node) before(other *node) bool {
	if a, b := n.share(), other.share(); a != b { //nolint:revive // equal shares are computed from equal counts
		return a < b
	}
	return n.served < other.served
}

// refresh corrects the place of a target, and of its organization, among those that may
// get a place, after its claims or its counts have changed.
func (n *node) refresh() {
	for ; n.parent != nil; n = n.parent {
		for c := range classes {
			ready, admitted := &n.parent.ready[c], n.admits(c)
			switch at := n.index[c]; {
			case admitted && at < 0:
				heap.Push(ready, n)
			case admitted:
				heap.Fix(ready, at)
			case at >= 0:
				heap.Remove(ready, at)
			}
		}
		if n.held == 0 && len(n.children) == 0 && n.line[quick].Len()+n.line[slow].Len() == 0 {
			delete(n.parent.children, n.key)
		}
	}
}

// heapOfNodes orders nodes for container/heap.
type heapOfNodes struct {
	class class
	nodes []*node
}

func (h *heapOfNodes) Len() int           { return len(h.nodes) }
func (h *heapOfNodes) Less(i, j int) bool { return h.nodes[i].before(h.nodes[j]) }

func (h *heapOfNodes) Swap(i, j int) {
	h.nodes[i], h.nodes[j] = h.nodes[j], h.nodes[i]
	h.nodes[i].index[h.class], h.nodes[j].index[h.class] = i, j
}

// Push adds a *node.
func (h *heapOfNodes) Push(x any) {
	n := x.(*node) //nolint:forcetypeassert // see refresh
	n.index[h.class] = len(h.nodes)
	h.nodes = append(h.nodes, n)
}

// Pop removes the last node.
func (h *heapOfNodes) Pop() any {
	last := len(h.nodes) - 1
	n := h.nodes[last]
	h.nodes[last] = nil
	h.nodes = h.nodes[:last]
	n.index[h.class] = -1
	return n
}
