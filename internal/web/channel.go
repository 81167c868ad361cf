// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"strings"

	"github.com/vigil-monitor/vigil/client"
)

// channelBody is what the page of a channel shows, and the one that creates a channel.
type channelBody struct {
	ID, Name, Type string
	About          string
	Types          []choice // of a new channel
	Formats        []choice // of a type that has some
	Format         string   // that the form is for, where it is chosen
	Form           *form
	Fields         []*field // of the config
	Wording        []*field
	Worded         bool // the wording is shown, because something is in it
	Action, Button string
	Mark           mark
	Badge          *badge
	Reason         string
	Enabled        bool
	Recipients     []recipientLine
	Outcome        *channelOutcome
	DeliveriesHref string
	Health         []fact // how its messages arrive
	Recovers       string // what ends the state of one that fails
	RecoverHref    string // of an enabled channel
	Recoveries     []recoveryLine
	LastDrill      *lastDrill
	DrillHref      string // runs a drill of an enabled channel; empty for those who may not
	RotateHref     string // of a webhook
	Overlap        *stamp // until when a replaced secret signs too
	Revision       int64  // that the form was made from
}

func (s *Server) channelPageRoutes(on *routes) {
	on.page("GET /app/channels/new", s.newChannel)
	on.page("POST /app/channels", s.createChannel)
	on.page("GET /app/channels/{id}", s.channelPage)
	on.page("POST /app/channels/{id}", s.updateChannel)
	on.page("GET /app/channels/{id}/delete", s.confirmChannelDelete)
	on.page("POST /app/channels/{id}/delete", s.deleteChannel)
	on.page("GET /app/channels/{id}/rotate", s.rotationPage)
	on.page("POST /app/channels/{id}/rotate", s.rotateSecret)
}

// newChannel shows the form of the type in the address.
func (s *Server) newChannel(r *request) error {
	sources, err := readChannelSources(r)
	if err != nil {
		return err
	}
	kind, _ := sources.kind(r.URL.Query().Get("type"), r.URL.Query().Get(memberFormat), "")
	return s.renderNewChannel(r, http.StatusOK, sources, &kind, channelForm(r, &kind, nil))
}

func (s *Server) renderNewChannel(r *request, status int, sources *channelSources, kind *channelKind, f *form) error {
	const address = "/app/channels/new?type="
	body := &channelBody{Type: string(kind.Type), Action: "/app/channels", Button: "Create channel"}
	body.declare(kind, f, address+body.Type+"&")
	f.Heading = "Not created yet."
	for _, t := range sources.types {
		body.Types = append(body.Types, choice{Text: t.Title, Href: address + string(t.Type), Chosen: t.Type == kind.Type})
	}
	return r.render(status, "channel_new", page{Title: "New channel", Nav: navChannels, Body: body})
}

// declare takes the form's fields apart for the template, and links the formats to pages of their own.
func (b *channelBody) declare(kind *channelKind, f *form, page string) {
	b.Form, b.About, b.Formats = f, kind.about(), kind.choices(page)
	if kind.chosen {
		b.Format = kind.format.Format
	}
	for _, known := range f.fields {
		switch {
		case known.Name == "name":
		case isWording(memberOf(known)):
			b.Wording = append(b.Wording, known)
			b.Worded = b.Worded || known.Value != "" || known.Error != ""
		default:
			b.Fields = append(b.Fields, known)
		}
	}
}

func (s *Server) createChannel(r *request) error {
	form, err := r.posted()
	if err != nil {
		return err
	}
	sources, err := readChannelSources(r)
	if err != nil {
		return err
	}
	kind, known := sources.kind(form.Get("type"), form.Get(memberFormat), "")
	f := channelForm(r, &kind, nil)
	if !known {
		f.Message = "Choose a type."
		return s.renderNewChannel(r, http.StatusUnprocessableEntity, sources, &kind, f)
	}
	body, err := channelJSON(f, &kind, nil)
	if err != nil {
		return err
	}
	made, err := r.api.CreateNotificationChannelWithBodyWithResponse(r.Context(), nil, "application/json", strings.NewReader(body))
	if err != nil {
		if f.refused(err) {
			return s.renderNewChannel(r, f.Status, sources, &kind, f)
		}
		return err
	}
	id := made.JSON201.Data.Id.String()
	r.flash(flash{
		Mark: "done", Text: made.JSON201.Data.Name + " is created", Link: "/app/channels/" + id + "/test", LinkText: "Send a test", Post: true,
	})
	return r.redirect("/app/channels")
}

func (s *Server) channelPage(r *request) error { return s.showChannel(r, nil) }

// showChannel shows the page of a channel, with the outcome of a test.
func (s *Server) showChannel(r *request, outcome *channelOutcome) error {
	channel, err := readChannel(r)
	if err != nil {
		return err
	}
	sources, err := readChannelSources(r)
	if err != nil {
		return err
	}
	kind := sources.stored(channel, r.URL.Query().Get(memberFormat))
	f := channelForm(r, &kind, channel)
	if outcome != nil { // the form of the test has none of the fields
		f = channelForm(&request{Request: &http.Request{Method: http.MethodGet}}, &kind, channel)
	}
	return s.renderChannel(r, http.StatusOK, channel, &kind, f, outcome)
}

