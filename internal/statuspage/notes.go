// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/overview"
)

// The ends of the keys of notes: what begins also ends, for everybody who was notified of the beginning.
const begins, ends = "/begins", "/ends"

// notesOf are what a page has to tell its readers of what happened lately, in the words of the page. notified are the
// notes that were sent, by their keys.
func notesOf(report *overview.StatusReport, notified map[string]overview.Note, at time.Time) []overview.Note {
	v := newView(report, nil, at, spot{})
	var notes []overview.Note
	add := func(note overview.Note) {
		if _, known := notified[note.Key]; !known && note.At.After(at.Add(-overview.NoteAge)) && !note.At.After(at) {
			notes = append(notes, note)
		}
	}
	for i := range v.entries {
		one := &v.entries[i]
		key := "incident/" + one.ID.String()
		over := !one.End.IsZero()
		if one.effect != working && !over {
			add(overview.Note{
				Key: key + begins, Kind: "incident.begins", Title: incidentTitle(one.services, one.effect, true), At: one.Start,
				Body: sentence("Since "+one.Start.Format(noteTime), one.From),
			})
		}
		for _, u := range one.Updates {
			add(overview.Note{
				Key: key + "/update/" + u.id.String(), Kind: "incident.update", Title: one.services + ": " + u.State, Body: u.Text, At: u.At,
			})
		}
		if over && one.effect != working {
			add(overview.Note{
				Key: key + ends, Kind: "incident.ends", Title: one.services + " works again", At: one.End,
				Body: incidentTitle(one.services, one.effect, false) + " from " + one.Start.Format(noteTime) + " to " + one.End.Format(noteTime) +
					", " + took(one.End.Sub(one.Start)) + ".",
			})
		}
	}
	for i := range report.Maintenance {
		from := &report.Maintenance[i]
		services := v.servicesOf(from.CheckIDs)
		if services == "" || from.Key == "" {
			continue
		}
		start, end := from.StartsAt.UTC(), from.EndsAt.UTC()
		add(overview.Note{
			Key: "maintenance/" + from.Key + begins, Kind: "maintenance.begins", Title: "Maintenance of " + services, At: start,
			Body: "From " + start.Format(noteTime) + " to " + end.Format(noteTime) + ".",
		})
		add(overview.Note{
			Key: "maintenance/" + from.Key + ends, Kind: "maintenance.ends", Title: "Maintenance of " + services + " is over", At: end,
			Body: "It was from " + start.Format(noteTime) + " to " + end.Format(noteTime) + ".",
		})
	}
	for _, note := range goneOf(report, v, notified, at) {
		add(note)
	}
	return notes
}

// goneOf are the ends of what was notified to begin and is on the page no more: maintenance that was deleted or moved while it
// ran, and the incident of a check that was deleted or taken off the page.
func goneOf(report *overview.StatusReport, v *view, notified map[string]overview.Note, at time.Time) []overview.Note {
	shown := make(map[string]bool)
	for i := range report.Incidents {
		shown["incident/"+report.Incidents[i].ID.String()] = true
	}
	for i := range report.Maintenance {
		if one := &report.Maintenance[i]; v.servicesOf(one.CheckIDs) != "" {
			shown["maintenance/"+one.Key] = true
		}
	}
	whole := len(report.Incidents) < overview.MaxReportedIncidents // one that is open may be beyond the bound
	var notes []overview.Note
	for _, key := range slices.Sorted(maps.Keys(notified)) {
		subject, begun := strings.CutSuffix(key, begins)
		incident := strings.HasPrefix(key, "incident/")
		if _, over := notified[subject+ends]; !begun || over || shown[subject] || incident && !whole {
			continue
		}
		note := overview.Note{
			Key:   subject + ends,
			Kind:  "maintenance.ends",
			Title: notified[key].Title + " is over",
			Body:  "It does not run any more.",
			At:    at,
		}
		if incident {
			note.Kind, note.Title = "incident.ends", "No longer shown: "+notified[key].Title
			note.Body = "The page does not show this service any more."
		}
		notes = append(notes, note)
	}
	return notes
}

// noteTime is how a message says a time: it may be read on another day.
const noteTime = "2 January 2006, 15:04 UTC"

func sentence(parts ...string) string {
	var given []string
	for _, part := range parts {
		if part != "" {
			given = append(given, part)
		}
	}
	return strings.Join(given, ", ") + "."
}

// servicesOf names the services of checks; empty: the page shows none of them.
func (v *view) servicesOf(checks []uuid.UUID) string {
	one := maintenance{}
	for _, id := range checks {
		if s := v.byID[id]; s != nil {
			one.names = append(one.names, s.name)
		}
	}
	if len(one.names) == 0 {
		return ""
	}
	if len(one.names) == len(v.all) && len(v.all) > 1 {
		return "all services"
	}
	return joined(one.names)
}
