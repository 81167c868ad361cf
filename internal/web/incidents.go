// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"

	"golang.org/x/sync/errgroup"

	"github.com/vigil-monitor/vigil/client"
)

// incidentsBody is what the list of incidents shows.
type incidentsBody struct {
	Filters []choice
	Check   *link // the check that the list is limited to
	Rows    []incidentRow
	Pager   pager
	Empty   *empty
}

// incidentRow is a row of the list.
type incidentRow struct {
	ID            string
	Mark          mark
	Title, Href   string
	Reason        string // of an open one
	State         string // of its color
	Severity      string
	Regions       string
	Opened        stamp
	Length        stamp
	Handled       string // who has it, or how it ended
	Run           string
	Acknowledge   bool
	CheckHref     string
	Notifications string
}

func (s *Server) incidentListRoutes(on *routes) {
	on.page("GET /app/incidents", s.incidentList)
}

// incidentStates are the filters of the list.
func incidentStates() []string { return []string{"active", "acknowledged", "resolved"} }

func (s *Server) incidentList(r *request) error {
	p, err := s.readIncidents(r)
	if err != nil {
		return err
	}
	return r.render(http.StatusOK, "incidents", p)
}

// readIncidents reads the list of incidents that the address of the request asks for.
func (s *Server) readIncidents(r *request) (page, error) {
	status := r.oneOf("status", incidentStates()...)
	check := r.idParameter("check_id")
	limit := int64(listPage)
	params := client.ListIncidentsParams{Limit: &limit, Cursor: r.cursor(), CheckId: check, AlertRuleId: r.idParameter("alert_rule_id")}
	if status != "" {
		chosen := client.ListIncidentsParamsStatus(status)
		params.Status = &chosen
	}
	list, err := r.api.ListIncidentsWithResponse(r.Context(), &params)
	if err != nil {
		return page{}, err
	}
	counts, err := incidentCounts(r, params)
	if err != nil {
		return page{}, err
	}
	body := &incidentsBody{Pager: r.pager(list.JSON200.Meta, len(list.JSON200.Data), "incident")}
	marks := map[string]string{"active": "down", "acknowledged": "warn", "resolved": "done"}
	texts := map[string]string{"": "All", "active": "Active", "acknowledged": "Acknowledged", "resolved": "Resolved"}
	for _, value := range append([]string{""}, incidentStates()...) {
		body.Filters = append(body.Filters, choice{
			Text: texts[value], Href: r.filterURL("status", value), State: marks[value], Chosen: value == status, Count: number(counts[value]),
		})
	}
	for k := range list.JSON200.Data {
		body.Rows = append(body.Rows, incidentRowOf(r, &list.JSON200.Data[k]))
	}
	if check != nil {
		body.Check = &link{Text: "one check", Href: r.filterURL("check_id", "")}
		if known, err := r.api.GetCheckWithResponse(r.Context(), *check, nil); err == nil {
			body.Check.Text = known.JSON200.Data.Name
		}
	}
	if len(body.Rows) == 0 {
		if body.Empty, err = noIncident(r); err != nil {
			return page{}, err
		}
	}
	return page{Title: "Incidents", Nav: navIncidents, Live: "page=" + liveIncidents, Body: body}, nil
}

// incidentCounts counts the incidents in each state under the other filters.
func incidentCounts(r *request, params client.ListIncidentsParams) (map[string]int64, error) {
	one := int64(1)
	counts := make(map[string]int64)
	found := make([]int64, len(incidentStates()))
	work, ctx := errgroup.WithContext(r.Context())
	for i, value := range incidentStates() {
		work.Go(func() error {
			status := client.ListIncidentsParamsStatus(value)
			list, err := r.api.ListIncidentsWithResponse(ctx, &client.ListIncidentsParams{
				Limit: &one, Status: &status, CheckId: params.CheckId, AlertRuleId: params.AlertRuleId,
			})
			if err == nil {
				found[i] = totalOf(list.JSON200.Meta)
			}
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return nil, err
	}
	for i, value := range incidentStates() {
		counts[value] = found[i]
		counts[""] += found[i]
	}
	return counts, nil
}

func incidentRowOf(r *request, i *client.Incident) incidentRow {
	row := incidentRow{
		ID: i.Id.String(), Title: i.Title, Href: "/app/incidents/" + i.Id.String(), Severity: capital(severityNow(i)),
		Regions: r.cityList(i.Regions), Opened: r.stamp(i.StartedAt), CheckHref: "/app/checks/" + i.CheckId.String(),
		Acknowledge: i.Status == client.IncidentStatusActive, Handled: handledBy(i),
	}
	if i.RunUrl != nil && r.keptInTemporal(i.ResolvedAt) {
		row.Run = *i.RunUrl
	}
	switch i.Status {
	case client.IncidentStatusResolved:
		row.Mark = newMark("done", "Resolved")
	case client.IncidentStatusAcknowledged:
		row.Mark, row.State, row.Reason = newMark("warn", "Acknowledged"), "amber", i.Description
	default:
		row.Mark, row.State, row.Reason = newMark("down", "Active"), "red", i.Description
	}
	row.Length = r.length(i.StartedAt)
	if i.ResolvedAt != nil {
		row.Length = stamp{Text: lengthOf(i.ResolvedAt.Sub(i.StartedAt))}
	}
	return row
}

// handledBy says who has an incident, or how it ended.
func handledBy(i *client.Incident) string {
	switch {
	case i.Resolution != nil && *i.Resolution == "check_removed":
		return "check disabled"
	case i.ResolvedBy != nil:
		return "resolved by " + *i.ResolvedBy
	case i.ResolvedAt != nil:
		return "resolved by itself"
	case i.AcknowledgedBy != nil:
		return *i.AcknowledgedBy + " has it"
	}
	return "unacknowledged"
}

// noIncident says why there is none.
func noIncident(r *request) (*empty, error) {
	if r.filtered("status", "check_id", "alert_rule_id") {
		return &empty{
			Icon: "search", Title: "No incident matches", Text: "The filter leaves none.",
			Action: &link{Text: "Clear filter", Href: r.URL.Path}, Key: "Esc",
		}, nil
	}
	limit := int64(100)
	rules, err := r.api.ListAllAlertRulesWithResponse(r.Context(), &client.ListAllAlertRulesParams{Limit: &limit})
	if err != nil {
		return nil, err
	}
	e := &empty{Icon: "incidents", Title: "No incident, ever", Text: "Incidents open when a rule fires in enough regions."}
	if total := totalOf(rules.JSON200.Meta); total == 0 {
		e.Text += " No check has a rule yet."
		e.Action = &link{Text: "Add a rule to a check", Href: "/app/rules"}
		return e, nil
	}
	if known := len(rules.JSON200.Data); known < int(limit) {
		with := make(map[string]bool)
		for k := range rules.JSON200.Data {
			with[rules.JSON200.Data[k].CheckId.String()] = true
		}
		figures, err := r.s.nav.read(r.Context(), r.api, r.who.UserID)
		if err != nil {
			return nil, err
		}
		e.Text += " " + checksHave(int64(len(with)), figures.checks)
	}
	return e, nil
}

// checksHave says how many checks have a rule.
func checksHave(with, all int64) string {
	text := counted(with, "check") + " have a rule"
	if with == 1 {
		text = "1 check has a rule"
	}
	if without := all - with; without > 0 {
		return text + ", " + number(without) + " without."
	}
	return text + "."
}
