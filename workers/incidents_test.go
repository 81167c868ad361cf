//go:build !slim

package workers_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"vigil"
	"vigil/activities"
	"vigil/egress"
	"vigil/notify"
	"vigil/standalone"
	"vigil/storage"
	"vigil/storage/storagetest"
	"vigil/workers"
)

// bench is the control plane with real parts: Postgres, Temporal, the control
// worker and a webhook receiver.
type bench struct {
	*testing.T
	store     *storage.Store
	temporal  client.Client
	incidents *workers.Incidents
	org       vigil.Organization
	channel   vigil.Channel
	check     vigil.Check
	rule      vigil.Rule
	slot      time.Time

	mu     sync.Mutex
	heard  []string // the types of what the receiver accepted, in order
	status int      // what it answers
}

func newBench(t *testing.T, regions ...string) *bench {
	t.Helper()
	b := &bench{T: t, status: http.StatusOK}
	data, err := standalone.OpenDataDir(t.TempDir())
	b.ok(err)
	t.Cleanup(func() { _ = data.Close() })
	pg, err := standalone.StartPostgres(t.Context(), data, standalone.PostgresOptions{Databases: []string{"vigil"}})
	b.ok(err)
	t.Cleanup(func() { b.ok(pg.Stop(context.WithoutCancel(t.Context()))) })
	b.store = storagetest.Open(t, pg.DSN("vigil"))
	_, err = b.store.Migrate(t.Context())
	b.ok(err)
	b.ok(standalone.EnsureDatabases(t.Context(), pg.DSN("vigil")))
	server, err := standalone.StartTemporal(t.Context(), standalone.TemporalOptions{
		DSN: pg.DSN("vigil"), Listen: "127.0.0.1:0", UIListen: "127.0.0.1:0", Namespace: "vigil",
		Retention: 24 * time.Hour, SearchAttributes: workers.SearchAttributes(), Loops: 100,
	})
	b.ok(err)
	t.Cleanup(func() { b.ok(server.Stop(context.WithoutCancel(t.Context()))) })
	quiet := slog.New(slog.DiscardHandler)
	b.temporal, err = client.Dial(client.Options{HostPort: server.Address(), Namespace: "vigil", Logger: log.NewStructuredLogger(quiet)})
	b.ok(err)
	t.Cleanup(b.temporal.Close)
	b.incidents = workers.NewIncidents(b.temporal, b.store)
	control := workers.NewControl(b.temporal, workers.ControlOptions{
		Name:      "bench",
		Incidents: activities.NewIncidents(activities.IncidentsOptions{Store: b.store, Deliveries: b.incidents, Log: quiet}),
		Deliveries: activities.NewDeliveries(activities.DeliveriesOptions{
			Store: b.store, Channels: notify.NewRegistry(egress.New(egress.Policy{AllowPrivate: true})),
			Schedule: patientSchedule(),
			Random:   func() float64 { return 0.5 }, Now: time.Now, Log: quiet,
		}),
	})
	b.ok(control.Start())
	t.Cleanup(control.Stop)
	b.furnish(regions)
	return b
}

// patientSchedule outlasts the time that the receiver is down, also on a machine
// that takes many seconds to get there.
func patientSchedule() vigil.RetrySchedule {
	const s = time.Second
	return vigil.RetrySchedule{s, s, s, s, s, 2 * s, 2 * s, 5 * s, 5 * s, 10 * s, 10 * s}
}

// furnish stores a check in the regions, whose rule tells the receiver.
func (b *bench) furnish(regions []string) {
	b.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(b.receive))
	b.Cleanup(receiver.Close)
	var err error
	_, b.org, err = b.store.CreateAccount(b.Context(), vigil.Organization{Name: "Acme"}, vigil.User{Email: "ada@example.com", Name: "Ada"}, nil)
	b.ok(err)
	b.channel, err = b.store.CreateChannel(b.Context(), vigil.Channel{
		OrgID: b.org.ID, Name: "ops", Type: vigil.ChannelWebhook, Enabled: true, Config: json.RawMessage(`{"url": "` + receiver.URL + `"}`),
	})
	b.ok(err)
	b.check, err = b.store.CreateCheck(b.Context(), vigil.Check{
		OrgID: b.org.ID, Name: "shop", Type: vigil.TypeHTTP, Config: json.RawMessage(`{"url": "http://shop.example.com/"}`), Target: "shop.example.com",
		Interval: time.Minute, Regions: regions, Enabled: true, Simultaneous: true,
	}, vigil.PlanOf(vigil.TierEnterprise, time.Second), vigil.Allowance{})
	b.ok(err)
	b.slot = time.Now() // a vote from before the check began would not count
	b.rule, err = b.store.CreateRule(b.Context(), vigil.Rule{
		OrgID: b.org.ID, CheckID: b.check.ID, Name: "down", Condition: vigil.Condition{HealthStatus: "down"}, Channels: []uuid.UUID{b.channel.ID},
		NotifyOn: vigil.NotifyBoth, Policy: vigil.AnyRegion, Enabled: true,
	})
	b.ok(err)
}

