// SPDX-License-Identifier: Apache-2.0

package web

import (
	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
)

// publicUpdates is the part of an incident's page with what the public reads about it.
type publicUpdates struct {
	ID      string // of the incident
	Title   string
	Form    *form
	Updates []publicUpdate // newest first
}

// publicUpdate is an update that was published.
type publicUpdate struct {
	State, Text, Author string
	Time                stamp
}

func (s *Server) incidentUpdateRoutes(on *routes) {
	on.page("POST /app/incidents/{id}/updates", s.publishUpdate)
}

func updateForm(r *request) *form {
	f := newForm(r)
	f.Heading = "Not published yet."
	f.add(field{Name: "state", Label: "State", Type: "select", Value: "investigating", Options: []option{
		{Value: "investigating", Text: "Investigating"},
		{Value: "identified", Text: "Identified"},
		{Value: "monitoring", Text: "Monitoring"},
		{Value: "resolved", Text: "Resolved"},
	}})
	f.add(field{
		Name: "text", Label: "Text", Type: "textarea", Rows: 3, Required: true,
		Help: "Status pages that show this check show it to everybody, without your name. It cannot be changed later.",
	})
	return f
}

// readUpdates reads the updates of an incident, with the form for another one.
func (r *request) readUpdates(id uuid.UUID) (*publicUpdates, error) {
	limit := int64(100)
	list, err := r.api.ListIncidentUpdatesWithResponse(r.Context(), id, &client.ListIncidentUpdatesParams{Limit: &limit})
	if err != nil {
		return nil, err
	}
	part := &publicUpdates{ID: id.String(), Form: updateForm(r)}
	for _, u := range list.JSON200.Data {
		part.Updates = append(part.Updates, publicUpdate{
			State: capital(string(u.State)), Text: u.Text, Author: u.Author, Time: r.stamp(u.CreatedAt),
		})
	}
	return part, nil
}

func (s *Server) publishUpdate(r *request) error {
	id, err := r.pathID("id")
	if err != nil {
		return err
	}
	f := updateForm(r)
	_, err = r.api.CreateIncidentUpdateWithResponse(r.Context(), id, nil, client.CreateIncidentUpdateJSONRequestBody{
		State: client.IncidentUpdateRequestState(f.get("state")), Text: f.get("text"),
	})
	if err != nil {
		if !f.refused(err) {
			return err
		}
		part, err := r.readUpdates(id)
		if err != nil {
			return err
		}
		part.Form = f
		incident, err := r.api.GetIncidentWithResponse(r.Context(), id)
		if err != nil {
			return err
		}
		part.Title = incident.JSON200.Data.Title
		return r.render(f.Status, "incident_update", page{Title: "Publish an update", Nav: navIncidents, Body: part})
	}
	r.flash(flash{Mark: "done", Text: "The update is published"})
	return r.redirect("/app/incidents/" + id.String())
}
