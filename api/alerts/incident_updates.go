// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"context"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/overview"
)

// incidentUpdateStore keeps public updates of incidents.
type incidentUpdateStore interface {
	CreateIncidentUpdate(
		ctx context.Context, update overview.IncidentUpdate, publicURL string,
	) (overview.IncidentUpdate, []vigil.PendingDelivery, error)
	IncidentUpdates(ctx context.Context, orgID, incidentID uuid.UUID, page listing.Page) ([]overview.IncidentUpdate, listing.Extent, error)
}

type incidentUpdates struct {
	store     incidentUpdateStore
	notifier  *resource.Notifier
	publicURL string
}

// incidentUpdateView is what a person wrote for the public about an incident.
type incidentUpdateView struct {
	ID         uuid.UUID            `json:"id" format:"uuid"`
	IncidentID uuid.UUID            `json:"incident_id" format:"uuid"`
	State      overview.UpdateState `json:"state" enum:"investigating,identified,monitoring,resolved"`
	Text       string               `json:"text"`
	Author     string               `json:"author" doc:"Who wrote it; status pages do not show it."`
	CreatedAt  time.Time            `json:"created_at"`
}

func showIncidentUpdate(u overview.IncidentUpdate) incidentUpdateView {
	return incidentUpdateView{
		ID: u.ID, IncidentID: u.IncidentID, State: u.State, Text: u.Text, Author: u.Author, CreatedAt: u.CreatedAt.UTC(),
	}
}

// incidentUpdateBody is a new public update.
type incidentUpdateBody struct {
	Text  string               `json:"text" minLength:"1" maxLength:"2000" doc:"Plain text; line breaks are kept. The public sees it as it is." example:"A fix is on its way."`
	State overview.UpdateState `json:"state" enum:"investigating,identified,monitoring,resolved" doc:"How far people are. It does not change the incident: resolved does not resolve it."`
}

func (i *incidentUpdates) Register(r *rest.Registrar) {
	const path = "/v1/incidents/{id}/updates"
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: path, ID: "list-incident-updates", Tag: resource.TagIncidents, Resource: resourceIncident,
		Summary: "List the public updates of an incident, newest first",
	}, i.list)
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: path, ID: "create-incident-update", Tag: resource.TagIncidents, Scope: account.ScopeRespond,
		Audit: "incident.publish", Resource: resourceIncident, Status: http.StatusCreated, Idempotent: true,
		Summary: "Publish an update of an incident",
		Description: "Status pages that show the incident's check show the text to everybody, without its author, and it goes to the " +
			"channels that are subscribed to incident.updated. An incident has at most 100.",
		Errors: []int{http.StatusConflict},
	}, i.create)
}

type incidentUpdatesInput struct {
	rest.IDPath
	rest.ListQuery
}

func (i *incidentUpdates) list(ctx context.Context, in *incidentUpdatesInput) (*rest.Listing[incidentUpdateView], error) {
	id, err := in.Parse(resourceIncident)
	if err != nil {
		return nil, err
	}
	page, cursor, err := in.Open(rest.MaxPage, "incident-updates", id.String())
	if err != nil {
		return nil, err
	}
	rows, extent, err := i.store.IncidentUpdates(ctx, rest.CallerOf(ctx).Org.ID, id, page)
	if err != nil {
		return nil, err
	}
	return rest.NewPage(rows, extent, cursor, showIncidentUpdate), nil
}

type createIncidentUpdateInput struct {
	rest.IDPath
	Body incidentUpdateBody
}

func (i *incidentUpdates) create(ctx context.Context, in *createIncidentUpdateInput) (*rest.Answer[incidentUpdateView], error) {
	id, err := in.Parse(resourceIncident)
	if err != nil {
		return nil, err
	}
	text := strings.TrimSpace(strings.ReplaceAll(in.Body.Text, "\r\n", "\n"))
	if text == "" || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil, vigil.Invalid("text", "must be a text that is not empty")
	}
	who := rest.CallerOf(ctx)
	update := overview.IncidentUpdate{OrgID: who.Org.ID, IncidentID: id, State: in.Body.State, Text: text, Author: who.User.Email}
	rest.ShowRepeated(ctx, showIncidentUpdate)
	update, pending, err := i.store.CreateIncidentUpdate(ctx, update, i.publicURL)
	if err != nil {
		return nil, err
	}
	i.notifier.Send(ctx, pending)
	return rest.NewAnswer(showIncidentUpdate(update)), nil
}
