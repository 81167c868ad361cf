// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/audit"
	"github.com/vigil-monitor/vigil/internal/maintenance"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/internal/project"
	"github.com/vigil-monitor/vigil/internal/subscription"
	"github.com/vigil-monitor/vigil/storage"
)

// TestEveryWayChangesTheSame makes the same change of the same random state one at a time, in
// bulk and by apply, each in a database of its own. The rows, the audit entries, what is to be
// woken, and the refusals are the same.
func TestEveryWayChangesTheSame(t *testing.T) {
	t.Parallel()
	ways := []*changeWay{{name: "single"}, {name: "bulk"}, {name: "apply"}}
	for _, w := range ways {
		w.store, w.clock = newStore(t)
	}
	rapid.Check(t, func(rt *rapid.T) {
		state := drawState(rt)
		change := state.drawChange(rt)
		var group sync.WaitGroup
		outcomes, errs := make([]changeOutcome, len(ways)), make([]error, len(ways))
		for i, w := range ways {
			if (w.name != "bulk" || change.inBulk()) && (w.name != "single" || len(change.ids) == 1) {
				group.Go(func() { outcomes[i], errs[i] = w.outcome(t.Context(), state, change) })
			}
		}
		group.Wait()
		if err := errors.Join(errs...); err != nil {
			rt.Fatal(err)
		}
		want := outcomes[2]
		for i, got := range outcomes[:2] {
			if got != (changeOutcome{}) && got != want {
				rt.Errorf("%s %s %v:\n%s has\n%s\napply has\n%s", change.verb, change.kind, change.ids, ways[i].name,
					got.without(want), want.without(got))
			}
		}
	})
}

// changeOutcome is what a change did.
type changeOutcome struct{ refusal, woken, rows string }

// without returns the lines of an outcome that another one does not have.
func (o changeOutcome) without(other changeOutcome) string {
	lines := func(o changeOutcome) []string {
		return append(strings.Split(o.rows, "\n"), "refused "+o.refusal, "woken "+o.woken)
	}
	theirs := lines(other)
	return strings.Join(slices.DeleteFunc(lines(o), func(line string) bool { return slices.Contains(theirs, line) }), "\n")
}

// changedState is what an organization has before the change, and the limits of its plan.
type changedState struct {
	org      account.Organization
	user     account.User
	made     project.Changes
	plan     account.Plan
	allow    account.Allowance
	full     bool      // the organization has as many checks as its plan allows
	incident uuid.UUID // of the first check, by its first rule; zero: none
}

func drawState(rt *rapid.T) *changedState {
	s := &changedState{
		org:  account.Organization{ID: uuid.New(), Name: "Acme"},
		user: account.User{ID: uuid.New(), Name: "Ada"},
		plan: account.Plan{
			Tier:                   account.TierFree,
			ExecutionsPerHour:      rapid.SampledFrom([]int64{account.Unlimited, account.Unlimited, 720, 1440}).Draw(rt, "executions"),
			ThroughputBytesPerHour: rapid.SampledFrom([]int64{1 << 20, 5 << 30, account.Unlimited}).Draw(rt, "bytes"),
		},
		allow: account.Allowance{CreationsPerHour: rapid.SampledFrom([]int64{account.Unlimited, 1, 2, 9}).Draw(rt, "creations")},
		full:  rapid.IntRange(0, 9).Draw(rt, "full") == 0,
	}
	s.user.Email = s.user.ID.String() + "@example.com"
	// As many as the plan allows, or fewer.
	channels, rules, pages, windows := 20, 10, 1, 3
	if rapid.Bool().Draw(rt, "room") {
		channels, rules, pages, windows = 2, rapid.IntRange(0, 2).Draw(rt, "rules"), 0, rapid.IntRange(0, 2).Draw(rt, "windows")
	}
	for range channels {
		s.made.Channels = append(s.made.Channels, project.Edit[vigil.Channel]{After: s.newChannel(rt)})
	}
	for i := range rapid.IntRange(1, 3).Draw(rt, "checks") {
		check := s.newCheck(rt)
		if i == 0 {
			check.ManagedBy = &vigil.ManagedBy{Tool: "apply", Project: "shop", Key: "taken"}
		}
		s.made.Checks = append(s.made.Checks, project.Edit[vigil.Check]{After: check})
	}
	for range rules {
		s.made.Rules = append(s.made.Rules, project.Edit[vigil.Rule]{After: s.newRule()})
	}
	for range pages {
		s.made.Pages = append(s.made.Pages, project.Edit[overview.StatusPage]{After: s.newPage()})
	}
	for range windows {
		s.made.Windows = append(s.made.Windows, project.Edit[maintenance.Window]{After: s.newWindow()})
	}
	for range rapid.IntRange(0, 2).Draw(rt, "subscriptions") {
		s.made.Subscriptions = append(s.made.Subscriptions, project.Edit[subscription.Subscription]{After: s.newSubscription()})
	}
	if len(s.made.Rules) > 0 && rapid.Bool().Draw(rt, "incident") {
		s.incident = uuid.New()
	}
	return s
}

