// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/maintenance"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/internal/project"
	"github.com/vigil-monitor/vigil/internal/subscription"
)

// storedProject is what is stored of a project and of what its document refers to.
type storedProject struct {
	inventory project.Inventory
	// own are the ids of the project's definitions, by kind and key.
	own map[project.Kind]map[string]uuid.UUID
	// keys are those under which definitions are stored, which moved changes only later.
	keys    map[uuid.UUID]string
	adopted map[uuid.UUID]bool

	channels map[uuid.UUID]*vigil.Channel
	checks   map[uuid.UUID]*vigil.Check
	rules    map[uuid.UUID]*vigil.Rule
	pages    map[uuid.UUID]*overview.StatusPage
	windows  map[uuid.UUID]*maintenance.Window

	subscriptions map[uuid.UUID]*subscription.Subscription
}

func newStoredProject(inventory project.Inventory, name string) *storedProject {
	s := &storedProject{
		inventory: inventory, own: make(map[project.Kind]map[string]uuid.UUID), keys: make(map[uuid.UUID]string),
		adopted: make(map[uuid.UUID]bool), channels: make(map[uuid.UUID]*vigil.Channel), checks: make(map[uuid.UUID]*vigil.Check),
		rules: make(map[uuid.UUID]*vigil.Rule), pages: make(map[uuid.UUID]*overview.StatusPage),
		windows: make(map[uuid.UUID]*maintenance.Window), subscriptions: make(map[uuid.UUID]*subscription.Subscription),
	}
	own := func(kind project.Kind, id uuid.UUID, by *vigil.ManagedBy, key string) {
		if ownedBy(by, name) {
			s.take(kind, key, id)
			s.keys[id] = key
		}
	}
	for i := range inventory.Channels {
		one := &inventory.Channels[i]
		s.channels[one.ID] = one
		own(project.KindChannel, one.ID, one.ManagedBy, keyOf(one.ManagedBy))
	}
	for i := range inventory.Checks {
		one := &inventory.Checks[i]
		s.checks[one.ID] = one
		own(project.KindCheck, one.ID, one.ManagedBy, keyOf(one.ManagedBy))
	}
	for i := range inventory.Rules {
		one := &inventory.Rules[i]
		s.rules[one.ID] = one
		key := keyOf(one.ManagedBy)
		if check := s.checks[one.CheckID]; check != nil && ownedBy(check.ManagedBy, name) {
			key = project.RuleKey(check.ManagedBy.Key, project.RuleKeyOf(key))
		}
		own(project.KindRule, one.ID, one.ManagedBy, key)
	}
	for i := range inventory.Pages {
		one := &inventory.Pages[i]
		s.pages[one.ID] = one
		own(project.KindStatusPage, one.ID, one.ManagedBy, keyOf(one.ManagedBy))
	}
	for i := range inventory.Windows {
		one := &inventory.Windows[i]
		s.windows[one.ID] = one
		own(project.KindMaintenance, one.ID, one.ManagedBy, keyOf(one.ManagedBy))
	}
	for i := range inventory.Subscriptions {
		one := &inventory.Subscriptions[i]
		s.subscriptions[one.ID] = one
		own(project.KindSubscription, one.ID, one.ManagedBy, keyOf(one.ManagedBy))
	}
	return s
}

func ownedBy(by *vigil.ManagedBy, project string) bool {
	return by != nil && by.Tool == vigil.ToolApply && by.Project == project
}

func keyOf(by *vigil.ManagedBy) string {
	if by == nil {
		return ""
	}
	return by.Key
}

func (s *storedProject) take(kind project.Kind, key string, id uuid.UUID) {
	if s.own[kind] == nil {
		s.own[kind] = make(map[string]uuid.UUID)
	}
	s.own[kind][key] = id
}

// manager returns what manages a definition, and whether it was read.
func (s *storedProject) manager(kind project.Kind, id uuid.UUID) (by *vigil.ManagedBy, known bool) {
	switch kind {
	case project.KindChannel:
		if one := s.channels[id]; one != nil {
			return one.ManagedBy, true
		}
	case project.KindCheck:
		if one := s.checks[id]; one != nil {
			return one.ManagedBy, true
		}
	case project.KindRule:
		if one := s.rules[id]; one != nil {
			return one.ManagedBy, true
		}
	case project.KindStatusPage:
		if one := s.pages[id]; one != nil {
			return one.ManagedBy, true
		}
	case project.KindMaintenance:
		if one := s.windows[id]; one != nil {
			return one.ManagedBy, true
		}
	case project.KindSubscription:
		if one := s.subscriptions[id]; one != nil {
			return one.ManagedBy, true
		}
	}
	return nil, false
}

func (d *decider) caller() *rest.Caller { return rest.CallerOf(d.ctx) }

