package web

import (
	"strings"
	"time"
)

// How often the counts of a page are read again while its checks have results. A change of
// a state shows in them sooner; the incident that follows it opens a moment later.
const (
	countsEvery = 20 * time.Second
	countsSoon  = 2 * time.Second
)

// countsSent is what a page shows of the counts.
type countsSent struct {
	at   time.Time
	text string
}

// liveCounts are the figures outside the rows of a page.
type liveCounts struct {
	Incidents string // that are open; empty for none
	Filters   []choice
}

// counts sends the figures of the navigation and of the filters when they have changed.
func (e *events) counts(r *request, moved bool) error {
	every := countsEvery
	if moved {
		every = countsSoon
	}
	if r.now.Sub(e.counted.at) < every {
		return nil
	}
	e.counted.at = r.now
	known, err := r.s.nav.read(r.Context(), r.api, r.who.UserID)
	if err != nil {
		return nil //nolint:nilerr // the cells go on; the counts are read again
	}
	figures := liveCounts{Incidents: known.open()}
	if r.URL.Query().Get("page") == "checks" {
		view, one := readCheckView(r.URL.Query()), int64(1)
		params := view.params()
		params.Limit, params.Summary = &one, nil
		list, err := r.api.ListChecksWithResponse(r.Context(), params)
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		if counts := list.JSON200.Meta.Counts; counts != nil {
			figures.Filters = filters(view, *counts)
		}
	}
	text, err := r.s.fill("checks", "counts", figures)
	if err != nil || string(text) == e.counted.text {
		return err
	}
	e.counted.text = string(text)
	return e.send("cells", r.now, strings.TrimSpace(e.counted.text))
}