func (s *changedState) newCheck(rt *rapid.T) *vigil.Check {
	c := draft(s.org.ID, rapid.SampledFrom([][]string{{newark}, {newark, frankfurt}}).Draw(rt, "regions")...)
	c.ID, c.Enabled, c.Simultaneous = uuid.New(), rapid.Bool().Draw(rt, "enabled"), rapid.Bool().Draw(rt, "simultaneous")
	if rapid.Bool().Draw(rt, "throughput") {
		c.Type = vigil.TypeThroughput
	}
	return &c
}

func (s *changedState) newChannel(rt *rapid.T) *vigil.Channel {
	return &vigil.Channel{
		ID: uuid.New(), OrgID: s.org.ID, Name: "hook", Type: vigil.ChannelWebhook, Config: json.RawMessage(`{}`),
		Enabled: rapid.Bool().Draw(rt, "enabled"),
	}
}

func (s *changedState) newRule() *vigil.Rule {
	return &vigil.Rule{
		ID: uuid.New(), OrgID: s.org.ID, CheckID: s.made.Checks[0].After.ID, Name: "Down", Condition: vigil.Condition{FailureThreshold: 1},
		Channels: []uuid.UUID{s.made.Channels[0].After.ID}, NotifyOn: vigil.NotifyBoth, Policy: vigil.AnyRegion, Enabled: true,
	}
}

func (s *changedState) newPage() *overview.StatusPage {
	id := uuid.New()
	return &overview.StatusPage{
		ID: id, OrgID: s.org.ID, Slug: "p-" + id.String(), Title: "Acme", Enabled: true,
		Groups: []overview.StatusGroup{{Name: "All", Checks: []overview.PublicCheck{{CheckID: s.made.Checks[0].After.ID, Name: "Home"}}}},
	}
}

func (s *changedState) newWindow() *maintenance.Window {
	return &maintenance.Window{
		ID: uuid.New(), OrgID: s.org.ID, Name: "Update", Enabled: true, Probing: maintenance.ProbingContinue, Uptime: maintenance.UptimeExclude,
		Scope: maintenance.Scope{CheckIDs: []uuid.UUID{s.made.Checks[0].After.ID}},
		Schedule: maintenance.Schedule{
			StartsAt: time.Date(2199, 1, 2, 3, 0, 0, 0, time.UTC), Timezone: "UTC", Duration: time.Hour,
		},
	}
}

func (s *changedState) newSubscription() *subscription.Subscription {
	return &subscription.Subscription{
		ID: uuid.New(), OrgID: s.org.ID, Name: "All", ChannelID: s.made.Channels[0].After.ID, Events: []string{"incident.*"}, Enabled: true,
		Selector: subscription.Selector{CheckIDs: []uuid.UUID{s.made.Checks[0].After.ID}},
	}
}

// changeOf is a change of one kind of definition: what is created, or how those of the ids change.
type changeOf[T any] struct {
	create *T
	edit   func(*T)
}

