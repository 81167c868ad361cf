// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package workerstest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/dispatch"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/standalone"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
	"github.com/vigil-monitor/vigil/workers"
)

// pollPause is the pause between two looks at what a test waits for, and patience how
// long it waits.
const (
	pollPause = 2 * time.Millisecond
	patience  = 30 * time.Second
)

// ControlPlane is Postgres, Temporal, the control worker and a webhook receiver,
// with one check whose rule notifies the receiver when a region reports it down.
type ControlPlane struct {
	testing.TB
	Store     *storage.Store
	Temporal  client.Client
	Incidents *dispatch.Incidents
	Org       account.Organization
	Check     vigil.Check
	Rule      vigil.Rule

	slot time.Time // of the newest vote

	mu       sync.Mutex
	accepted []string // types of the events that the receiver accepted, in order
	status   int      // with which the receiver answers
}

// Start starts a control plane with a check in the given regions; it stops when the
// test ends.
func Start(tb testing.TB, regions ...string) *ControlPlane {
	tb.Helper()
	return start(tb, func(*workers.ControlOptions) {}, func(client.Client) []dispatch.Option { return nil }, regions)
}

// StartDispatching is Start with options of the Incidents.
func StartDispatching(tb testing.TB, options func(client.Client) []dispatch.Option, regions ...string) *ControlPlane {
	tb.Helper()
	return start(tb, func(*workers.ControlOptions) {}, options, regions)
}

// StartWith is Start with other options of the control worker.
func StartWith(tb testing.TB, change func(*workers.ControlOptions), regions ...string) *ControlPlane {
	tb.Helper()
	return start(tb, change, func(client.Client) []dispatch.Option { return nil }, regions)
}

func start(
	tb testing.TB, change func(*workers.ControlOptions), options func(client.Client) []dispatch.Option, regions []string,
) *ControlPlane {
	tb.Helper()
	p := &ControlPlane{TB: tb, status: http.StatusOK}
	ctx := context.WithoutCancel(tb.Context()) // of what is stopped in a cleanup
	dsn := database(tb)
	p.Store = storagetest.Open(tb, dsn)
	_, err := p.Store.Migrate(tb.Context())
	p.OK(err)
	p.OK(standalone.EnsureDatabases(tb.Context(), dsn))
	server, err := standalone.StartTemporal(tb.Context(), standalone.TemporalOptions{
		DSN: dsn, Listen: "127.0.0.1:0", UIListen: "127.0.0.1:0", Namespace: "vigil",
		Retention: 24 * time.Hour, SearchAttributes: dispatch.SearchAttributes(),
	})
	p.OK(err)
	tb.Cleanup(func() { p.OK(server.Stop(ctx)) })
	quiet := slog.New(slog.DiscardHandler)
	p.Temporal, err = client.Dial(client.Options{HostPort: server.Address(), Namespace: "vigil", Logger: log.NewStructuredLogger(quiet)})
	p.OK(err)
	tb.Cleanup(p.Temporal.Close)
	p.Incidents = dispatch.NewIncidents(p.Temporal, p.Store, quiet, options(p.Temporal)...)
	opts := workers.ControlOptions{
		Name:      "test",
		Incidents: activities.NewIncidents(activities.IncidentsOptions{Store: p.Store, Deliveries: p.Incidents, Log: quiet}),
		Deliveries: activities.NewDeliveries(activities.DeliveriesOptions{
			Store: p.Store, Workflows: p.Incidents, Channels: notify.NewRegistry(egress.New(egress.Policy{AllowPrivate: true})),
			Schedule: longSchedule(),
			Random:   func() float64 { return 0.5 }, Now: time.Now, Log: quiet, Facts: p.Store,
		}),
	}
	opts.Recoveries = activities.NewRecoveries(activities.RecoveriesOptions{
		Store: p.Store, Workflows: p.Incidents, Rate: 1000, Now: time.Now, Log: quiet,
	})
	change(&opts)
	control := workers.NewControl(p.Temporal, opts)
	p.OK(control.Start())
	tb.Cleanup(control.Stop)
	p.createCheck(regions)
	return p
}

