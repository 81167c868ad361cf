// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
)

// placeTest claims and ends attempts of the incidents of one organization.
type placeTest struct {
	*alerts
	more []vigil.Channel // besides that of the alerts
}

// newPlaceTest returns a test whose incidents notify that many webhooks.
func newPlaceTest(t *testing.T, webhooks int) *placeTest {
	t.Helper()
	p := &placeTest{alerts: newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)}
	for range webhooks - 1 {
		channel, err := p.store.CreateChannel(t.Context(), vigil.Channel{
			OrgID: p.org.ID, Name: "webhook", Type: vigil.ChannelWebhook, Config: json.RawMessage(`{}`), Enabled: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		p.more = append(p.more, channel)
		p.rule.Channels = append(p.rule.Channels, channel.ID)
	}
	return p
}

// claimOf claims an attempt, which must have the state.
func (p *placeTest) claimOf(incident, channel uuid.UUID, want vigil.NextAttemptState) vigil.NextAttempt {
	p.Helper()
	got, err := p.store.ClaimAttempt(p.Context(), incident, channel)
	if err != nil {
		p.Fatal(err)
	}
	if got.State != want {
		p.Fatalf("the claim is %s, want %s", got.State, want)
	}
	return got
}

func (p *placeTest) webhook() uuid.UUID { return p.channels[vigil.ChannelWebhook].ID }

// eightHeldTwoWaiting opens incidents of ten checks: the attempts of the first eight hold
// all places of the channel, and the deliveries of the other two wait.
func (p *placeTest) eightHeldTwoWaiting() (incidents []uuid.UUID, held []vigil.NextAttempt) {
	p.Helper()
	incidents = p.openOfChecks(10)
	for _, id := range incidents[:8] {
		held = append(held, p.claimOf(id, p.webhook(), vigil.NextAttemptReady))
	}
	for _, id := range incidents[8:] {
		p.claimOf(id, p.webhook(), vigil.NextAttemptBusy)
	}
	return incidents, held
}

// incidentsOf returns the incidents of admitted deliveries, in their order.
func incidentsOf(admitted []vigil.PendingDelivery) []uuid.UUID {
	ids := []uuid.UUID{}
	for _, d := range admitted {
		ids = append(ids, d.IncidentID)
	}
	return ids
}

func TestPlacesOfAChannel(t *testing.T) {
	t.Parallel()

	t.Run("GoToWaitingDeliveriesInTheOrderOfArrival", func(t *testing.T) {
		t.Parallel()
		p := newPlaceTest(t, 1)
		ids := p.openOfChecks(12)
		var held []vigil.NextAttempt
		for _, id := range ids[:8] {
			held = append(held, p.claimOf(id, p.webhook(), vigil.NextAttemptReady))
		}
		p.claimOf(ids[9], p.webhook(), vigil.NextAttemptBusy)
		p.claimOf(ids[8], p.webhook(), vigil.NextAttemptBusy)
		p.claimOf(ids[9], p.webhook(), vigil.NextAttemptBusy) // a second claim keeps its position
		for i, want := range []uuid.UUID{ids[9], ids[8]} {
			rest := p.record(held[i], "", nil)
			if got := incidentsOf(rest.Admitted); !slices.Equal(got, []uuid.UUID{want}) {
				t.Fatalf("outcome %d admits %v, want %v", i, got, want)
			}
			d := rest.Admitted[0]
			if d.ChannelID != p.webhook() || d.OrgID != p.org.ID || d.CheckName == "" || d.ChannelType != vigil.ChannelWebhook {
				t.Errorf("admitted %+v", d)
			}
		}
		// Places that are granted are taken, although their attempts have not started.
		p.claimOf(ids[10], p.webhook(), vigil.NextAttemptBusy)
		p.claimOf(ids[8], p.webhook(), vigil.NextAttemptReady)
		p.claimOf(ids[9], p.webhook(), vigil.NextAttemptReady)
		p.claimOf(ids[11], p.webhook(), vigil.NextAttemptBusy)
	})

	t.Run("AreFreeAfterAMinuteWithoutAnOutcome", func(t *testing.T) {
		t.Parallel()
		p := newPlaceTest(t, 1)
		ids, _ := p.eightHeldTwoWaiting()
		p.at(time.Minute - time.Microsecond)
		if got := p.admitted(); len(got) != 0 {
			t.Errorf("%v are admitted before the minute is over", got)
		}
		p.at(time.Minute)
		if got := p.admitted(); len(got) != 2 || !slices.Contains(got, ids[8]) || !slices.Contains(got, ids[9]) {
			t.Errorf("%v are admitted, want %v", got, ids[8:])
		}
		if got := p.admitted(); len(got) != 0 {
			t.Errorf("%v are admitted again", got)
		}
	})

	t.Run("AreFreeWhenTheAdmittedDeliveryHasNothingToSend", func(t *testing.T) {
		t.Parallel()
		p := newPlaceTest(t, 1)
		ids, held := p.eightHeldTwoWaiting()
		_, err := p.store.DB().NewRaw("UPDATE deliveries SET status = 'canceled', finished_at = created_at WHERE incident_id = ?", ids[8]).
			Exec(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := incidentsOf(p.record(held[0], "", nil).Admitted); !slices.Equal(got, ids[9:]) {
			t.Errorf("admitted %v, want the next one %v", got, ids[9:])
		}
	})

	t.Run("AreFreeWhenTheChannelIsDisabled", func(t *testing.T) {
		t.Parallel()
		p := newPlaceTest(t, 1)
		ids, held := p.eightHeldTwoWaiting()
		if _, err := p.store.DisableChannel(t.Context(), p.webhook(), "gone"); err != nil {
			t.Fatal(err)
		}
		p.record(held[0], "status", nil)
		if got := incidentsOf(p.claimOf(ids[8], p.webhook(), vigil.NextAttemptNone).Admitted); !slices.Equal(got, ids[9:]) {
			t.Errorf("the canceled delivery admits %v, want %v", got, ids[9:])
		}
		if rest := p.claimOf(ids[9], p.webhook(), vigil.NextAttemptNone); rest.Last != vigil.DeliveryCanceled || len(rest.Admitted) != 0 {
			t.Errorf("the last one is %+v", rest)
		}
	})

	t.Run("BelongToOneOutcomeOnly", func(t *testing.T) {
		t.Parallel()
		p := newPlaceTest(t, 1)
		_, held := p.eightHeldTwoWaiting()
		p.record(held[0], "", nil)
		if rest := p.record(held[0], "status", nil); len(rest.Admitted) != 0 {
			t.Errorf("the second outcome of an attempt admits %v", incidentsOf(rest.Admitted))
		}
	})
}

// admitted returns the incidents that the sweep admits.
func (p *placeTest) admitted() []uuid.UUID {
	p.Helper()
	admitted, err := p.store.AdmitDeliveries(p.Context(), 10)
	if err != nil {
		p.Fatal(err)
	}
	return incidentsOf(admitted)
}

func TestPlacesOfAnOrganization(t *testing.T) {
	t.Parallel()
	p := newPlaceTest(t, 9)
	ids := p.openOfChecks(8)
	var held []vigil.NextAttempt
	for _, channel := range p.rule.Channels[:7] {
		for _, id := range ids {
			held = append(held, p.claimOf(id, channel, vigil.NextAttemptReady))
		}
	}
	for _, id := range ids[:6] {
		held = append(held, p.claimOf(id, p.rule.Channels[7], vigil.NextAttemptReady))
	}
	for _, id := range ids[:2] {
		p.claimOf(id, p.rule.Channels[8], vigil.NextAttemptReady)
	}
	// 64 are in flight: 7 * 8, 6 and 2. The channel with the fewest is first.
	p.claimOf(ids[6], p.rule.Channels[7], vigil.NextAttemptBusy)
	p.claimOf(ids[7], p.rule.Channels[7], vigil.NextAttemptBusy)
	for _, id := range ids[2:] {
		p.claimOf(id, p.rule.Channels[8], vigil.NextAttemptBusy)
	}
	var got []uuid.UUID
	for i := range 8 {
		admitted := p.record(held[i], "", nil).Admitted
		if len(admitted) != 1 {
			t.Fatalf("outcome %d admits %v", i, admitted)
		}
		got = append(got, admitted[0].ChannelID)
	}
	small, large := p.rule.Channels[8], p.rule.Channels[7]
	// The small channel gets its third to sixth place; from the seventh, the order of arrival decides.
	if want := []uuid.UUID{small, small, small, small, large, small, large, small}; !slices.Equal(got, want) {
		t.Errorf("places went to %v, want %v", got, want)
	}

	other := newAlertsOn(t, p.store, p.clock, vigil.NotifyBoth, vigil.ChannelWebhook)
	id := other.open(other.fails(newark)).Incident.ID
	if got := other.claim(id, vigil.ChannelWebhook); got.State != vigil.NextAttemptReady {
		t.Errorf("another organization's claim is %s", got.State)
	}
}

// TestPlacesPassOn proves with concurrent callers that no place is lost: deliveries
// that wait are claimed again only when an outcome admits them.
func TestPlacesPassOn(t *testing.T) {
	t.Parallel()
	const incidents = 60
	p := newPlaceTest(t, 2)
	channels := p.rule.Channels
	ids := p.openOfChecks(incidents)
	var mu sync.Mutex
	delivered, inFlight, most := 0, map[uuid.UUID]int{}, 0
	var work sync.WaitGroup
	var attempt func(incident, channel uuid.UUID)
	signal := func(admitted []vigil.PendingDelivery) {
		for _, d := range admitted {
			work.Go(func() { attempt(d.IncidentID, d.ChannelID) })
		}
	}
	attempt = func(incident, channel uuid.UUID) {
		claim, err := p.store.ClaimAttempt(t.Context(), incident, channel)
		if err != nil {
			t.Error(err)
			return
		}
		signal(claim.Admitted)
		if claim.State != vigil.NextAttemptReady {
			return
		}
		mu.Lock()
		inFlight[channel]++
		most = max(most, inFlight[channel])
		mu.Unlock()
		mu.Lock()
		inFlight[channel]--
		delivered++
		mu.Unlock()
		rest, err := p.store.RecordOutcome(t.Context(), vigil.AttemptOutcome{Attempt: claim.Attempt, Delivered: true})
		if err != nil {
			t.Error(err)
			return
		}
		signal(rest.Admitted)
	}
	for _, id := range ids {
		for _, channel := range channels {
			work.Go(func() { attempt(id, channel) })
		}
	}
	work.Wait()
	if delivered != 2*incidents || most > 8 {
		t.Errorf("%d of %d are delivered, at most %d in flight of one channel", delivered, 2*incidents, most)
	}
	if left := p.count("SELECT count(*) FROM delivery_places"); left != 0 {
		t.Errorf("%d places are left", left)
	}
}

// TestStalledPlaces tests which deliveries with a place the sweep signals.
func TestStalledPlaces(t *testing.T) {
	t.Parallel()
	p := newPlaceTest(t, 1)
	ids := p.openOfChecks(10)
	var held []vigil.NextAttempt
	for _, id := range ids[:8] {
		held = append(held, p.claimOf(id, p.webhook(), vigil.NextAttemptReady))
	}
	p.claimOf(ids[8], p.webhook(), vigil.NextAttemptBusy)
	p.claimOf(ids[9], p.webhook(), vigil.NextAttemptBusy)
	admitted := p.at(50 * time.Second)
	for _, one := range held { // only deliveries that wait, or were admitted, are left
		p.record(one, "", nil)
	}
	stalled := func(after time.Duration) []uuid.UUID {
		list, err := p.store.StalledDeliveries(t.Context(), admitted.Add(after), fleet.EverySweepShard(), 10)
		if err != nil {
			t.Fatal(err)
		}
		return incidentsOf(list)
	}
	if got := stalled(5*time.Second - time.Microsecond); len(got) != 0 {
		t.Errorf("%v are stalled right after they were admitted", got)
	}
	if got := stalled(5 * time.Second); len(got) != 2 {
		t.Errorf("%v are stalled, want the two whose signals were lost", got)
	}
}