// move gives stored definitions the keys that moved says. What was moved before is no
// error, so that the lines can stay in the files.
func (d *decider) move() {
	for i, moved := range d.document.Moved {
		path := "moved[" + strconv.Itoa(i) + "]"
		kind, from, ok := project.ParsePath(moved.From)
		toKind, to, okTo := project.ParsePath(moved.To)
		_, kept := d.ids[kind][from]
		_, wanted := d.ids[kind][to]
		id, stored := d.stored.own[kind][from]
		_, taken := d.stored.own[kind][to]
		switch {
		case !ok:
			d.problem(path+".from", "must be the path of a definition, such as checks.home or checks.home.rules.down")
		case !okTo || kind != toKind:
			d.problem(path+".to", "must be the path of a definition of the same kind as from")
		case kept:
			d.problem(path+".from", "is still in the document")
		case !wanted:
			d.problem(path+".to", "is not in the document")
		case !stored: // it was moved before
		case taken:
			d.problem(path, "cannot be done: there is %q and %q already; delete one of them first", from, to)
		default:
			delete(d.stored.own[kind], from)
			d.stored.take(kind, to, id)
			if kind == project.KindCheck {
				d.moveRules(from, to)
			}
		}
	}
}

// moveRules takes the rules of a check along.
func (d *decider) moveRules(from, to string) {
	for _, key := range slices.Sorted(maps.Keys(d.stored.own[project.KindRule])) {
		if rule, ok := strings.CutPrefix(key, from+"/"); ok {
			id := d.stored.own[project.KindRule][key]
			delete(d.stored.own[project.KindRule], key)
			d.stored.take(project.KindRule, project.RuleKey(to, rule), id)
		}
	}
}

// adopt takes over definitions that nothing manages yet.
func (d *decider) adopt() {
	for _, path := range slices.Sorted(maps.Keys(d.body.Adopt)) {
		member := "adopt." + path
		kind, key, ok := project.ParsePath(path)
		id, err := uuid.Parse(d.body.Adopt[path])
		by, known := d.stored.manager(kind, id)
		_, wanted := d.ids[kind][key]
		owned, taken := d.stored.own[kind][key]
		switch {
		case !ok:
			d.problem(member, "must be the path of a definition, such as checks.home or checks.home.rules.down")
		case !wanted:
			d.problem(member, "is not in the document")
		case err != nil || !known:
			d.problem(member, "must be the id of a %s of this organization", kind)
		case taken && owned == id: // it was adopted before
		case taken:
			d.problem(member, "cannot be adopted: the project has a %s with this key already", kind)
		case by != nil:
			d.problem(member, "is managed by %s in the project %s, as %s; release it there first", by.Tool, by.Project, by.Key)
		default:
			d.stored.take(kind, key, id)
			d.stored.adopted[id] = true
		}
	}
}

// managed is what manages a definition of the document.
func (d *decider) managed(key string) *vigil.ManagedBy {
	return &vigil.ManagedBy{Tool: vigil.ToolApply, Project: d.body.Project, Key: key}
}

// pairUp adds a pair. Item is the wanted definition, and stored the members of what is
// stored; nil for nothing.
func (d *decider) pairUp(
	wanted, stored *project.Item, note string, store func(members []string, action project.ActionKind),
) {
	pair := project.Pair{Wanted: wanted, Stored: stored, Note: note}
	if stored != nil {
		pair.Adopted = d.stored.adopted[stored.ID]
		stored.Key = d.stored.keys[stored.ID]
	}
	d.pairs = append(d.pairs, pairing{Pair: pair, store: store})
}

// pairChange pairs a definition with what is stored, nil for nothing. Item makes the items
// that are compared, and note is about what is stored.
func pairChange[T any](d *decider, into *[]project.Edit[T], before, after *T, item func(*T) *project.Item, note string) {
	var stored *project.Item
	if before == nil {
		note = ""
	} else {
		stored = item(before)
	}
	d.pairUp(item(after), stored, note, func(members []string, _ project.ActionKind) {
		*into = append(*into, project.Edit[T]{Before: before, After: after, Members: members})
	})
}

