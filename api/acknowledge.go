// SPDX-License-Identifier: Apache-2.0

package api

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/accounts"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/internal/audit"
	"github.com/vigil-monitor/vigil/internal/notify"
)

// NotifiedStore reads the incidents that messages are about.
type NotifiedStore interface {
	// Notified returns the incident and the name of the channel. It is CodeNotFound for an incident of which the channel was
	// not notified, and for a channel that was deleted or disabled since.
	Notified(ctx context.Context, incident, channel uuid.UUID) (about vigil.Incident, channelName string, err error)
}

// acknowledging serves the page by which the reader of a message acknowledges its incident.
type acknowledging struct {
	links     notify.AcknowledgeLinks
	store     NotifiedStore
	workflows resource.IncidentWorkflows
	audit     AuditStore
	now       func() time.Time
}

func newAcknowledging(deps Deps) *acknowledging {
	secrets := append([][]byte{deps.Config.SigningKey}, deps.Config.OlderSigningKeys...)
	return &acknowledging{
		links: notify.NewAcknowledgeLinks(deps.Config.PublicURL, secrets...), store: deps.Stores.Notified, workflows: deps.Incidents,
		audit: deps.Stores.Audit, now: deps.Now,
	}
}

func (a *acknowledging) serve(routes *resource.Routes, pages *accounts.Pages) {
	routes.Lenient("GET "+notify.AcknowledgePage, pages.Describe(a.describe))
	routes.Lenient("POST "+notify.AcknowledgePage, pages.Use("incident.acknowledge", a.acknowledge))
}

// errLinkEnded says why a link whose signature holds does not work.
var errLinkEnded = vigil.Errorf(vigil.CodeInvalid,
	"This link does not work any more: the incident or the channel that was notified of it is gone.")

// read returns what a link is about.
func (a *acknowledging) read(ctx context.Context, token string) (notify.Acknowledgement, vigil.Incident, string, error) {
	link, err := a.links.Read(token, a.now())
	if err != nil {
		return link, vigil.Incident{}, "", err
	}
	about, channel, err := a.store.Notified(ctx, link.Incident, link.Channel)
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		err = errLinkEnded
	}
	return link, about, channel, err
}

func (a *acknowledging) describe(ctx context.Context, token string) (accounts.Page, error) {
	shown := accounts.Page{Title: "Acknowledge an incident", Buttons: []accounts.Button{{Label: "Acknowledge"}}}
	_, about, _, err := a.read(ctx, token)
	if vigil.ErrorCode(err) == vigil.CodeInvalid {
		return accounts.Page{Title: "This link does not work", Message: err.Error(), Failed: true}, nil
	}
	if err != nil {
		return shown, err
	}
	return shownIncident(&about, shown), nil
}

// shownIncident is the page about an incident, whose buttons are only for one that waits for somebody.
func shownIncident(i *vigil.Incident, shown accounts.Page) accounts.Page {
	shown.Facts = []accounts.Fact{
		{Name: "Incident", Value: i.Title},
		{Name: "Seen", Value: i.Description},
		{Name: "Severity", Value: string(i.CurrentSeverity())},
		{Name: "Began", Value: i.StartedAt.UTC().Format(shownTime)},
	}
	if i.AcknowledgedAt != nil {
		shown.Facts = append(shown.Facts, accounts.Fact{
			Name: "Acknowledged", Value: cmp.Or(i.AcknowledgedBy, "by somebody") + ", " + i.AcknowledgedAt.UTC().Format(shownTime),
		})
		shown.Title, shown.Buttons = "The incident is acknowledged", nil
	}
	if i.ResolvedAt != nil {
		shown.Facts = append(shown.Facts, accounts.Fact{Name: "Resolved", Value: i.ResolvedAt.UTC().Format(shownTime)})
		shown.Title, shown.Buttons = "The incident is resolved", nil
	}
	return shown
}

// shownTime is the form of a time on the page.
const shownTime = "2 January 2006, 15:04 MST"

func (a *acknowledging) acknowledge(_ http.ResponseWriter, r *http.Request) (accounts.Page, error) {
	ctx := r.Context()
	link, about, channel, err := a.read(ctx, r.PostForm.Get("token"))
	if err != nil {
		return accounts.Page{}, err
	}
	if a.workflows == nil {
		return accounts.Page{}, vigil.Errorf(vigil.CodeUnavailable, "Incidents cannot be acknowledged here now. Try again in a minute.")
	}
	i := &about
	entry := audit.FromContext(ctx)
	entry.OrgID, entry.ResourceID, entry.UserEmail = i.OrgID, i.ID, link.Who
	if i.AcknowledgedAt == nil && i.ResolvedAt == nil {
		by := cmp.Or(link.Who, "a reader of "+channel)
		acknowledged, err := a.workflows.Acknowledge(ctx, vigil.UserAction{OrgID: i.OrgID, IncidentID: i.ID, By: by, Key: link.Channel.String()})
		if err != nil {
			return accounts.Page{}, err
		}
		i = &acknowledged
		if err := a.audit.RecordAudit(ctx); err != nil {
			return accounts.Page{}, err
		}
	}
	return shownIncident(i, accounts.Page{Title: "The incident is acknowledged"}), nil
}