// database returns an empty database on a server of its own, which listens on TCP because
// Temporal needs that, and does not wait for the disk.
func database(tb testing.TB) string {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed at once
	if err != nil {
		tb.Fatal(err)
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err := errors.Join(err, listener.Close()); err != nil {
		tb.Fatal(err)
	}
	storagetest.StartCluster(tb, append(storagetest.DisposableSettings(), "listen_addresses=127.0.0.1", "port="+port)...)
	return "postgres://postgres@127.0.0.1:" + port + "/postgres?sslmode=disable"
}

// longSchedule outlasts the time that a receiver is down, also on a machine that
// takes many seconds to get there.
func longSchedule() vigil.RetrySchedule {
	const s = time.Second
	return vigil.RetrySchedule{s, s, s, s, s, 2 * s, 2 * s, 5 * s, 5 * s, 10 * s, 10 * s}
}

// createCheck stores a check in the regions, and a rule that notifies the receiver.
func (p *ControlPlane) createCheck(regions []string) {
	p.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(p.receive))
	p.Cleanup(receiver.Close)
	var err error
	_, p.Org, err = p.Store.CreateAccount(
		p.Context(), account.Organization{Name: "Acme"}, account.User{Email: "ada@example.com", Name: "Ada"}, nil,
	)
	p.OK(err)
	channel, err := p.Store.CreateChannel(p.Context(), vigil.Channel{
		OrgID: p.Org.ID, Name: "ops", Type: vigil.ChannelWebhook, Enabled: true, Config: json.RawMessage(`{"url": "` + receiver.URL + `"}`),
	})
	p.OK(err)
	p.Check, err = p.Store.CreateCheck(p.Context(), vigil.Check{
		OrgID:        p.Org.ID,
		Name:         "shop",
		Type:         vigil.TypeHTTP,
		Config:       json.RawMessage(`{"url": "http://shop.example.com/"}`),
		Target:       "shop.example.com",
		Interval:     time.Minute,
		Regions:      regions,
		Enabled:      true,
		Simultaneous: true,
	}, account.PlanOf(account.TierEnterprise, time.Second), account.Allowance{})
	p.OK(err)
	p.slot = time.Now() // a vote from before the check began would not count
	p.Rule, err = p.Store.CreateRule(p.Context(), vigil.Rule{
		OrgID: p.Org.ID, CheckID: p.Check.ID, Name: "down", Condition: vigil.Condition{HealthStatus: "down"}, Channels: []uuid.UUID{channel.ID},
		NotifyOn: vigil.NotifyBoth, Policy: vigil.AnyRegion, Enabled: true,
	})
	p.OK(err)
}

func (p *ControlPlane) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var event struct{ Type string }
	if err == nil {
		err = json.Unmarshal(body, &event)
	}
	if err != nil {
		p.Error(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.status < 300 {
		p.accepted = append(p.accepted, event.Type)
	}
	w.WriteHeader(p.status)
}

// AnswerWith sets the HTTP status of the receiver's answers; it accepts at first.
func (p *ControlPlane) AnswerWith(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = status
}

// OK ends the test on an error.
func (p *ControlPlane) OK(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// NewVote returns a vote of a region for the next slot, firing the check's rule or
// none. It is not for several goroutines.
func (p *ControlPlane) NewVote(region string, fires bool) vigil.Vote {
	p.slot = p.slot.Add(time.Second)
	vote := vigil.Vote{Region: region, Revision: 2, Slot: p.slot}
	if fires {
		vote.Firing = []uuid.UUID{p.Rule.ID}
	}
	return vote
}

// Report stores a vote and signals it, as a loop's activity does.
func (p *ControlPlane) Report(ctx context.Context, vote vigil.Vote) error {
	stored, err := p.Store.SaveVote(ctx, p.Check.ID, vote)
	if err != nil {
		return err
	}
	return p.Incidents.Vote(ctx, p.Check.ID, vote, stored)
}

// Vote reports a new vote of a region.
func (p *ControlPlane) Vote(region string, fires bool) {
	p.Helper()
	p.OK(p.Report(p.Context(), p.NewVote(region, fires)))
}

// await waits until the newest incident is in a state.
func (p *ControlPlane) await(state string, reached func(list []vigil.Incident, total int) bool) vigil.Incident {
	p.Helper()
	deadline := time.Now().Add(patience)
	for {
		list, extent, err := p.Store.Incidents(p.Context(), p.Org.ID, listing.IncidentFilter{Page: listing.Page{Limit: 1}})
		p.OK(err)
		if len(list) > 0 && reached(list, extent.Total) { // the total may count one that came after the list was read
			return list[0]
		}
		if time.Now().After(deadline) {
			p.Fatalf("not %s: %d incidents, the newest %+v", state, extent.Total, list)
		}
		time.Sleep(pollPause)
	}
}

// AwaitOpen waits for the incident with that number, from 1, and until it is open.
func (p *ControlPlane) AwaitOpen(number int) vigil.Incident {
	p.Helper()
	return p.await("open", func(list []vigil.Incident, total int) bool { return total >= number && list[0].Open() })
}

// AwaitResolved waits until the newest incident is resolved.
func (p *ControlPlane) AwaitResolved() vigil.Incident {
	p.Helper()
	return p.await("resolved", func(list []vigil.Incident, _ int) bool { return len(list) > 0 && !list[0].Open() })
}

// AwaitAccepted waits until the receiver has accepted n events and returns the types
// of all that it accepted, in order.
func (p *ControlPlane) AwaitAccepted(n int) []string {
	p.Helper()
	deadline := time.Now().Add(patience)
	for {
		p.mu.Lock()
		accepted := slices.Clone(p.accepted)
		p.mu.Unlock()
		if len(accepted) >= n {
			return accepted
		}
		if time.Now().After(deadline) {
			p.Fatalf("the receiver accepted %v", accepted)
		}
		time.Sleep(pollPause)
	}
}

// AwaitIdle waits until the incident workflow of the check has ended.
func (p *ControlPlane) AwaitIdle() {
	p.Helper()
	p.OK(p.Temporal.GetWorkflow(p.Context(), vigil.IncidentWorkflowID(p.Check.ID), "").Get(p.Context(), nil))
}
