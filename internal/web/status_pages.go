// SPDX-License-Identifier: Apache-2.0

package web

import (
	"errors"
	"net/http"
	"strings"

	"github.com/vigil-monitor/vigil/client"
)

// statusPagesBody is what the list of status pages shows.
type statusPagesBody struct {
	Rows  []statusPageRow
	Pager pager
	Empty *empty
}

// statusPageRow is a row of the list.
type statusPageRow struct {
	Title, Href, Address, URL string
	Services                  string
	Mark                      mark
	Public, NoIndex           bool
	Changed                   stamp
}

func (s *Server) statusPageRoutes(on *routes) {
	on.page("GET /app/status-pages", s.statusPageList)
	on.page("GET /app/status-pages/new", s.newStatusPage)
	on.page("POST /app/status-pages", s.createStatusPage)
	on.page("GET /app/status-pages/{id}", s.statusPage)
	on.page("POST /app/status-pages/{id}", s.updateStatusPage)
	on.page("POST /app/status-pages/{id}/host", s.verifyStatusHost)
	on.page("GET /app/status-pages/{id}/delete", s.confirmStatusPageDelete)
	on.page("POST /app/status-pages/{id}/delete", s.deleteStatusPage)
}

func (s *Server) statusPageList(r *request) error {
	limit := int64(listPage)
	list, err := r.api.ListStatusPagesWithResponse(r.Context(), &client.ListStatusPagesParams{Limit: &limit, Cursor: r.cursor()})
	if err != nil {
		return err
	}
	body := &statusPagesBody{Pager: r.pager(list.JSON200.Meta, len(list.JSON200.Data), "status page")}
	for k := range list.JSON200.Data {
		body.Rows = append(body.Rows, statusPageRowOf(r, &list.JSON200.Data[k]))
	}
	if len(body.Rows) == 0 {
		body.Empty = &empty{
			Icon: "status", Title: "No status page yet",
			Text:   "A status page shows chosen checks to everybody, under names that you choose: whether they work, and what happened lately.",
			Action: &link{Text: "New status page", Href: "/app/status-pages/new"}, Key: "c",
		}
	}
	return r.render(http.StatusOK, "status_pages", page{Title: "Status pages", Nav: navStatus, Body: body})
}

func statusPageRowOf(r *request, p *client.StatusPage) statusPageRow {
	n := int64(0)
	for _, group := range p.Groups {
		n += int64(len(group.Checks))
	}
	row := statusPageRow{
		Title: p.Title, Href: "/app/status-pages/" + p.Id.String(), Address: addressOf(p.Url), URL: p.Url, Services: counted(n, "service"),
		Mark: newMark("up", "Public"), Public: p.Enabled, NoIndex: p.Noindex, Changed: r.dayOf(p.UpdatedAt),
	}
	if !p.Enabled {
		row.Mark = newMark("paused", "Closed")
	}
	return row
}

// addressOf is a URL as people read it.
func addressOf(url string) string {
	_, address, _ := strings.Cut(url, "://")
	return address
}

func readStatusPage(r *request) (*client.StatusPage, error) {
	id, err := r.pathID("id")
	if err != nil {
		return nil, err
	}
	found, err := r.api.GetStatusPageWithResponse(r.Context(), id, nil)
	if err != nil {
		return nil, err
	}
	return &found.JSON200.Data, nil
}

func (s *Server) newStatusPage(r *request) error {
	return s.renderStatusPage(r, nil, statusPageForm(r, nil))
}

func (s *Server) createStatusPage(r *request) error {
	f := statusPageForm(r, nil)
	if f.asks() {
		return s.renderStatusPage(r, nil, f)
	}
	accent, host := f.get("accent"), f.get("host")
	made, err := r.api.CreateStatusPageWithResponse(r.Context(), nil, client.CreateStatusPageJSONRequestBody{
		Slug: f.get("slug"), Title: f.get("title"), Groups: f.groups(), Noindex: f.checked("noindex"), Enabled: f.checked("enabled"),
		Accent: &accent, Host: &host, Subscriptions: f.checked("subscriptions"), ResponseTimes: f.checked("response_times"),
	})
	if err != nil {
		if f.refusedPage(err) {
			return s.renderStatusPage(r, nil, f)
		}
		return err
	}
	r.flash(flash{Mark: "done", Text: made.JSON201.Data.Title + " is created"})
	return r.redirect("/app/status-pages/" + made.JSON201.Data.Id.String())
}

func (s *Server) statusPage(r *request) error {
	p, err := readStatusPage(r)
	if err != nil {
		return err
	}
	return s.renderStatusPage(r, p, statusPageForm(r, p))
}

func (s *Server) updateStatusPage(r *request) error {
	p, err := readStatusPage(r)
	if err != nil {
		return err
	}
	f := statusPageForm(r, p)
	if f.asks() {
		return s.renderStatusPage(r, p, f)
	}
	slug, title, accent, host := f.get("slug"), f.get("title"), f.get("accent"), f.get("host")
	_, err = r.api.UpdateStatusPageWithResponse(r.Context(), p.Id, &client.UpdateStatusPageParams{IfMatch: f.ifMatch()},
		client.UpdateStatusPageJSONRequestBody{
			Accent: &accent, Host: &host, Subscriptions: f.checked("subscriptions"), ResponseTimes: f.checked("response_times"),
			Slug: &slug, Title: &title, Groups: f.groups(), Noindex: f.checked("noindex"), Enabled: f.checked("enabled"),
		})
	if err != nil {
		if f.refusedPage(err) {
			return s.renderStatusPage(r, p, f)
		}
		return err
	}
	r.flash(flash{Mark: "done", Text: "Saved. The public sees it within 30 seconds"})
	return r.redirect("/app/status-pages/" + p.Id.String())
}

// verifyStatusHost looks for the record of a page's host.
func (s *Server) verifyStatusHost(r *request) error {
	p, err := readStatusPage(r)
	if err != nil {
		return err
	}
	if _, err := r.api.VerifyStatusPageHostWithResponse(r.Context(), p.Id); err != nil {
		known, ok := errors.AsType[*APIError](err)
		if !ok || known.Status != http.StatusConflict {
			return err
		}
		r.flash(flash{Mark: "down", Text: known.Message})
		return r.redirect("/app/status-pages/" + p.Id.String())
	}
	r.flash(flash{Mark: "done", Text: "Verified. The page is at " + p.Host + " within 30 seconds"})
	return r.redirect("/app/status-pages/" + p.Id.String())
}

func (s *Server) confirmStatusPageDelete(r *request) error {
	p, err := readStatusPage(r)
	if err != nil {
		return err
	}
	back := "/app/status-pages/" + p.Id.String()
	return r.render(http.StatusOK, "confirm", page{Title: "Delete " + p.Title, Nav: navStatus, Body: confirm{
		Title: "Delete the status page “" + p.Title + "”?", Button: "Delete", Back: back, Action: back + "/delete",
		Text: "Its address, its feed and the badges of its checks answer 404 within 30 seconds. The checks stay.",
	}})
}

func (s *Server) deleteStatusPage(r *request) error {
	p, err := readStatusPage(r)
	if err != nil {
		return err
	}
	if _, err := r.api.DeleteStatusPageWithResponse(r.Context(), p.Id, nil); err != nil {
		return err
	}
	r.flash(flash{Mark: "done", Text: p.Title + " is deleted"})
	return r.redirect("/app/status-pages")
}
