// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"strings"

	"github.com/vigil-monitor/vigil/client"
)

// subscriptionsBody is what the list of subscriptions shows.
type subscriptionsBody struct {
	Rows  []subscriptionRow
	Pager pager
	Empty *empty
}

// subscriptionRow is a row of the list.
type subscriptionRow struct {
	Name, Href           string
	Mark                 mark
	Channel, ChannelHref string
	Events, Selects      string
}

func (s *Server) subscriptionRoutes(on *routes) {
	on.page("GET /app/subscriptions", s.subscriptionList)
	on.page("GET /app/subscriptions/new", s.newSubscription)
	on.page("POST /app/subscriptions", s.createSubscription)
	on.page("GET /app/subscriptions/{id}", s.subscriptionPage)
	on.page("POST /app/subscriptions/{id}", s.updateSubscription)
	on.page("GET /app/subscriptions/{id}/delete", s.confirmSubscriptionDelete)
	on.page("POST /app/subscriptions/{id}/delete", s.deleteSubscription)
}

func (s *Server) subscriptionList(r *request) error {
	limit := int64(listPage)
	list, err := r.api.ListSubscriptionsWithResponse(r.Context(), &client.ListSubscriptionsParams{Limit: &limit, Cursor: r.cursor()})
	if err != nil {
		return err
	}
	channels, err := r.subscribable()
	if err != nil {
		return err
	}
	body := &subscriptionsBody{Pager: r.pager(list.JSON200.Meta, len(list.JSON200.Data), "subscription")}
	for k := range list.JSON200.Data {
		body.Rows = append(body.Rows, subscriptionRowOf(&list.JSON200.Data[k], channels))
	}
	if len(body.Rows) == 0 {
		body.Empty = &empty{
			Icon:   "channels",
			Title:  "No subscription yet",
			Text:   "It lets a channel receive events without being named by every rule: of all incidents of a team, of a channel that fails.",
			Action: &link{Text: "New subscription", Href: "/app/subscriptions/new"},
			Key:    "c",
		}
	}
	return r.render(http.StatusOK, "subscriptions", page{Title: "Subscriptions", Nav: navSubscriptions, Body: body})
}

func subscriptionRowOf(one *client.Subscription, channels []client.NotificationChannel) subscriptionRow {
	row := subscriptionRow{
		Name: one.Name, Href: "/app/subscriptions/" + one.Id.String(), Mark: newMark("done", "Enabled"), Channel: one.ChannelId.String(),
		ChannelHref: "/app/channels/" + one.ChannelId.String(), Events: strings.Join(one.Events, ", "), Selects: selectsOf(&one.Selector),
	}
	if !one.Enabled {
		row.Mark = newMark("paused", "Disabled")
	}
	for k := range channels {
		if channels[k].Id != one.ChannelId {
			continue
		}
		if row.Channel = channels[k].Name; one.Enabled && !channels[k].Enabled {
			row.Mark = newMark("paused", "Enabled, but its channel is disabled")
		}
	}
	return row
}

// selectsOf says what a selector leaves.
func selectsOf(selector *client.SubscriptionSelector) string {
	var parts []string
	if selector.CheckIds != nil {
		parts = append(parts, counted(int64(len(*selector.CheckIds)), "check"))
	}
	if selector.Labels != nil && len(*selector.Labels) > 0 {
		parts = append(parts, strings.Join(*selector.Labels, " and "))
	}
	if selector.SeverityMin != nil {
		parts = append(parts, string(*selector.SeverityMin)+" at least")
	}
	if len(parts) == 0 {
		return "everything"
	}
	return strings.Join(parts, ", ")
}

// subscribable are the channels that can be subscribed, those that are first.
func (r *request) subscribable() ([]client.NotificationChannel, error) {
	limit := int64(100)
	list, err := r.api.ListNotificationChannelsWithResponse(r.Context(), &client.ListNotificationChannelsParams{Limit: &limit})
	if err != nil {
		return nil, err
	}
	return list.JSON200.Data, nil
}

