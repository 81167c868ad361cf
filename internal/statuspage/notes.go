// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/overview"
)

// notesOf are what a page has to tell its readers of what happened lately, in the words of the page. notified
// are the keys of what was notified.
func notesOf(report *overview.StatusReport, notified map[string]bool, at time.Time) []overview.Note {
	v := newView(report, nil, at, spot{})
	var notes []overview.Note
	add := func(note overview.Note) {
		if !notified[note.Key] && note.At.After(at.Add(-overview.NoteAge)) && !note.At.After(at) {
			notes = append(notes, note)
		}
	}
	for i := range v.entries {
		one := &v.entries[i]
		key := "incident/" + one.ID.String()
		begins, ends := key+"/begins", key+"/ends"
		over := !one.End.IsZero()
		if one.effect != working && !over {
			add(overview.Note{
				Key: begins, Kind: "incident.begins", Title: incidentTitle(one.services, one.effect, true), At: one.Start,
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
				Key: ends, Kind: "incident.ends", Title: one.services + " works again", At: one.End,
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
			Key: "maintenance/" + from.Key + "/begins", Kind: "maintenance.begins", Title: "Maintenance of " + services, At: start,
			Body: "From " + start.Format(noteTime) + " to " + end.Format(noteTime) + ".",
		})
		add(overview.Note{
			Key: "maintenance/" + from.Key + "/ends", Kind: "maintenance.ends", Title: "Maintenance of " + services + " is over", At: end,
			Body: "It was from " + start.Format(noteTime) + " to " + end.Format(noteTime) + ".",
		})
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
