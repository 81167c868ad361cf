// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/vigil-monitor/vigil/client"
)

// Items of the navigation.
const (
	navChecks       = "checks"
	navIncidents    = "incidents"
	navDeliveries   = "deliveries"
	navChannels     = "channels"
	navStatus       = "status-pages"
	navMaintenance  = "maintenance"
	navOrganization = "organization"
	navKeys         = "api-keys"
	navReports      = "reports"
	navUsage        = "usage"
	navAudit        = "audit-log"
	navMembers      = "members"
	navAccount      = "account"
	navMore         = "more"

	navSubscriptions = "subscriptions"
	navDrills        = "drills"
	navLocations     = "locations"
	navRules         = "rules"
)

// nav is the navigation of a page.
type nav struct {
	Groups       []navGroup
	Organization string
	Incidents    int64 // that are open
	Failing      int64 // checks that are
	Current      string
	ReadOnly     bool         // the user's role may not change definitions or run drills
	Blind        *blindNote   // nil: every worker has its line
	Standby      *standbyNote // nil: the database answers
	Missing      string       // regions whose results the page may lack; empty: none
}

type navGroup struct {
	Title string
	Items []navItem
}

type navItem struct {
	Name, Text, Href, Icon string
	Count                  string
	Alarm                  bool // the count is of trouble
	Current                bool
	Out                    bool
}

// menu returns the navigation with an item as the current one.
func (r *request) menu(current string) (nav, error) {
	known, err := r.s.nav.read(r.Context(), r.api, r.who.UserID)
	if err != nil {
		return nav{}, err
	}
	n := nav{
		Organization: known.organization,
		Incidents:    known.incidents,
		Failing:      known.failing,
		Current:      current,
		ReadOnly:     known.readOnly,
		Blind:        r.blindNote(),
		Standby:      r.standbyNote(),
		Missing:      r.missingNote(),
	}
	n.Groups = []navGroup{
		{Items: []navItem{
			{Name: navChecks, Text: "Checks", Href: "/app", Icon: "checks", Count: number(known.checks)},
			{Name: navIncidents, Text: "Incidents", Href: "/app/incidents", Icon: "incidents", Count: known.open(), Alarm: true},
			{Name: navDeliveries, Text: "Deliveries", Href: "/app/deliveries", Icon: "deliveries"},
			{Name: navRules, Text: "Rules", Href: "/app/rules", Icon: "rules"},
			{Name: navChannels, Text: "Channels", Href: "/app/channels", Icon: "channels"},
			{Name: navSubscriptions, Text: "Subscriptions", Href: "/app/subscriptions", Icon: "list"},
			{Name: navDrills, Text: "Drills", Href: "/app/drills", Icon: "drills"},
			{Name: navReports, Text: "Reports", Href: "/app/reports", Icon: "usage"},
			{Name: navMaintenance, Text: "Maintenance", Href: "/app/maintenance", Icon: "pause"},
			{Name: navStatus, Text: "Status page", Href: "/app/status-pages", Icon: "status"},
		}},
		{Title: "Organization", Items: []navItem{
			{Name: navLocations, Text: "Locations", Href: "/app/locations", Icon: "locations"},
			{Name: navMembers, Text: "Members", Href: "/app/members", Icon: "person"},
			{Name: navKeys, Text: "API keys", Href: "/app/api-keys", Icon: "key"},
			{Name: navUsage, Text: "Usage", Href: "/app/usage", Icon: "usage"},
			{Name: navAudit, Text: "Audit log", Href: "/app/audit-log", Icon: "list"},
			{Name: navOrganization, Text: "Settings", Href: "/app/organization", Icon: "settings"},
		}},
		{
			Title: "Elsewhere",
			Items: []navItem{{Text: "Wall", Href: "/app/wall", Icon: "wall"}, {Text: "API docs", Href: "/docs", Icon: "code", Out: true}},
		},
	}
	if ui := r.s.deps.Config.TemporalUIURL; ui != "" {
		last := &n.Groups[len(n.Groups)-1]
		last.Items = append(last.Items, navItem{Text: "Temporal", Href: ui, Icon: "clock", Out: true})
	}
	for g := range n.Groups {
		for i := range n.Groups[g].Items {
			item := &n.Groups[g].Items[i]
			item.Current = item.Name == current && current != ""
			if known.checks == 0 && item.Name == navChecks {
				item.Count = ""
			}
		}
	}
	return n, nil
}

// readOnly reports whether the user's role may not change definitions or run drills: pages then
// offer neither.
func (r *request) readOnly() bool {
	known, err := r.s.nav.read(r.Context(), r.api, r.who.UserID)
	return err == nil && known.readOnly
}

// navCache keeps the figures of the navigation for a moment, so that a page does not ask
// for them each time.
type navCache struct {
	now func() time.Time

	mu    sync.Mutex
	known map[uuid.UUID]navFigures
}

type navFigures struct {
	organization               string
	readOnly                   bool
	checks, failing, incidents int64
	at                         time.Time
}

// open is the number of open incidents as the navigation shows it; empty for none.
func (f *navFigures) open() string {
	if f.incidents == 0 {
		return ""
	}
	return number(f.incidents)
}

const (
	navTTL     = 2 * time.Second
	navEntries = 10_000
)

func newNavCache(now func() time.Time) *navCache {
	return &navCache{now: now, known: make(map[uuid.UUID]navFigures)}
}

// forget drops the figures of a user whose page changed them.
func (c *navCache) forget(user uuid.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, user)
}

func (c *navCache) read(ctx context.Context, api *client.ClientWithResponses, user uuid.UUID) (navFigures, error) {
	c.mu.Lock()
	known, ok := c.known[user]
	c.mu.Unlock()
	if ok && c.now().Sub(known.at) < navTTL {
		return known, nil
	}
	known = navFigures{at: c.now()}
	one, yes, active := int64(1), true, client.ListIncidentsParamsStatusActive
	var acknowledged int64
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error {
		me, err := api.GetMeWithResponse(ctx)
		if err == nil {
			known.organization = me.JSON200.Data.Organization.Name
			known.readOnly = !slices.Contains(me.JSON200.Data.Scopes, client.MeScopesWrite)
		}
		return err
	})
	work.Go(func() error {
		list, err := api.ListChecksWithResponse(ctx, &client.ListChecksParams{Limit: &one, Counts: &yes})
		if err == nil {
			known.checks = totalOf(list.JSON200.Meta)
			if counts := list.JSON200.Meta.Counts; counts != nil {
				known.failing = counts.Failing
			}
		}
		return err
	})
	work.Go(func() error {
		list, err := api.ListIncidentsWithResponse(ctx, &client.ListIncidentsParams{Limit: &one, Status: &active})
		if err == nil {
			known.incidents = totalOf(list.JSON200.Meta)
		}
		return err
	})
	work.Go(func() error {
		status := client.ListIncidentsParamsStatusAcknowledged
		list, err := api.ListIncidentsWithResponse(ctx, &client.ListIncidentsParams{Limit: &one, Status: &status})
		if err == nil {
			acknowledged = totalOf(list.JSON200.Meta)
		}
		return err
	})
	if err := work.Wait(); err != nil {
		return navFigures{}, err
	}
	known.incidents += acknowledged
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= navEntries {
		clear(c.known)
	}
	c.known[user] = known
	return known, nil
}

// totalOf reads how many rows a list has in all.
func totalOf(meta client.Meta) int64 {
	total, _ := strconv.ParseInt(meta.Total, 10, 64) // the API writes a number
	return total
}
