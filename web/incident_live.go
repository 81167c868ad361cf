package web

import (
	"bytes"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// incidentPart is what changes on the page of an incident.
type incidentPart struct {
	Body    *incidentBody
	Append  []template.HTML // lines after those that are shown
	Replace []template.HTML // all lines, when an earlier one changed
}

// incidentLive are the parameters of the stream of an incident's page: the check whose
// results wake it, and how many lines the page has.
func incidentLive(r *request, body *incidentBody, check uuid.UUID) string {
	live := "page=incident&id=" + body.ID + "&check=" + check.String() + "&lines=" + strconv.Itoa(len(body.Entries))
	if show := r.URL.Query().Get("show"); show == "vote" || show == "delivery" {
		live += "&show=" + show
	}
	return live
}

// incidentPage sends what changed on the page of an incident: single cells, and new lines
// at the end of the timeline.
func (e *events) incidentPage(r *request) error {
	id, err := uuid.Parse(r.URL.Query().Get("id"))
	if err != nil {
		return nil //nolint:nilerr // a page that no browser of ours opened
	}
	data, err := readIncident(r, id)
	if err != nil {
		return err
	}
	part := incidentPart{Body: incidentBodyOf(r, data)}
	lines := make([]template.HTML, len(part.Body.Entries))
	for i := range part.Body.Entries {
		line, err := r.s.fill("incident", "incident-entry", part.Body.Entries[i])
		if err != nil {
			return err
		}
		lines[i] = template.HTML(bytes.TrimSpace(line)) //nolint:gosec // a template of ours made it
	}
	shown := e.lines
	if shown == nil { // of the page itself, which had so many
		n, _ := strconv.Atoi(r.URL.Query().Get("lines"))
		shown = lines[:min(max(n, 0), len(lines))]
	}
	if e.lines = lines; len(lines) >= len(shown) && slices.Equal(lines[:len(shown)], shown) {
		part.Append = lines[len(shown):]
	} else {
		part.Replace = lines
	}
	text, err := r.s.fill("incident", "live-incident", part)
	if err != nil {
		return err
	}
	return e.send("cells", r.now, strings.TrimSpace(string(text)))
}
