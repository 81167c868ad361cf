// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
)

// rowID starts the ids of the cells of a check's row.
func rowID(check uuid.UUID) string { return "c-" + check.String() }

// rowsChanged says which rows came and went while the overview was open. Rows stay where they
// are: the page offers to load it again.
type rowsChanged struct {
	New  int      `json:"new"`  // checks that a fresh page would show
	Gone []string `json:"gone"` // rows of checks that are deleted
}

// overview sends what changed on the overview: the cells of rows, the figures outside of them,
// and which rows came and went.
func (e *events) overview(p *livePage, checks map[uuid.UUID]*client.Check, stale bool) (states []stateChange, err error) {
	var body *overviewBody
	if stale {
		// What is read is which checks there are: their figures, for which those of all checks are read, are of no use here.
		order := client.ListChecksParamsSort("")
		if byFigure(readCheckView(e.page.URL.Query()).Sort) {
			order = client.ListChecksParamsSortMinusCreatedAt
		}
		read, err := e.s.overviewIn(e.page, order)
		if err != nil {
			return nil, err
		}
		body, _ = read.Body.(*overviewBody)
		if checks, err = e.rest(p, checks, body); err != nil {
			return nil, err
		}
		if read.Menu, err = e.page.menu(read.Nav); err != nil {
			return nil, err
		}
		if err := e.parts(e.s.liveKinds()[liveChecks], &read); err != nil {
			return nil, err
		}
	}
	sent := make(map[uuid.UUID]*client.Check)
	var cells []string
	for id, check := range checks {
		if check == nil || check.Summary == nil {
			continue
		}
		text, err := e.s.fill("checks", "cells", e.page.checkRow(check))
		if err != nil {
			return nil, err
		}
		same := printOf(string(text))
		known, ok := e.rows[id]
		e.rows[id] = same
		if ok && known == same || !ok && !touched(check, e.since) {
			continue
		}
		sent[id] = check
		cells = append(cells, strings.TrimSpace(string(text)))
	}
	if len(cells) > 0 {
		if err := e.send("cells", e.now(), strings.Join(cells, "\n")); err != nil {
			return nil, err
		}
	}
	return e.statesOf(sent), e.list(p, checks, body)
}

// touched reports whether a check may have changed since a time.
func touched(c *client.Check, since time.Time) bool {
	later := func(t *time.Time) bool { return t != nil && t.After(since) }
	open := c.Summary.Incident
	return since.IsZero() || c.UpdatedAt.After(since) || later(c.LastChecked) ||
		open != nil && (open.StartedAt.After(since) || open.Id == uuid.Nil)
}

// rest adds the checks on the page to those that changed: those of a fresh overview, and those
// that are not on it any more; nil for one that is deleted.
func (e *events) rest(
	p *livePage, changed map[uuid.UUID]*client.Check, fresh *overviewBody,
) (map[uuid.UUID]*client.Check, error) {
	all := make(map[uuid.UUID]*client.Check, len(p.checks))
	for i := range fresh.checks {
		if check := &fresh.checks[i]; slices.Contains(p.checks, check.Id) {
			all[check.Id] = check
		}
	}
	var elsewhere []uuid.UUID
	for _, id := range p.checks {
		if _, ok := all[id]; !ok {
			elsewhere = append(elsewhere, id)
		}
	}
	for part := range slices.Chunk(elsewhere, liveBatch) {
		found, err := readChanged(e.page.Context(), []*livePage{p}, part)
		if err != nil {
			return nil, err
		}
		for _, id := range part {
			all[id] = found[id]
		}
	}
	for id, check := range changed {
		if _, ok := all[id]; !ok {
			all[id] = check
		}
	}
	return all, nil
}

// list says which rows came and went, when that has changed.
func (e *events) list(p *livePage, checks map[uuid.UUID]*client.Check, fresh *overviewBody) error {
	for id, check := range checks {
		if row := rowID(id); check == nil && !slices.Contains(e.listed.Gone, row) {
			e.listed.Gone = append(e.listed.Gone, row)
		}
	}
	slices.Sort(e.listed.Gone)
	// The page may have more rows than those of which it asks for changes.
	if fresh != nil && fresh.View.Cursor == "" {
		e.listed.New = 0
		whole := fresh.More == nil && !fresh.cut && len(p.checks) < rowsPerPage
		for i := range fresh.checks {
			check := &fresh.checks[i]
			if !slices.Contains(p.checks, check.Id) && (whole || check.CreatedAt.After(e.made)) {
				e.listed.New++
			}
		}
	}
	text, err := json.Marshal(e.listed)
	if err != nil || string(text) == e.noted {
		return err
	}
	e.noted = string(text)
	return e.send("rows", e.now(), e.noted)
}
