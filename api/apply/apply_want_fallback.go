// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/channelhealth"
	"github.com/vigil-monitor/vigil/internal/project"
)

// memberFallback is the member of a channel in a file that refers to its fallback.
const memberFallback = "fallback_channel"

// nameChannels gives the channels of the document their ids, since each may fall back to one that
// comes later.
func (d *decider) nameChannels() error {
	d.fallbacks = make(map[uuid.UUID]uuid.UUID)
	for _, key := range slices.Sorted(maps.Keys(d.ids[project.KindChannel])) {
		if id, exists := d.stored.own[project.KindChannel][key]; exists {
			d.ids[project.KindChannel][key] = id
			continue
		}
		if _, err := d.newID(project.KindChannel, key); err != nil {
			return err
		}
	}
	return nil
}

// fallbackOf takes the fallback out of the members of a channel and resolves it. A channel that
// has none in the files has none. A channel may also have the id of the API instead.
func (d *decider) fallbackOf(w *project.Wanted) (id uuid.UUID, ok bool) {
	item, member := w.Members[memberFallback], memberFallback
	if text, given := w.Members[channelhealth.MemberFallback].(string); given {
		if item != nil {
			d.problem(w.Path()+"."+memberFallback, "says the same as %s; give one of them", channelhealth.MemberFallback)
			return uuid.Nil, false
		}
		item, member = "id:"+text, channelhealth.MemberFallback
	}
	delete(w.Members, memberFallback)
	delete(w.Members, channelhealth.MemberFallback)
	if item == nil {
		return uuid.Nil, true
	}
	if id, ok = d.refer(project.KindChannel, item, w.Path()+"."+member); ok {
		d.fallbacks[d.ids[project.KindChannel][w.Key]] = id
	}
	return id, ok
}

// fallbackCircles adds a problem for each channel of the document that falls back to itself, over
// others or not, which may be outside of the project.
func (d *decider) fallbackCircles() {
	next := maps.Clone(d.stored.inventory.Fallbacks)
	if next == nil {
		next = make(map[uuid.UUID]uuid.UUID)
	}
	for _, id := range d.ids[project.KindChannel] {
		next[id] = d.fallbacks[id]
	}
	for _, key := range slices.Sorted(maps.Keys(d.ids[project.KindChannel])) {
		start := d.ids[project.KindChannel][key]
		at := next[start]
		for range next {
			if at == start || at == uuid.Nil {
				break
			}
			at = next[at]
		}
		if at == start {
			d.problem(project.PathOf(project.KindChannel, key)+"."+memberFallback, "leads back to the channel itself")
		}
	}
}
