// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"time"

	"github.com/vigil-monitor/vigil/client"
)

func (s *Server) overviewTools() []*tool {
	return []*tool{
		{
			name: "get_overview", title: "Overview", effect: reads, scopes: read(), input: s.schemas.members(), run: does(overview),
			description: "Shows how everything is right now: checks by state, open incidents, regions that are offline, " +
				"what the plan allows and uses, and links. Start here; go on with list_checks or list_incidents for details.",
		},
		{
			name: "list_changes", title: "Changes", effect: reads, scopes: read(), run: does(listChanges),
			input: s.schemas.members().own("since", instant("Changes at or after this instant.")).
				query("list-audit-log", "resource").own("resource_id", text("Changes of one thing, by its id.")).
				own("limit", number("How many to show; 50 by default.", 1, 100)).own("cursor", cursorMember()),
			description: "Lists who changed what and when, newest first, from the audit log. It names the members that were given and " +
				"never their values. Useful when something broke: look for changes just before an incident started.",
		},
	}
}

// cursorMember is the schema of the cursor that all lists take.
func cursorMember() object {
	return text("The next_cursor of a result, for the rows after it; send the same filters again.")
}

// openStates are the states of incidents that are not over.
func openStates() []client.ListIncidentsParamsStatus {
	return []client.ListIncidentsParamsStatus{
		client.ListIncidentsParamsStatusActive, client.ListIncidentsParamsStatusAcknowledged,
	}
}

// openShown is how many open incidents of a state the overview shows.
const openShown = 10

func overview(c *call, _ struct{}) (object, error) {
	checks, err := list(c.api.ListChecks(c.ctx, &client.ListChecksParams{Limit: new(int64(1)), Counts: new(true)}))
	if err != nil {
		return nil, err
	}
	result := object{"checks": checks.meta["counts"], "links": object{
		"dashboard": c.s.deps.PublicURL + "/app", "api_reference": c.s.deps.PublicURL + "/docs",
	}}
	open := []any{}
	for _, status := range openStates() {
		part, err := list(c.api.ListIncidents(c.ctx, &client.ListIncidentsParams{Status: &status, Limit: new(int64(openShown))}))
		if err != nil {
			return nil, err
		}
		for _, incident := range part.rows {
			open = append(open, incidentRow(incident))
		}
		if part.next != "" {
			result["more_open_incidents"] = true
		}
	}
	result["open_incidents"] = open
	regions, err := list(c.api.ListRegions(c.ctx, &client.ListRegionsParams{Limit: new(int64(100))}))
	if err != nil {
		return nil, err
	}
	offline := []any{}
	for _, region := range regions.rows {
		if region["status"] != "online" {
			offline = append(offline, region["key"])
		}
	}
	result["regions"] = object{"all": len(regions.rows), "offline": offline}
	usage, err := one(c.api.GetUsage(c.ctx))
	if err != nil {
		return nil, err
	}
	result["usage"] = clean(usage)
	return result, nil
}

type changesInput struct {
	Since      time.Time `json:"since"`
	Resource   string    `json:"resource"`
	ResourceID string    `json:"resource_id"`
	Limit      int64     `json:"limit"`
	Cursor     string    `json:"cursor"`
}

func listChanges(c *call, in changesInput) (object, error) {
	resource, err := optionalID("resource_id", in.ResourceID)
	if err != nil {
		return nil, err
	}
	fetch := func(limit int64) (page, error) {
		part, err := list(c.api.ListAuditLog(c.ctx, &client.ListAuditLogParams{
			Limit: &limit, Cursor: given(in.Cursor), Resource: given(in.Resource), ResourceId: resource,
		}))
		return part.since(in.Since, "created_at"), err
	}
	return listing("changes", or(in.Limit, 50), fetch, func(entry object) (object, error) {
		return cleanObject(pick(
			entry, "created_at", "action", "resource_id", "user_id", "user_name", "api_key_id", "members", "request_id", "user_agent")), nil
	})
}

// or returns a limit, or another when none is given.
func or(limit, otherwise int64) int64 {
	if limit == 0 {
		return otherwise
	}
	return limit
}

// since leaves out the rows before an instant from a page that has the newest first.
func (p page) since(at time.Time, member string) page {
	if at.IsZero() {
		return p
	}
	for i, row := range p.rows {
		text, _ := row[member].(string)
		if when, err := time.Parse(time.RFC3339Nano, text); err == nil && when.Before(at) {
			p.rows, p.next = p.rows[:i], ""
			break
		}
	}
	return p
}
