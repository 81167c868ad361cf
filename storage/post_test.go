// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"github.com/emersion/go-smtp"
	"github.com/google/uuid"
	"go.temporal.io/sdk/testsuite"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/mail"
	"github.com/vigil-monitor/vigil/internal/mail/mailtest"
	"github.com/vigil-monitor/vigil/internal/notify"
)

// post is an incident whose opening is mailed to eight people through a real server.
type post struct {
	*alerts

	server   *mailtest.Server
	channels *notify.Registry
	acts     *activities.Deliveries
	incident uuid.UUID
	delivery vigil.Delivery

	mu    sync.Mutex
	judge func(to string) error // of recipients
	asked []string
}

func newPost(t *testing.T, opts mailtest.Options, others ...vigil.ChannelType) *post {
	t.Helper()
	p := &post{alerts: newAlerts(t, vigil.NotifyUnhealthy, append(others, vigil.ChannelEmail)...)}
	opts.Rcpt = func(to string) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.asked = append(p.asked, to)
		if p.judge == nil {
			return nil
		}
		return p.judge(to)
	}
	p.server = mailtest.Start(t, opts)
	guard := egress.New(egress.Policy{AllowPrivate: true})
	mailer, err := mail.New(mail.Options{URL: "smtp://" + p.server.Addr + "?tls=none", From: "vigil@example.com", Dialer: guard})
	if err != nil {
		t.Fatal(err)
	}
	p.channels = notify.NewRegistry(guard, notify.WithMail(mailer), notify.WithRecipients(p.store, "https://vigil.test"))
	p.acts = activities.NewDeliveries(activities.DeliveriesOptions{
		Store: p.store, Workflows: idle{}, Channels: p.channels, Schedule: vigil.DefaultRetrySchedule(),
		Random: func() float64 { return 0.5 }, Now: p.clock.Now, Log: slog.New(slog.DiscardHandler),
		Facts: p.store, Links: notify.NewAcknowledgeLinks("https://vigil.test", []byte("signing key")),
	})
	p.to(eight()...)
	p.incident = p.open(p.fails(newark)).Incident.ID
	all, _, err := p.store.Deliveries(t.Context(), p.org.ID, listing.DeliveryFilter{IncidentID: p.incident, Page: listing.Page{Limit: 10}})
	all = slices.DeleteFunc(all, func(d vigil.Delivery) bool { return d.ChannelType != vigil.ChannelEmail })
	if err != nil || len(all) != 1 {
		t.Fatalf("%d deliveries, %v", len(all), err)
	}
	p.delivery = all[0]
	return p
}

// idle is a deliveryStarter with nothing to start.
type idle struct{}

func (idle) Send(context.Context, vigil.PendingDelivery) error { return nil }

// eight addresses, whose spelling is kept.
func eight() []string {
	all := make([]string, 8)
	for i := range all {
		all[i] = fmt.Sprintf("Person%d@example.com", i+1)
	}
	return all
}

// to makes these the recipients of the channel, who have agreed.
func (p *post) to(addresses ...string) {
	p.Helper()
	config, err := json.Marshal(map[string]any{"to": addresses})
	if err != nil {
		p.Fatal(err)
	}
	channel := p.alerts.channels[vigil.ChannelEmail]
	if _, err := p.store.UpdateChannel(p.Context(), p.org.ID, channel.ID, func(c *vigil.Channel) error {
		c.Config = config
		return nil
	}); err != nil {
		p.Fatal(err)
	}
	for _, address := range addresses {
		p.exec(`INSERT INTO mail_recipients (org_id, address, unsubscribe_token, confirmed_at) VALUES (?, lower(?), ?, now())
			ON CONFLICT DO NOTHING`, p.org.ID, address, uuid.NewString())
	}
}

func (p *post) exec(query string, args ...any) {
	p.Helper()
	if _, err := p.store.DB().NewRaw(query, args...).Exec(p.Context()); err != nil {
		p.Fatal(err)
	}
}

// judged sets who is refused from now on.
func (p *post) judged(judge func(to string) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.judge = judge
}

// attempt makes the next attempt once it is due, and returns the delivery after it.
func (p *post) attempt() vigil.Delivery {
	p.Helper()
	if next := p.read().NextAttemptAt; next != nil {
		p.clock.Set(*next)
	}
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(slog.New(slog.DiscardHandler))
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(p.acts.Deliver)
	if _, err := env.ExecuteActivity(p.acts.Deliver, p.incident, p.alerts.channels[vigil.ChannelEmail].ID); err != nil {
		p.Fatal(err)
	}
	return p.read()
}

func (p *post) read() vigil.Delivery {
	p.Helper()
	d, err := p.store.Delivery(p.Context(), p.org.ID, p.delivery.ID)
	if err != nil {
		p.Fatal(err)
	}
	return d
}

// copies counts the mails that each recipient has.
func (p *post) copies() map[string]int {
	n := make(map[string]int)
	for _, m := range p.server.Messages() {
		n[m.To[0]]++
	}
	return n
}

// each fails unless each of these has as many copies, and no other address any.
func (p *post) each(copies int, of ...string) {
	p.Helper()
	got := p.copies()
	for _, address := range of {
		if got[address] != copies {
			p.Errorf("%s has %d copies, want %d", address, got[address], copies)
		}
		delete(got, address)
	}
	if len(got) > 0 {
		p.Errorf("others have %v", got)
	}
}

// counted is how many mails the organization's quota has counted.
func (p *post) counted() int {
	p.Helper()
	return p.count("SELECT used FROM mail_quotas WHERE name = ?", "alerts/organization/"+p.org.ID.String())
}

func statusesOf(d vigil.Delivery) map[vigil.MailStatus]int {
	n := make(map[vigil.MailStatus]int)
	for _, r := range d.Recipients {
		n[r.Status]++
	}
	return n
}

func reply(code int) error {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{code / 100, 2, 0}, Message: "no"}
}

// firstThree takes so many recipients and refuses the others.
func firstThree(code int) func(string) error {
	taken := 0
	return func(string) error {
		if taken++; taken > 3 {
			return reply(code)
		}
		return nil
	}
}
