// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
)

// auditBody is what the audit log shows.
type auditBody struct {
	Filters []choice
	Limits  []link
	Rows    []auditRow
	Pager   pager
	Empty   *empty
}

// auditRow is an entry of the audit log.
type auditRow struct {
	Time         stamp
	Action       string
	ResourceHref string // the page of what was changed, or the entries about it
	Resource     string
	Members      string
	Who, WhoHref string
	With         string // the credential
	Address      string
	RequestID    string
}

// auditResources are the kinds that the log can be filtered by: what the API calls them,
// and what people do.
func auditResources() [][2]string {
	return [][2]string{
		{"check", "Checks"},
		{"rule", "Rules"},
		{"channel", "Channels"},
		{"incident", "Incidents"},
		{"delivery", "Deliveries"},
		{"api_key", "API keys"},
		{"account", "Account"},
	}
}

func (s *Server) auditRoutes(on *routes) {
	on.page("GET /app/audit-log", s.auditLog)
}

func (s *Server) auditLog(r *request) error {
	var kinds []string
	for _, kind := range auditResources() {
		kinds = append(kinds, kind[0])
	}
	kind, limit := r.oneOf("resource", kinds...), int64(listPage)
	params := client.ListAuditLogParams{
		Limit: &limit, Cursor: r.cursor(), ResourceId: r.idParameter("resource_id"),
		UserId: r.idParameter("user_id"),
	}
	if kind != "" {
		params.Resource = &kind
	}
	list, err := r.api.ListAuditLogWithResponse(r.Context(), &params)
	if err != nil {
		return err
	}
	body := &auditBody{Pager: r.pager(list.JSON200.Meta, len(list.JSON200.Data), "change")}
	body.Filters = []choice{{Text: "All", Href: r.filterURL("resource", ""), Chosen: kind == ""}}
	for _, known := range auditResources() {
		body.Filters = append(body.Filters, choice{Text: known[1], Href: r.filterURL("resource", known[0]), Chosen: kind == known[0]})
	}
	if params.ResourceId != nil {
		body.Limits = append(body.Limits, link{Text: "About " + short(params.ResourceId.String()), Href: r.filterURL("resource_id", "")})
	}
	if params.UserId != nil {
		body.Limits = append(body.Limits, link{Text: "By " + r.userName(*params.UserId), Href: r.filterURL("user_id", "")})
	}
	for k := range list.JSON200.Data {
		body.Rows = append(body.Rows, auditRowOf(r, &list.JSON200.Data[k]))
	}
	if len(body.Rows) == 0 {
		body.Empty = &empty{Icon: "list", Title: "Nothing was changed yet", Text: "Each change made by a person or with a key has a line here."}
		if r.filtered("resource", "resource_id", "user_id") {
			body.Empty = &empty{
				Icon: "search", Title: "No change matches", Text: "The filter leaves none.", Action: &link{
					Text: "Clear filter",
					Href: r.URL.Path,
				}, Key: "Esc",
			}
		}
	}
	return r.render(http.StatusOK, "audit_log", page{Title: "Audit log", Nav: navAudit, Body: body})
}

func auditRowOf(r *request, e *client.Audit) auditRow {
	row := auditRow{
		Time: r.stamp(e.CreatedAt), Action: e.Action, Members: strings.Join(e.Members, ", "), Address: e.Address, RequestID: e.RequestId,
		With: "session", Who: "without a user",
	}
	if e.KeyPrefix != nil {
		row.With = "key " + *e.KeyPrefix + "…"
	}
	if e.UserId != nil {
		row.Who, row.WhoHref = r.userName(*e.UserId), r.filterURL("user_id", e.UserId.String())
		if e.UserName != nil && *e.UserId != r.who.UserID {
			row.Who = *e.UserName
		}
	}
	if e.ResourceId != nil {
		row.Resource, row.ResourceHref = short(e.ResourceId.String()), auditHref(r, e.Action, *e.ResourceId)
	}
	return row
}

// auditHref is the page of what was changed; what has none, or was deleted, leads to the
// entries about it.
func auditHref(r *request, action string, id uuid.UUID) string {
	kind, verb, _ := strings.Cut(action, ".")
	pages := map[string]string{"check": "checks", "channel": "channels", "incident": "incidents", "delivery": "deliveries"}
	if place := pages[kind]; place != "" && verb != "delete" {
		return "/app/" + place + "/" + id.String()
	}
	return r.filterURL("resource_id", id.String())
}

// userName is how a page calls a user.
func (r *request) userName(id uuid.UUID) string {
	if id == r.who.UserID {
		return "you"
	}
	return short(id.String())
}