// drawnChange creates, changes or deletes definitions.
type drawnChange struct {
	kind    project.Kind
	verb    string
	ids     []uuid.UUID
	check   changeOf[vigil.Check]
	rule    changeOf[vigil.Rule]
	channel changeOf[vigil.Channel]
	page    changeOf[overview.StatusPage]
	window  changeOf[maintenance.Window]

	subscription changeOf[subscription.Subscription]
}

func (c *drawnChange) inBulk() bool { return c.kind == project.KindCheck && c.verb != "create" }

func (s *changedState) drawChange(rt *rapid.T) *drawnChange {
	c := &drawnChange{
		kind: rapid.SampledFrom([]project.Kind{
			project.KindCheck, project.KindCheck, project.KindCheck, project.KindCheck,
			project.KindRule, project.KindChannel, project.KindStatusPage, project.KindMaintenance,
			project.KindSubscription,
		}).Draw(rt, "kind"),
		verb: rapid.SampledFrom([]string{"create", "create", "update", "update", "delete"}).Draw(rt, "verb"),
	}
	foreign := rapid.IntRange(0, 4).Draw(rt, "foreign") == 0
	switch c.kind {
	case project.KindCheck:
		c.check.create, c.check.edit = s.newCheck(rt), drawCheckEdit(rt)
		if rapid.IntRange(0, 4).Draw(rt, "managed") == 0 {
			c.check.create.ManagedBy = &vigil.ManagedBy{
				Tool: "apply", Project: "shop", Key: rapid.SampledFrom([]string{"taken", "free"}).Draw(rt, "key"),
			}
		}
		many := rapid.IntRange(1, len(s.made.Checks)).Draw(rt, "many")
		choose(c, c.check.create.ID, s.made.Checks, many, func(v *vigil.Check) uuid.UUID { return v.ID })
	case project.KindRule:
		c.rule.create = s.newRule()
		c.rule.edit = func(r *vigil.Rule) { r.Name, r.Enabled = "Changed", !r.Enabled }
		if foreign {
			c.rule.create.Channels = []uuid.UUID{uuid.New()}
			c.rule.edit = func(r *vigil.Rule) { r.Channels = []uuid.UUID{uuid.Max} }
		}
		choose(c, c.rule.create.ID, s.made.Rules, 1, func(v *vigil.Rule) uuid.UUID { return v.ID })
	case project.KindChannel:
		c.channel.create = s.newChannel(rt)
		c.channel.edit = func(ch *vigil.Channel) { ch.Name, ch.Enabled = "Changed", !ch.Enabled }
		choose(c, c.channel.create.ID, s.made.Channels, 1, func(v *vigil.Channel) uuid.UUID { return v.ID })
	case project.KindStatusPage:
		c.page.create = s.newPage()
		c.page.edit = func(p *overview.StatusPage) { p.Title, p.Enabled = "Changed", !p.Enabled }
		if foreign {
			c.page.edit = func(p *overview.StatusPage) {
				p.Groups = []overview.StatusGroup{{Checks: []overview.PublicCheck{{CheckID: uuid.Max}}}}
			}
		}
		choose(c, c.page.create.ID, s.made.Pages, 1, func(v *overview.StatusPage) uuid.UUID { return v.ID })
	case project.KindMaintenance:
		c.window.create = s.newWindow()
		c.window.edit = func(w *maintenance.Window) { w.Name, w.Duration = "Changed", w.Duration+time.Hour }
		if foreign {
			c.window.edit = func(w *maintenance.Window) { w.Scope = maintenance.Scope{All: true} } // not on this plan
		}
		choose(c, c.window.create.ID, s.made.Windows, 1, func(v *maintenance.Window) uuid.UUID { return v.ID })
	case project.KindSubscription:
		c.subscription.create = s.newSubscription()
		c.subscription.edit = func(v *subscription.Subscription) {
			v.Name, v.Enabled, v.Selector.CheckIDs = "Changed", !v.Enabled, nil
		}
		if foreign {
			c.subscription.create.ChannelID = uuid.Max
			c.subscription.edit = func(v *subscription.Subscription) { v.Selector.CheckIDs = []uuid.UUID{uuid.Max} }
		}
		choose(c, c.subscription.create.ID, s.made.Subscriptions, 1, func(v *subscription.Subscription) uuid.UUID { return v.ID })
	}
	return c
}

