// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"strings"

	"github.com/vigil-monitor/vigil/client"
)

// wallTiles is how many checks the wall shows; it says how many more there are.
const wallTiles = 300

// wallBody is what the wall shows: a screen without keyboard that people look at from a distance.
type wallBody struct {
	Organization string
	Of           string // what the checks are limited to
	Counts       []wallCount
	Trouble      []checkRow // failing and with a warning, the worst first
	Calm         []checkRow
	More         int64
	Empty        bool
}

// wallCount is how many checks are in a state.
type wallCount struct {
	Mark mark
	Text string
	N    string
}

func (s *Server) wallRoutes(on *routes) {
	on.page("GET /app/wall", func(r *request) error {
		p, err := s.readWall(r)
		if err != nil {
			return err
		}
		return r.render(http.StatusOK, "wall", p)
	})
	on.open("GET /app/tab-icon/{failing}", s.tabIcon)
}

// readWall reads the wall. Its address takes the filters of the overview.
func (s *Server) readWall(r *request) (page, error) {
	view := readCheckView(r.URL.Query())
	view.Group, view.Sort, view.Cursor = groupState, "", ""
	body := &wallBody{Of: strings.Join(view.Labels, ", ")}
	known, err := r.s.nav.read(r.Context(), r.api, r.who.UserID)
	if err != nil {
		return page{}, err
	}
	body.Organization = known.organization
	counts := client.Counts{}
	shown, total := int64(0), int64(0)
	for params := view.params(); ; {
		list, err := r.api.ListChecksWithResponse(r.Context(), params)
		if err != nil {
			return page{}, err
		}
		meta := list.JSON200.Meta
		if meta.Counts != nil {
			counts = *meta.Counts
		}
		total = totalOf(meta)
		for k := range list.JSON200.Data {
			row := r.checkRow(&list.JSON200.Data[k])
			if row.Reason != nil {
				body.Trouble = append(body.Trouble, row)
			} else {
				body.Calm = append(body.Calm, row)
			}
		}
		if shown += int64(len(list.JSON200.Data)); meta.NextCursor == nil || shown >= wallTiles {
			break
		}
		params.Cursor = meta.NextCursor
	}
	body.More, body.Empty = max(0, total-shown), shown == 0
	for _, one := range []struct {
		state string
		n     int64
	}{
		{"failing", counts.Failing},
		{"warning", counts.Warning},
		{"passing", counts.Passing},
		{"unknown", counts.Unknown},
		{"disabled", counts.Disabled},
	} {
		if m := stateMark(one.state); one.n > 0 || one.state == "failing" {
			m.Shown = true
			body.Counts = append(body.Counts, wallCount{Mark: m, Text: strings.ToLower(m.Word), N: number(one.n)})
		}
	}
	return page{Title: "Wall", Nav: navChecks, Wall: true, Live: "page=" + liveWall, Body: body}, nil
}