// miss pairs a definition that the document does not have any more.
func (d *decider) miss(kind project.Kind, key string, id uuid.UUID) {
	item := &project.Item{Kind: kind, Key: key, ID: id}
	var store func([]string, project.ActionKind)
	switch kind {
	case project.KindChannel:
		one := d.stored.channels[id]
		item.Name, item.Version, item.Applied = one.Name, one.Version, one.AppliedVersion
		store = missed(&d.changes.Channels, one, func(c *vigil.Channel) { c.ManagedBy = nil })
	case project.KindCheck:
		one := d.stored.checks[id]
		item.Name, item.Version, item.Applied = one.Name, one.Version, one.AppliedVersion
		store = missed(&d.changes.Checks, one, func(c *vigil.Check) { c.ManagedBy = nil })
	case project.KindRule:
		one := d.stored.rules[id]
		item.Name, item.Version, item.Applied = one.Name, one.Version, one.AppliedVersion
		store = missed(&d.changes.Rules, one, func(r *vigil.Rule) { r.ManagedBy = nil })
	case project.KindStatusPage:
		one := d.stored.pages[id]
		item.Name, item.Version, item.Applied = one.Title, one.Version, one.AppliedVersion
		store = missed(&d.changes.Pages, one, func(p *overview.StatusPage) { p.ManagedBy = nil })
	case project.KindMaintenance:
		one := d.stored.windows[id]
		item.Name, item.Version, item.Applied = one.Name, one.Version, one.AppliedVersion
		store = missed(&d.changes.Windows, one, func(w *maintenance.Window) { w.ManagedBy = nil })
	case project.KindSubscription:
		one := d.stored.subscriptions[id]
		item.Name, item.Version, item.Applied = one.Name, one.Version, one.AppliedVersion
		store = missed(&d.changes.Subscriptions, one, func(s *subscription.Subscription) { s.ManagedBy = nil })
	}
	d.keys(item)
	d.pairs = append(d.pairs, pairing{Pair: project.Pair{Stored: item}, store: store})
}

func (d *decider) keys(item *project.Item) {
	if key := d.stored.keys[item.ID]; key != "" {
		item.Key = key
	}
}

// missed returns what deletes or releases a definition.
func missed[T any](into *[]project.Edit[T], one *T, release func(*T)) func([]string, project.ActionKind) {
	return func(_ []string, action project.ActionKind) {
		edit := project.Edit[T]{Before: one}
		if action == project.ActionRelease {
			after := *one
			release(&after)
			edit.After, edit.Members = &after, []string{"managed_by"}
		}
		*into = append(*into, edit)
	}
}

// channelsInUse returns a CodeConflict error when a channel that is about to be deleted
// would still be notified by rules or subscriptions.
func (d *decider) channelsInUse() error {
	gone := make(map[uuid.UUID]string)
	for _, edit := range d.changes.Channels {
		if edit.After == nil {
			gone[edit.Before.ID] = edit.Before.Name
		}
	}
	if len(gone) == 0 {
		return nil
	}
	last := make(map[uuid.UUID]*vigil.Rule)
	for _, rules := range [][]vigil.Rule{d.stored.inventory.Rules, d.stored.inventory.Users} {
		for i := range rules {
			last[rules[i].ID] = &rules[i]
		}
	}
	for _, edit := range d.changes.Rules {
		switch {
		case edit.Before != nil:
			last[edit.Before.ID] = edit.After
		default:
			last[edit.After.ID] = edit.After
		}
	}
	deleted := make(map[uuid.UUID]bool)
	for _, edit := range d.changes.Checks {
		if edit.After == nil {
			deleted[edit.Before.ID] = true
		}
	}
	var users []string
	for _, rule := range last {
		if rule != nil && !deleted[rule.CheckID] && slices.ContainsFunc(rule.Channels, func(id uuid.UUID) bool { return gone[id] != "" }) {
			users = append(users, rule.Name)
		}
	}
	if len(users) == 0 {
		return d.subscribedInUse(gone)
	}
	slices.Sort(users)
	err := vigil.Errorf(vigil.CodeConflict,
		"Alert rules use channels that would be deleted: %s. Take the channels out of these rules first, or keep the channels.",
		strings.Join(users[:min(len(users), 5)], ", "))
	err.Details = map[string]any{"rules": users}
	return err
}

// subscribedInUse is channelsInUse for subscriptions.
func (d *decider) subscribedInUse(gone map[uuid.UUID]string) error {
	last := make(map[uuid.UUID]*subscription.Subscription)
	for _, stored := range [][]subscription.Subscription{d.stored.inventory.Subscriptions, d.stored.inventory.Subscribers} {
		for i := range stored {
			last[stored[i].ID] = &stored[i]
		}
	}
	for _, edit := range d.changes.Subscriptions {
		if edit.Before != nil {
			last[edit.Before.ID] = edit.After
		}
	}
	var users []string
	for _, one := range last {
		if one != nil && gone[one.ChannelID] != "" {
			users = append(users, one.Name)
		}
	}
	if len(users) == 0 {
		return nil
	}
	slices.Sort(users)
	err := vigil.Errorf(vigil.CodeConflict,
		"Subscriptions use channels that would be deleted: %s. Delete or change these first, or keep the channels.",
		strings.Join(users[:min(len(users), 5)], ", "))
	err.Details = map[string]any{"subscriptions": users}
	return err
}