// choose sets the ids of a change: those of the first definitions, or of the one that is created.
func choose[T any](c *drawnChange, created uuid.UUID, stored []project.Edit[T], many int, id func(*T) uuid.UUID) {
	if len(stored) == 0 {
		c.verb = "create"
	}
	if c.verb == "create" {
		c.ids = []uuid.UUID{created}
		return
	}
	for _, edit := range stored[:many] {
		c.ids = append(c.ids, id(edit.After))
	}
}

func drawCheckEdit(rt *rapid.T) func(*vigil.Check) {
	regions := rapid.SampledFrom([][]string{{newark}, {frankfurt}, {singapore, newark}}).Draw(rt, "new regions")
	return rapid.SampledFrom([]func(*vigil.Check){
		func(c *vigil.Check) { c.Type, c.Enabled, c.Interval = vigil.TypeThroughput, true, 2*time.Second },
		func(c *vigil.Check) { c.Name = "Changed" },
		func(c *vigil.Check) { c.Enabled = !c.Enabled },
		func(c *vigil.Check) { c.Simultaneous = !c.Simultaneous },
		func(c *vigil.Check) { c.Interval = 2 * time.Second },
		func(c *vigil.Check) { c.Interval, c.Labels = time.Minute, vigil.Labels{"team": "web"} },
		func(c *vigil.Check) { c.Name, c.Regions = "Changed", regions },
		func(c *vigil.Check) { c.Retry.Attempts++ },
		func(c *vigil.Check) { c.Config = json.RawMessage(`{"url": "https://example.com/\u0000"}`) }, // cannot be stored
	}).Draw(rt, "edit")
}

// changeWay makes changes in one way.
type changeWay struct {
	name  string
	store *storage.Store
	clock *clock
}

// outcome makes a change of a state, and returns what it did.
func (w *changeWay) outcome(ctx context.Context, s *changedState, c *drawnChange) (out changeOutcome, err error) {
	if err := w.prepare(ctx, s); err != nil {
		return out, err
	}
	resource := string(c.kind)
	if c.kind == project.KindMaintenance {
		resource = "maintenance_window"
	}
	entry := &audit.Entry{
		OrgID: s.org.ID, UserID: s.user.ID, UserEmail: s.user.Email, Action: resource + "." + c.verb, ResourceID: c.ids[0],
		Members: []string{"name"},
	}
	edits, refused := w.make(audit.NewContext(ctx, entry), s, c)
	if refused != nil {
		known, ok := errors.AsType[*vigil.Error](refused)
		if !ok {
			return out, fmt.Errorf("%s of %s by %s: %w", c.verb, c.kind, w.name, refused)
		}
		details := maps.Clone(known.Details)
		delete(details, "check_id") // a bulk change says which check it is about
		out.refusal = fmt.Sprint(known.Code, known.Message, details)
	}
	out.woken = wokenBy(edits)
	if out.rows, err = w.rows(ctx, s, c); err != nil {
		return out, err
	}
	return out, nil
}

// wokenBy says what the api wakes after edits.
func wokenBy(edits []vigil.CheckEdit) string {
	var woken []string
	for _, e := range edits {
		lost := e.Stopped
		if e.After.ID != uuid.Nil {
			lost = slices.DeleteFunc(slices.Clone(e.Before.Regions), func(r string) bool { return slices.Contains(e.After.Regions, r) })
		}
		if e.Changed {
			woken = append(woken, fmt.Sprint(cmp.Or(e.After.ID, e.Before.ID), e.After.Revision, lost, len(e.Deliveries)))
		}
	}
	slices.Sort(woken)
	return strings.Join(woken, "; ")
}