func (b *bench) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var event struct{ Type string }
	if err == nil {
		err = json.Unmarshal(body, &event)
	}
	if err != nil {
		b.Error(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.status < 300 {
		b.heard = append(b.heard, event.Type)
	}
	w.WriteHeader(b.status)
}

func (b *bench) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// tell is what a loop's Tell does.
func (b *bench) tell(ctx context.Context, vote vigil.Vote) error {
	heard, err := b.store.SaveVote(ctx, b.check.ID, vote)
	if err != nil {
		return err
	}
	return b.incidents.Vote(ctx, b.check.ID, vote, heard)
}

func (b *bench) vote(region string, fires bool) {
	b.Helper()
	b.slot = b.slot.Add(time.Second)
	vote := vigil.Vote{Region: region, Revision: 2, Slot: b.slot}
	if fires {
		vote.Firing = []uuid.UUID{b.rule.ID}
	}
	b.ok(b.tell(b.Context(), vote))
}

// until waits until the newest incident is in a state.
func (b *bench) until(what string, is func(list []vigil.Incident, total int) bool) vigil.Incident {
	b.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		list, total, err := b.store.Incidents(b.Context(), b.org.ID, vigil.IncidentFilter{Page: vigil.Page{Limit: 1}})
		b.ok(err)
		if is(list, total) {
			return list[0]
		}
		if time.Now().After(deadline) {
			b.Fatalf("not %s: %d incidents, the newest %+v", what, total, list)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func (b *bench) untilOpen(n int) vigil.Incident {
	b.Helper()
	return b.until("open", func(list []vigil.Incident, total int) bool { return total >= n && list[0].Open() })
}

func (b *bench) untilResolved() vigil.Incident {
	b.Helper()
	return b.until("resolved", func(list []vigil.Incident, _ int) bool { return len(list) > 0 && !list[0].Open() })
}

// untilHeard waits until the receiver has heard n messages.
func (b *bench) untilHeard(n int) []string {
	b.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		b.mu.Lock()
		heard := slices.Clone(b.heard)
		b.mu.Unlock()
		if len(heard) >= n {
			return heard
		}
		if time.Now().After(deadline) {
			b.Fatalf("the receiver heard %v", heard)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// untilIdle waits until the workflow of the check's incidents has ended.
func (b *bench) untilIdle() {
	b.Helper()
	err := b.temporal.GetWorkflow(b.Context(), vigil.IncidentWorkflowID(b.check.ID), "").Get(b.Context(), nil)
	b.ok(err)
}

func TestIncidents(t *testing.T) {
	t.Parallel()
	const fra, ewr = "eu-central-fra", "na-east-ewr"
	b := newBench(t, fra, ewr)

	// An episode from the vote to the receiver, with the receiver down for a
	// while.
	b.mu.Lock()
	b.status = http.StatusInternalServerError
	b.mu.Unlock()
	b.vote(fra, true)
	incident := b.untilOpen(1)
	got, err := b.incidents.Acknowledge(t.Context(), b.org.ID, incident.ID, "ada")
	if err != nil || got.Status != vigil.IncidentAcknowledged || got.AcknowledgedBy != "ada" {
		t.Fatalf("acknowledged: %+v, %v", got, err)
	}
	if again, err := b.incidents.Acknowledge(t.Context(), b.org.ID, incident.ID, "bob"); err != nil || again.AcknowledgedBy != "ada" {
		t.Errorf("acknowledged again: %+v, %v", again, err)
	}
	b.vote(fra, false)
	b.untilResolved()
	b.mu.Lock()
	b.status = http.StatusOK
	b.mu.Unlock()
	if heard := b.untilHeard(2); !slices.Equal(heard, []string{"incident.triggered", "incident.resolved"}) {
		t.Errorf("heard %v", heard)
	}
	if _, err := b.incidents.Acknowledge(t.Context(), b.org.ID, incident.ID, "ada"); vigil.ErrorCode(err) != vigil.CodeConflict {
		t.Errorf("acknowledged after the end: %v", err)
	}
	b.untilIdle()

	// A redelivery is one more message with the same body.
	deliveries, _, err := b.store.Deliveries(t.Context(), b.org.ID, vigil.DeliveryFilter{Page: vigil.Page{Limit: 10}})
	b.ok(err)
	b.ok(b.incidents.Redeliver(t.Context(), b.org.ID, deliveries[0].ID))
	b.untilHeard(3)

	// By hand: the episode stays shut until both regions were quiet.
	b.vote(fra, true)
	incident = b.untilOpen(2)
	if got, err = b.incidents.Resolve(t.Context(), b.org.ID, incident.ID, "ada", "known"); err != nil || got.Open() || !got.Latched || got.Note != "known" {
		t.Fatalf("resolved: %+v, %v", got, err)
	}
	if _, err := b.incidents.Resolve(t.Context(), b.org.ID, incident.ID, "bob", ""); err != nil {
		t.Errorf("resolved again: %v", err)
	}

	// Temporal loses the workflow: the latch is in Postgres, and holds.
	b.ok(b.temporal.TerminateWorkflow(t.Context(), vigil.IncidentWorkflowID(b.check.ID), "", "lost"))
	b.ok(b.incidents.Revive(t.Context(), b.org.ID, b.check.ID, "shop"))
	b.vote(fra, true)
	b.vote(fra, false)
	b.untilIdle()
	if _, n, err := b.store.Incidents(t.Context(), b.org.ID, vigil.IncidentFilter{Page: vigil.Page{Limit: 10}}); err != nil || n != 2 {
		t.Errorf("%d incidents, %v", n, err)
	}

	// Temporal loses the workflow of an open incident: whoever resolves it
	// gets another one.
	b.vote(fra, true)
	incident = b.untilOpen(3)
	b.ok(b.temporal.TerminateWorkflow(t.Context(), vigil.IncidentWorkflowID(b.check.ID), "", "lost"))
	if got, err = b.incidents.Resolve(t.Context(), b.org.ID, incident.ID, "ada", ""); err != nil || got.Open() {
		t.Errorf("resolved without its workflow: %+v, %v", got, err)
	}
	b.vote(fra, false)
	b.untilIdle()

	// Looking at a check without a workflow is nothing.
	b.ok(b.incidents.Look(t.Context(), b.check.ID))
	_, err = b.temporal.DescribeWorkflowExecution(t.Context(), vigil.IncidentWorkflowID(uuid.New()), "")
	if _, ok := err.(*serviceerror.NotFound); !ok { //nolint:errorlint // as the client returns it
		t.Errorf("got %v", err)
	}

	// 64 votes of an episode at once, again and again: each episode is one
	// incident.
	rounds := 200
	if testing.Short() {
		rounds = 10
	}
	b.race(rounds, fra, ewr)
}

// race counts the incidents of so many episodes of 64 votes each.
func (b *bench) race(rounds int, regions ...string) {
	b.Helper()
	_, before, err := b.store.Incidents(b.Context(), b.org.ID, vigil.IncidentFilter{Page: vigil.Page{Limit: 1}})
	b.ok(err)
	began := time.Now()
	for round := range rounds {
		var wait sync.WaitGroup
		errs := make([]error, 64)
		for n := range errs {
			b.slot = b.slot.Add(time.Second)
			vote := vigil.Vote{Region: regions[n%len(regions)], Revision: 2, Slot: b.slot, Firing: []uuid.UUID{b.rule.ID}}
			wait.Go(func() { errs[n] = b.tell(b.Context(), vote) })
		}
		wait.Wait()
		for _, err := range errs {
			b.ok(err)
		}
		b.untilOpen(before + round + 1)
		for _, region := range regions {
			b.vote(region, false)
		}
		b.untilResolved()
	}
	_, after, err := b.store.Incidents(b.Context(), b.org.ID, vigil.IncidentFilter{Page: vigil.Page{Limit: 1}})
	b.ok(err)
	b.Logf("%d episodes of 64 votes in %v: %d incidents", rounds, time.Since(began).Round(time.Millisecond), after-before)
	if after-before != rounds {
		b.Errorf("%d incidents of %d episodes", after-before, rounds)
	}
}
