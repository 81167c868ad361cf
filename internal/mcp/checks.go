// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/client"
)

func (s *Server) checkTools() []*tool {
	return []*tool{
		{
			name: "list_checks", title: "Checks", effect: reads, scopes: read(), run: does(listChecks),
			input: s.schemas.members().query("list-checks", "health", "type", "query", "enabled").
				own("label", text("Checks with a label: key=value, or key for any value.")).
				own("limit", number("How many to show; 25 by default.", 1, 50)).own("cursor", cursorMember()),
			description: "Lists checks with their target, health and labels. Filter by health, type, label or a text. " +
				"Use get_check for the definition, the rules and the newest results of one.",
		},
		{
			name: "get_check", title: "Check", effect: reads, scopes: read(), run: does(getCheck),
			input: s.schemas.members().own("check", checkMember()).require("check"),
			description: "Shows one check: its definition and revision, its rules, who is notified and why, its loop in each region, " +
				"the last 5 results with the newest evidence of a failure, and the uptime of 24 hours. Use get_results for more results.",
		},
		{
			name: "get_results", title: "Results", effect: reads, scopes: read(), run: does(getResults),
			input: s.schemas.members().own("check", checkMember()).require("check").
				query("list-results", "region", "from", "to", "evidence").
				own("failed_only", flag("Only failures.")).own("limit", number("How many to show; 20 by default.", 1, 100)).
				own("cursor", cursorMember()),
			description: "Lists results of a check, newest first, with the time that each phase took and the error of a failure. " +
				"With evidence, failures that have has_evidence show what the probe saw of the target. " +
				"Use get_uptime for percentages and response times over a period.",
		},
		{
			name: "get_uptime", title: "Uptime", effect: reads, scopes: read(), run: does(getUptime),
			input: s.schemas.members().own("checks", textList("Checks, by id or exact name.", maxUptimes)).
				own("label", text("Checks with a label: key=value, or key for any value.")).query("get-uptime", "period"),
			description: "Shows uptime, coverage and response times (p50, p95, p99) of up to 20 checks over a period, in all and by region. " +
				"Coverage says how many of the expected results there are: uptime with a low coverage says little.",
		},
	}
}

// checkMember is the schema of a check in an input.
func checkMember() object {
	return text("The check: its id, its key such as shop/home, or its exact name.")
}

type checksInput struct {
	Health, Type, Query, Label, Cursor string
	Enabled                            *bool
	Limit                              int64
}

func listChecks(c *call, in checksInput) (object, error) {
	params := client.ListChecksParams{
		Cursor: given(in.Cursor), Query: given(in.Query), Type: given(in.Type), Enabled: in.Enabled,
		Health: given(client.ListChecksParamsHealth(in.Health)), Label: labels(in.Label),
	}
	return listing("checks", or(in.Limit, 25), func(limit int64) (page, error) {
		params.Limit = &limit
		return list(c.api.ListChecks(c.ctx, &params))
	}, func(check object) (object, error) {
		row := pick(check, "id", "name", "type", "enabled", "health_status", "last_checked", "interval_seconds", "regions", "labels",
			"managed_by")
		row["target"] = targetOf(check)
		return cleanObject(row), nil
	})
}

// labels returns the filter of a label.
func labels(label string) *[]string {
	if label == "" {
		return nil
	}
	return &[]string{label}
}

// targetOf returns what a check probes, for a list.
func targetOf(check object) string {
	config, _ := check["config"].(object)
	if url, ok := config["url"].(string); ok {
		return url
	}
	host, _ := config["host"].(string)
	if port, ok := config["port"].(json.Number); ok {
		return host + ":" + port.String()
	}
	return host
}

// check finds a check by its id or its exact name.
func (c *call) check(name string) (uuid.UUID, error) {
	if id, err := uuid.Parse(name); err == nil {
		return id, nil
	}
	if strings.TrimSpace(name) == "" {
		return uuid.Nil, vigil.Invalid("check", "must be an id or a name")
	}
	if project, key, ok := strings.Cut(name, "/"); ok {
		part, err := list(c.api.ListChecks(c.ctx, &client.ListChecksParams{Project: &project, Key: &key, Limit: new(int64(2))}))
		if err == nil && len(part.rows) == 1 {
			id, _ := part.rows[0]["id"].(string)
			return parseID("check", id)
		}
	}
	// The text of a name is also in labels and errors of others, so the check may be on a later page.
	var all page
	for params := (client.ListChecksParams{Query: &name, Limit: new(int64(100))}); ; params.Cursor = &all.next {
		part, err := list(c.api.ListChecks(c.ctx, &params))
		if err != nil {
			return uuid.Nil, err
		}
		all.rows, all.next = append(all.rows, part.rows...), part.next
		if all.next == "" {
			return only(all, "check", name)
		}
	}
}

