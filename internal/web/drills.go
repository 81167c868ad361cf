// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"

	"github.com/vigil-monitor/vigil/client"
)

// drillsBody is what the list of drills shows.
type drillsBody struct {
	Schedules []drillScheduleRow // on the first page
	Filters   []choice
	Rows      []drillRow
	Pager     pager
	Empty     *empty
}

// drillRow is a row of the list.
type drillRow struct {
	ID, Title, Href string
	Mark            mark
	Verdict         string
	Reason          string // the first thing that is wrong with it
	By              string
	Asked           stamp
	Took            stamp
}

func (s *Server) drillListRoutes(on *routes) {
	on.page("GET /app/drills", s.drillList)
}

// drillVerdicts are the filters of the list.
func drillVerdicts() []string { return []string{"passed", "failed", "canceled"} }

func (s *Server) drillList(r *request) error {
	p, err := s.readDrills(r)
	if err != nil {
		return err
	}
	return r.render(http.StatusOK, "drills", p)
}

// readDrills reads the list of drills that the address of the request asks for.
func (s *Server) readDrills(r *request) (page, error) {
	verdict := r.oneOf("verdict", drillVerdicts()...)
	limit := int64(listPage)
	params := client.ListDrillsParams{Limit: &limit, Cursor: r.cursor()}
	if verdict != "" {
		params.Verdict = of(client.ListDrillsParamsVerdict(verdict))
	}
	list, err := r.api.ListDrillsWithResponse(r.Context(), &params)
	if err != nil {
		return page{}, err
	}
	body := &drillsBody{Pager: r.pager(list.JSON200.Meta, len(list.JSON200.Data), "drill")}
	if r.cursor() == nil {
		if body.Schedules, err = r.drillSchedules(); err != nil {
			return page{}, err
		}
	}
	texts := map[string]string{"": "All", "passed": "Passed", "failed": "Failed", "canceled": "Canceled"}
	for _, value := range append([]string{""}, drillVerdicts()...) {
		filter := choice{Text: texts[value], Href: r.filterURL("verdict", value), Chosen: value == verdict}
		if value != "" {
			filter.State = drillMark(value).State
		}
		body.Filters = append(body.Filters, filter)
	}
	for k := range list.JSON200.Data {
		body.Rows = append(body.Rows, drillRowOf(r, &list.JSON200.Data[k]))
	}
	switch {
	case len(body.Rows) > 0:
	case r.filtered("verdict", "cursor"):
		body.Empty = &empty{
			Icon: "search", Title: "No drill matches", Text: "The filter leaves none.",
			Action: &link{Text: "Clear filter", Href: r.URL.Path}, Key: "Esc",
		}
	default:
		body.Empty = &empty{
			Icon: "drills", Title: "No drill yet",
			Text: "A drill proves that an alert arrives: a check of its own fails, your channels are notified, and a receipt lists each hop.",
		}
		if !r.readOnly() {
			body.Empty.Action, body.Empty.Key = &link{Text: "Run a drill", Href: "/app/drills/new"}, "c"
		}
	}
	return page{Title: "Drills", Nav: navDrills, Live: "page=" + liveDrills, Body: body}, nil
}

func drillRowOf(r *request, d *client.Drill) drillRow {
	row := drillRow{
		ID: d.Id.String(), Title: drillTitle(d), Href: "/app/drills/" + d.Id.String(), Asked: r.stamp(d.AskedAt), Mark: drillMark(verdictOf(d)),
		Took: r.length(d.AskedAt),
	}
	row.Verdict = row.Mark.Word
	if d.RequestedBy != nil {
		row.By = *d.RequestedBy
	}
	if d.ClosedAt != nil {
		row.Took = stamp{Text: distance(d.ClosedAt.Sub(d.AskedAt))}
	}
	if d.Receipt != nil && len(d.Receipt.Failures) > 0 {
		row.Reason = d.Receipt.Failures[0].Reason
	}
	return row
}

// mostDrillNames is how many channels the title of a drill names.
const mostDrillNames = 3

// drillTitle names a drill by its channels.
func drillTitle(d *client.Drill) string {
	names := make([]string, len(d.Channels))
	for k := range d.Channels {
		names[k] = d.Channels[k].Name
	}
	switch {
	case len(names) == 0:
		return "Drill without a channel"
	case len(names) > mostDrillNames:
		names = append(names[:mostDrillNames-1:mostDrillNames-1], counted(int64(len(names)-mostDrillNames+1), "other channel"))
	}
	return listed(names)
}

// verdictOf is the verdict of a drill; empty while it runs.
func verdictOf(d *client.Drill) string {
	if d.Verdict == nil {
		return ""
	}
	return string(*d.Verdict)
}

// drillMark is the mark of a verdict, and that of a drill that runs where it has none.
func drillMark(verdict string) mark {
	switch verdict {
	case "passed":
		return newMark("done", "Passed")
	case "failed":
		return newMark("failed", "Failed")
	case "canceled":
		return newMark("paused", "Canceled")
	}
	return newMark("unknown", "Running")
}