func readChannel(r *request) (*client.NotificationChannel, error) {
	id, err := r.pathID("id")
	if err != nil {
		return nil, err
	}
	found, err := r.api.GetNotificationChannelWithResponse(r.Context(), id, nil)
	if err != nil {
		return nil, err
	}
	return &found.JSON200.Data, nil
}

func (s *Server) renderChannel(
	r *request, status int, c *client.NotificationChannel, kind *channelKind, f *form, outcome *channelOutcome,
) error {
	types, err := r.channelTypes()
	if err != nil {
		return err
	}
	row := channelRowOf(c, types)
	body := &channelBody{
		ID: row.ID, Name: c.Name, Type: row.Type, Action: row.Href, Button: "Save",
		Mark: row.Mark, Reason: row.Reason, Enabled: c.Enabled, Outcome: outcome, Revision: revisionOf(c.Revision),
		DeliveriesHref: "/app/deliveries?channel_id=" + row.ID, Health: healthFacts(r, &c.Delivery),
	}
	if !c.Enabled {
		body.Badge = &badge{State: row.Mark.State, Text: row.Mark.Word}
	}
	if c.Type == client.NotificationChannelTypeWebhook {
		body.RotateHref = row.Href + "/rotate"
	}
	if c.SecretOverlapEndsAt != nil {
		body.Overlap = new(r.stampAs(*c.SecretOverlapEndsAt, "15:04"))
	}
	if body.LastDrill = r.lastDrill(c.LastDrill); c.Enabled {
		body.RecoverHref = row.Href + "/recover"
		if !r.readOnly() {
			body.DrillHref = "/app/drills/new?channel_id=" + row.ID
		}
	}
	if _, failing := healthMark(&c.Delivery); failing {
		body.Recovers = "The next message that arrives, or a test, makes it ok."
	}
	if body.Recoveries, err = newestRecoveries(r, c.Id); err != nil {
		return err
	}
	body.declare(kind, f, row.Href+"?")
	body.Recipients = recipientLines(r, c.Recipients)
	return r.render(status, "channel", page{Title: c.Name, Nav: navChannels, Body: body})
}

func (s *Server) updateChannel(r *request) error {
	channel, err := readChannel(r)
	if err != nil {
		return err
	}
	sources, err := readChannelSources(r)
	if err != nil {
		return err
	}
	posted, err := r.posted()
	if err != nil {
		return err
	}
	kind := sources.stored(channel, posted.Get(memberFormat))
	f := channelForm(r, &kind, channel)
	body, err := channelJSON(f, &kind, channel)
	if err != nil {
		return err
	}
	_, err = r.api.UpdateNotificationChannelWithBodyWithResponse(r.Context(), channel.Id,
		&client.UpdateNotificationChannelParams{IfMatch: f.ifMatch()}, "application/json", strings.NewReader(body))
	if err != nil {
		if f.refused(err) {
			return s.renderChannel(r, f.Status, channel, &kind, f, nil)
		}
		return err
	}
	r.flash(flash{Mark: "done", Text: "Saved"})
	return r.redirect("/app/channels/" + channel.Id.String())
}

// confirmChannelDelete asks first, and names the rules that use the channel.
func (s *Server) confirmChannelDelete(r *request) error {
	channel, err := readChannel(r)
	if err != nil {
		return err
	}
	return askChannelDelete(r, http.StatusOK, channel, false, "")
}

func askChannelDelete(r *request, status int, c *client.NotificationChannel, force bool, used string) error {
	ask := confirm{
		Title: "Delete the channel “" + c.Name + "”?", Button: "Delete", Back: "/app/channels",
		Action: "/app/channels/" + c.Id.String() + "/delete",
		Text:   "What is on its way to it is canceled. Its deliveries stay in the list.",
	}
	if force {
		ask.Fields = map[string][]string{"force": {"true"}}
		ask.Button = "Delete anyway"
		ask.Text = used + " Deleting it removes it from these, and deletes the rules that have no other channel."
	}
	return r.render(status, "confirm", page{Title: "Delete " + c.Name, Nav: navChannels, Body: ask})
}

func (s *Server) deleteChannel(r *request) error {
	channel, err := readChannel(r)
	if err != nil {
		return err
	}
	form, err := r.posted()
	if err != nil {
		return err
	}
	force := form.Get("force") == "true"
	_, err = r.api.DeleteNotificationChannelWithResponse(r.Context(), channel.Id, &client.DeleteNotificationChannelParams{Force: &force})
	if hasCode(err, "conflict") && !force {
		return askChannelDelete(r, http.StatusConflict, channel, true, err.Error())
	}
	if err != nil {
		return err
	}
	r.flash(flash{Mark: "done", Text: channel.Name + " is deleted"})
	return r.redirect("/app/channels")
}
