// SPDX-License-Identifier: Apache-2.0

package fair

// node is what one target, one organization or the process holds of the places. The
// process has organizations as its children, and these have targets.
type node struct {
	parent   *node
	key      string
	children map[string]*node
	// ready are the children for which claims wait, in no order.
	ready [classes][]*node
	index [classes]int // in the parent's ready; -1 when it is not there
	// line are the claims that wait; only a target has them.
	line [classes]line

	held, starting int
	served         uint64 // when it got its last place
	last           class  // of that place
}

func newNode(parent *node, key string) *node {
	n := &node{parent: parent, key: key, children: make(map[string]*node)}
	for c := range classes {
		n.index[c] = -1
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
func (n *node) waits(c class) bool { return len(n.ready[c]) > 0 || len(n.line[c]) > 0 }

// refresh brings the lists of a target and of its organization up to date after claims
// were added or removed.
func (n *node) refresh() {
	for ; n.parent != nil; n = n.parent {
		for c := range classes {
			switch listed := n.index[c] >= 0; {
			case !listed && n.waits(c):
				n.index[c] = len(n.parent.ready[c])
				n.parent.ready[c] = append(n.parent.ready[c], n)
			case listed && !n.waits(c):
				n.unlist(c)
			}
		}
		if n.held == 0 && len(n.children) == 0 && !n.waits(quick) && !n.waits(slow) {
			delete(n.parent.children, n.key)
		}
	}
}

// unlist removes a node from the ready ones of its parent.
func (n *node) unlist(c class) {
	list, at := n.parent.ready[c], n.index[c]
	last := list[len(list)-1]
	list[at], last.index[c] = last, at
	list[len(list)-1] = nil
	n.parent.ready[c], n.index[c] = list[:len(list)-1], -1
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