func readSubscription(r *request) (*client.Subscription, error) {
	id, err := r.pathID("id")
	if err != nil {
		return nil, err
	}
	found, err := r.api.GetSubscriptionWithResponse(r.Context(), id, nil)
	if err != nil {
		return nil, err
	}
	return &found.JSON200.Data, nil
}

func (s *Server) newSubscription(r *request) error {
	return s.renderSubscription(r, nil, newSubscriptionForm(r, nil))
}

func (s *Server) subscriptionPage(r *request) error {
	one, err := readSubscription(r)
	if err != nil {
		return err
	}
	return s.renderSubscription(r, one, newSubscriptionForm(r, one))
}

func (s *Server) createSubscription(r *request) error {
	f := newSubscriptionForm(r, nil)
	channel, err := f.channel()
	if err != nil {
		return s.renderSubscription(r, nil, f)
	}
	made, err := r.api.CreateSubscriptionWithResponse(r.Context(), nil, client.CreateSubscriptionJSONRequestBody{
		Name: f.get("name"), ChannelId: channel, Events: f.createEvents(), Selector: of(f.selector()), Enabled: of(f.values.Has("enabled")),
	})
	if err != nil {
		if f.refused(err) {
			return s.renderSubscription(r, nil, f)
		}
		return err
	}
	r.flash(subscriptionSaved(made.JSON201.Data.Name+" is created", made.JSON201.Data.Warnings))
	return r.redirect("/app/subscriptions/" + made.JSON201.Data.Id.String())
}

// subscriptionSaved is the note of a write, with the first warning of it.
func subscriptionSaved(text string, warnings *[]string) flash {
	if warnings == nil || len(*warnings) == 0 {
		return flash{Mark: "done", Text: text}
	}
	_, warning, _ := strings.Cut((*warnings)[0], ": ") // behind the member
	return flash{Mark: "warn", Text: text + ". " + warning + "."}
}

func (s *Server) updateSubscription(r *request) error {
	one, err := readSubscription(r)
	if err != nil {
		return err
	}
	f := newSubscriptionForm(r, one)
	channel, err := f.channel()
	if err != nil {
		return s.renderSubscription(r, one, f)
	}
	saved, err := r.api.UpdateSubscriptionWithResponse(r.Context(), one.Id, &client.UpdateSubscriptionParams{IfMatch: f.ifMatch()},
		client.UpdateSubscriptionJSONRequestBody{
			Name: of(f.get("name")), ChannelId: &channel, Events: of(f.updateEvents()), Selector: of(f.selector()),
			Enabled: of(f.values.Has("enabled")),
		})
	if err != nil {
		if f.refused(err) {
			return s.renderSubscription(r, one, f)
		}
		return err
	}
	r.flash(subscriptionSaved("Saved", saved.JSON200.Data.Warnings))
	return r.redirect("/app/subscriptions/" + one.Id.String())
}

func (s *Server) confirmSubscriptionDelete(r *request) error {
	one, err := readSubscription(r)
	if err != nil {
		return err
	}
	back := "/app/subscriptions/" + one.Id.String()
	return r.render(http.StatusOK, "confirm", page{Title: "Delete " + one.Name, Nav: navSubscriptions, Body: confirm{
		Title: "Delete the subscription “" + one.Name + "”?", Button: "Delete", Back: back, Action: back + "/delete",
		Text: "The channel still gets the ends of the incidents that it got the beginnings of.",
	}})
}

func (s *Server) deleteSubscription(r *request) error {
	one, err := readSubscription(r)
	if err != nil {
		return err
	}
	if _, err := r.api.DeleteSubscriptionWithResponse(r.Context(), one.Id, nil); err != nil {
		return err
	}
	r.flash(flash{Mark: "done", Text: one.Name + " is deleted"})
	return r.redirect("/app/subscriptions")
}