// only returns the id of the one row that has a name.
func only(part page, kind, name string) (uuid.UUID, error) {
	var found []string
	for _, row := range part.rows {
		if id, ok := row["id"].(string); ok && row["name"] == name {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 0:
		return uuid.Nil, vigil.NotFound(kind)
	case 1:
		return uuid.Parse(found[0])
	}
	return uuid.Nil, &vigil.Error{
		Code:    vigil.CodeConflict,
		Message: fmt.Sprintf("%d of them have this name. Use one of the ids.", len(found)),
		Details: map[string]any{"ids": found},
	}
}

func getCheck(c *call, in struct{ Check string }) (object, error) {
	id, err := c.check(in.Check)
	if err != nil {
		return nil, err
	}
	check, err := one(c.api.GetCheck(c.ctx, id, nil))
	if err != nil {
		return nil, err
	}
	delete(check, "summary")
	result := object{"check": clean(check), "link": c.s.deps.PublicURL + "/app/checks/" + id.String()}
	for _, part := range []struct {
		name string
		read func() (page, error)
	}{
		{"rules", func() (page, error) {
			return list(c.api.ListAlertRules(c.ctx, id, &client.ListAlertRulesParams{Limit: new(int64(20))}))
		}},
		{"recipients", func() (page, error) {
			return list(c.api.ListCheckRecipients(c.ctx, id, &client.ListCheckRecipientsParams{Limit: new(int64(40))}))
		}},
		{"loops", func() (page, error) {
			return list(c.api.ListCheckRegions(c.ctx, id, &client.ListCheckRegionsParams{Limit: new(int64(40))}))
		}},
		{"results", func() (page, error) {
			found, err := list(c.api.ListResults(c.ctx, id, &client.ListResultsParams{Limit: new(int64(5)), Evidence: new(true)}))
			return newestEvidence(found), err
		}},
	} {
		rows, err := part.read()
		if err != nil {
			return nil, err
		}
		result[part.name] = cleanRows(rows.rows, "check_id", "org_id")
		if rows.next != "" && part.name != "results" {
			result["truncated"] = true
		}
	}
	uptime, err := one(c.api.GetUptime(c.ctx, id, &client.GetUptimeParams{Period: new(client.GetUptimeParamsPeriod("24h"))}))
	if err != nil {
		return nil, err
	}
	delete(uptime, "by_region")
	result["uptime_24h"] = clean(uptime)
	return result, nil
}

// newestEvidence leaves the evidence of one result only, since it is long.
func newestEvidence(results page) page {
	found := false
	for _, row := range results.rows {
		if found {
			delete(row, "evidence")
		}
		found = found || row["evidence"] != nil
	}
	return results
}

// cleanRows cleans the rows of a list and leaves out members that the result says elsewhere.
func cleanRows(rows []object, without ...string) []any {
	out := make([]any, 0, len(rows))
	for _, row := range rows {
		for _, name := range without {
			delete(row, name)
		}
		out = append(out, clean(row))
	}
	return out
}

type resultsInput struct {
	Check, Region, Cursor string
	From, To              time.Time
	FailedOnly            bool `json:"failed_only"`
	Evidence              bool
	Limit                 int64
}

func getResults(c *call, in resultsInput) (object, error) {
	id, err := c.check(in.Check)
	if err != nil {
		return nil, err
	}
	params := client.ListResultsParams{Cursor: given(in.Cursor), Region: given(in.Region), From: given(in.From), To: given(in.To)}
	if in.FailedOnly {
		params.Success = new(false)
	}
	if in.Evidence {
		params.Evidence = &in.Evidence
	}
	result, err := listing("results", or(in.Limit, 20), func(limit int64) (page, error) {
		params.Limit = &limit
		return list(c.api.ListResults(c.ctx, id, &params))
	}, func(row object) (object, error) {
		delete(row, "check_id")
		return cleanObject(row), nil
	})
	if err == nil {
		result["check_id"] = id.String()
	}
	return result, err
}

// maxUptimes is how many checks one call of get_uptime shows.
const maxUptimes = 20

type uptimeInput struct {
	Checks        []string
	Label, Period string
}

func getUptime(c *call, in uptimeInput) (object, error) {
	if (len(in.Checks) == 0) == (in.Label == "") {
		return nil, vigil.Invalid("checks", "give either checks or label")
	}
	rows, result := []object{}, object{}
	for _, name := range in.Checks {
		id, err := c.check(name)
		if err != nil {
			return nil, err
		}
		check, err := one(c.api.GetCheck(c.ctx, id, nil))
		if err != nil {
			return nil, err
		}
		rows = append(rows, check)
	}
	if in.Label != "" {
		part, err := list(c.api.ListChecks(c.ctx, &client.ListChecksParams{Label: labels(in.Label), Limit: new(int64(maxUptimes))}))
		if err != nil {
			return nil, err
		}
		rows = part.rows
		if part.next != "" {
			result["truncated"] = true
		}
	}
	shown := make([]any, 0, len(rows))
	for _, check := range rows {
		name, _ := check["id"].(string)
		id, err := uuid.Parse(name)
		if err != nil {
			return nil, err
		}
		uptime, err := one(c.api.GetUptime(c.ctx, id, &client.GetUptimeParams{Period: given(client.GetUptimeParamsPeriod(in.Period))}))
		if err != nil {
			return nil, err
		}
		row := cleanObject(pick(check, "id", "name"))
		row["uptime"] = clean(uptime)
		shown = append(shown, row)
	}
	result["checks"] = shown
	return result, nil
}
